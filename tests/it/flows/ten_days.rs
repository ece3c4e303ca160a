//! One conversation over ten days, told in full: what its timeline shows and which events were recorded.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::snooze;
use rookery_core::workspace::people;
use serde_json::{Value, json};

use rookery_world::{Mode, Workspace, World, story};

const DAY: TimeDelta = TimeDelta::days(1);
const WINDOW: TimeDelta = TimeDelta::minutes(10);

#[tokio::test]
async fn ten_days_of_a_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("billing-bot", "write,draft,send", Mode::Live).await;
        let id = acme.mail(help, "Ada <ada@customer.example>", "Parcel 7", "Where is my parcel?").await;

        // Day 0: the bot answers too quickly, and Olga takes it back.
        passes(world, TimeDelta::hours(1)).await;
        let hasty = key.sends(id, "It is lost.").await;
        passes(world, TimeDelta::minutes(3)).await;
        acme.undo(acme.owner, &hasty).await.unwrap();
        passes(world, TimeDelta::hours(1)).await;

        // Day 1: she lets it go in better words. It leaves, and the customer answers.
        passes(world, DAY).await;
        acme.approve(acme.owner, &hasty, Some("We are looking for it.")).await.unwrap();
        passes(world, WINDOW).await;
        passes(world, DAY).await;
        customer_answers(world, &acme, help, "Thank you, please hurry.").await;

        // Day 2: a draft is thrown away, another approved as it is; the case is closed before it left.
        let unwanted = key.drafts(id, "Never mind.").await;
        acme.discard(acme.owner, &unwanted).await.unwrap();
        let found = key.drafts(id, "We found it. It comes tomorrow.").await;
        acme.approve(acme.owner, &found, None).await.unwrap();
        passes(world, TimeDelta::minutes(1)).await;
        set_status(&key, id, "closed").await;
        passes(world, WINDOW).await;

        // Day 4: it did not come. The answer reopens the case; it sleeps until day 7 and wakes by itself.
        passes(world, DAY * 2).await;
        customer_answers(world, &acme, help, "It did not come.").await;
        passes(world, TimeDelta::hours(1)).await;
        sleeps(world, &acme, id, DAY * 3).await;
        passes(world, DAY * 3).await;

        // Day 7: answered for good; it waits, sleeps again, and the customer's thanks wake it.
        key.sends(id, "It is at your door.").await;
        passes(world, WINDOW).await;
        sleeps(world, &acme, id, DAY * 30).await;
        passes(world, DAY * 2).await;
        customer_answers(world, &acme, help, "Here it is. Thanks!").await;
        set_status(&key, id, "closed").await;
        passes(world, DAY).await;

        let read = key.conversation(id).await;
        assert_eq!(read["status"], "closed");
        insta::assert_snapshot!("ten_days", told(world, &read).await);
    })
    .await;
}

/// Time goes by, and the worker looks at the start and the end of it, as it would all along.
async fn passes(world: &World, time: TimeDelta) {
    world.work().await;
    world.wait(time);
    world.work().await;
}

async fn customer_answers(world: &World, acme: &Workspace<'_>, help: MailboxId, text: &str) {
    let named = world.outbox.letters().pop().expect("something to answer").rfc_message_id;
    let raw = format!(
        "From: Ada <ada@customer.example>\nSubject: Re: Parcel 7\nIn-Reply-To: <{named}>\n\n{text}\n"
    );
    acme.receives(help, &raw).await;
}

async fn set_status(key: &rookery_world::Key<'_>, id: ConversationId, status: &str) {
    let reply = key.post(&format!("/conversations/{id}/status"), json!({ "status": status })).await;
    assert_eq!(reply.status, 200);
}

async fn sleeps(world: &World, acme: &Workspace<'_>, id: ConversationId, time: TimeDelta) {
    let mut tx = world.app.begin(acme.id).await.unwrap();
    let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
    let locked = lock_any(&mut tx, id).await.unwrap();
    let until = world.now() + time;
    snooze::until(&mut tx, &locked, &olga, until).await.unwrap();
    tx.commit().await.unwrap();
}

/// The timeline, a line for each item, and then the events; ids as numbers in the order they appear.
async fn told(world: &World, read: &Value) -> String {
    let mut lines = vec!["timeline".to_owned()];
    for item in read["timeline"].as_array().unwrap() {
        let text = |field: &str| item[field].as_str().unwrap_or("-").to_owned();
        lines.push(match item["type"].as_str().unwrap() {
            "message" => format!(
                "{} {} {} {}: {}",
                text("at"),
                text("id"),
                text("direction"),
                text("status"),
                text("text")
            ),
            _ => format!("{} {} {} {}", text("at"), text("actor"), text("event"), item["data"]),
        });
    }
    lines.push("events".to_owned());
    let bodies: Vec<String> =
        sqlx::query_scalar("select body from events order by created_at, tableoid, ctid")
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
    for body in bodies {
        let event: Value = serde_json::from_str(&body).unwrap();
        let mut data = event["data"].clone();
        for dull in ["url", "summary", "mailbox_id", "conversation_id", "secure"] {
            data.as_object_mut().unwrap().remove(dull);
        }
        lines.push(format!(
            "{} {} {data}",
            event["created_at"].as_str().unwrap(),
            event["type"].as_str().unwrap()
        ));
    }
    let mut seen: Vec<String> = Vec::new();
    let told = lines.join("\n");
    told.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .map(|word| {
            let Some(at) = word.find("_0").filter(|at| *at == 3) else { return word.to_owned() };
            let id = &word[..at + 14];
            let number = seen.iter().position(|known| known == id).unwrap_or_else(|| {
                seen.push(id.to_owned());
                seen.len() - 1
            });
            format!("{}_{}{}", &word[..3], number + 1, &word[at + 14..])
        })
        .collect()
}
