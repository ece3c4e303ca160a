//! Two conversations become one: what moves, where later mail goes, what the old id answers, and what keeps two apart.

mod moved;
mod whom;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use rookery_base::error::{NO_CONVERSATION, Result};
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::{assign, notes, snooze, transitions};
use rookery_core::workspace::people::{self, Role};
use rookery_mail::incoming::delivery::Received;
use rookery_product::replies::merge::merge;
use serde_json::{Value, json};

use rookery_world::{Key, Mode, Workspace, World, story};

async fn merges(
    acme: &Workspace<'_>,
    person: PersonId,
    kept: ConversationId,
    gone: ConversationId,
) -> Result<ConversationId> {
    let mut tx = acme.world.app.begin(acme.id).await?;
    let person = people::teammate(&mut tx, acme.id, person).await?;
    let kept = merge(&mut tx, &person, kept, gone).await?;
    tx.commit().await?;
    Ok(kept)
}

/// What keeps two apart, as the page says it.
async fn refusal(acme: &Workspace<'_>, kept: ConversationId, gone: ConversationId) -> String {
    merges(acme, acme.owner, kept, gone).await.expect_err("they stay apart").sentence()
}

/// A team with an inbox and a key that reads and writes there.
async fn desk<'w>(world: &'w World) -> (Workspace<'w>, MailboxId, Key<'w>) {
    let acme = world.workspace("Acme").await;
    let help = acme.mailbox("help@acme.example", "Help").await;
    let key = acme.key("bot", "write,draft,send", Mode::Live).await;
    (acme, help, key)
}

fn stored(received: Received) -> ConversationId {
    match received {
        Received::Stored(stored) => stored.conversation,
        other => panic!("{other:?}"),
    }
}

/// A mail that answers one of ours.
fn answer(from: &str, to: &str, number: u32) -> String {
    format!(
        "Message-ID: <answer-{number}@x.example>\nFrom: {from}\nSubject: Re: It\nIn-Reply-To: <{to}>\n\nHere {number}.\n"
    )
}

async fn rfc_id(world: &World, message: &str) -> String {
    let message: rookery_base::ids::MessageId = message.parse().unwrap();
    let select = "select rfc_message_id from messages where id = $1";
    sqlx::query_scalar(select).bind(message.0).fetch_one(&world.app.pool).await.unwrap()
}

fn with_file(from: &str, name: &str, content: &str) -> String {
    format!(
        "Message-ID: <{name}@x.example>\nFrom: {from}\nSubject: {name}\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello {name}\n--b\nContent-Type: application/pdf\n\
         Content-Disposition: attachment; filename={name}.pdf\n\n{content}\n--b--\n"
    )
}

#[tokio::test]
async fn everything_of_the_one_that_goes_is_on_the_one_that_stays_in_the_order_it_happened() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = stored(acme.receives(help, &with_file("ada@x.example", "first", "%PDF same")).await);
        world.wait(TimeDelta::minutes(1));
        let gone = stored(acme.receives(help, &with_file("ada@x.example", "second", "%PDF same")).await);
        acme.receives(help, &with_file("ada@x.example", "third", "%PDF other")).await;
        acme.tag(kept, "billing").await;
        acme.tag(gone, "billing").await;
        acme.tag(gone, "urgent").await;
        world.wait(TimeDelta::minutes(1));
        key.write(&kept.to_string(), "notes", "add_note", json!({ "body": "On the first." }), 201).await;
        world.wait(TimeDelta::minutes(1));
        key.write(&gone.to_string(), "notes", "add_note", json!({ "body": "@Olga, on the second." }), 201)
            .await;
        let draft = key.drafts(gone, "A draft.").await;

        merges(&acme, acme.owner, kept, gone).await.unwrap();
        let read = key.conversation(kept).await;
        assert_eq!((&read["subject"], &read["tags"]), (&json!("first"), &json!(["billing", "urgent"])));
        let told: Vec<_> = read["timeline"].as_array().unwrap().iter().map(shown).collect();
        let expected = [
            "Hello first",
            "Hello second",
            "On the first.",
            "On the first.",
            "@Olga, on the second.",
            "@Olga, on the second.",
            "A draft.",
            "merged",
        ];
        assert_eq!(told, expected);
        let merged = key.told(kept, "merged").await;
        assert_eq!(merged, [json!({ "conversationId": gone, "subject": "second" })]);
        assert_eq!(key.message(kept, &draft).await["status"], "draft");
        let files = key.get("/documents").await.json();
        let of: Vec<_> = files.as_array().unwrap().iter().map(|file| &file["conversationId"]).collect();
        assert_eq!(of.iter().filter(|id| ***id == json!(kept)).count(), 1, "the same file is there once");
        assert_eq!(key.listed("view=open").await.len(), 2, "the third is another conversation");
    })
    .await;
}

fn shown(item: &Value) -> String {
    let text = ["text", "body", "event"].iter().find_map(|field| item[field].as_str());
    text.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_old_id_answers_for_the_one_that_stays_by_rest_and_by_mcp() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let mut ids = Vec::new();
        for number in 0..3 {
            ids.push(acme.mail(help, "ada@x.example", &format!("Mail {number}"), "Hello.").await);
            world.wait(TimeDelta::minutes(1));
        }
        merges(&acme, acme.owner, ids[1], ids[0]).await.unwrap();
        merges(&acme, acme.owner, ids[2], ids[1]).await.unwrap();
        for old in &ids {
            assert_eq!(key.conversation(old).await["id"], ids[2].to_string());
        }
        let old = ids[0].to_string();
        key.write(&old, "notes", "add_note", json!({ "body": "Under the old id." }), 201).await;
        key.write(&old, "status", "set_status", json!({ "status": "waiting" }), 200).await;
        let draft = key.drafts(ids[0], "Hello Ada.").await;
        let read = key.conversation(ids[2]).await;
        assert_eq!(read["status"], "waiting");
        assert!(read.to_string().contains("Under the old id.") && read.to_string().contains(&draft));
        assert_eq!(key.listed("view=waiting").await, [ids[2].to_string()]);
        assert!(key.listed("view=open").await.is_empty() && key.listed("view=closed").await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn later_mail_to_either_lands_in_the_one_that_stays() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let kept = acme.mail(help, "ada@x.example", "Order", "Where is it?").await;
        let gone = acme.mail(sales, "ada@private.example", "Order again", "Hello?").await;
        let (ours, other) = (key.sends(kept, "Soon.").await, key.sends(gone, "Coming.").await);
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 2);
        merges(&acme, acme.owner, kept, gone).await.unwrap();

        let first = answer("ada@x.example", &rfc_id(world, &ours).await, 1);
        assert_eq!(stored(acme.receives(help, &first).await), kept);
        // To the other inbox, from the other address, unconfirmed: as it would have come in before.
        let second = answer("ada@private.example", &rfc_id(world, &other).await, 2);
        assert_eq!(stored(acme.receives(sales, &second).await), kept);
        let stranger = answer("eve@elsewhere.example", &rfc_id(world, &other).await, 3);
        assert_ne!(stored(acme.receives(sales, &stranger).await), kept, "nobody else is let in by it");
        let read = key.conversation(kept).await;
        assert!(read.to_string().contains("Here 1.") && read.to_string().contains("Here 2."));
        assert_eq!(read["contact"]["email"], "ada@x.example", "replies go where they went");
    })
    .await;
}

#[tokio::test]
async fn search_and_counts_know_the_one_that_stays_only() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = acme.mail(help, "ada@x.example", "Lantern", "A yellow one.").await;
        let gone = acme.mail(help, "ada@x.example", "Umbrella", "A green one.").await;
        acme.tag(gone, "rain").await;
        world.work().await;
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        for words in ["yellow", "green", "lantern", "umbrella", "yellow+green"] {
            assert_eq!(key.listed(&format!("q={words}")).await, [kept.to_string()], "{words}");
        }
        let boxes = key.get("/mailboxes").await.json();
        assert_eq!(boxes[0]["open"], 1, "{boxes}");
        let tags = key.get("/tags").await.json();
        assert_eq!((&tags[0]["name"], &tags[0]["count"]), (&json!("rain"), &json!(1)));
        world.work().await;
        assert_eq!(
            key.listed("q=umbrella").await,
            [kept.to_string()],
            "also after the words were indexed anew"
        );
    })
    .await;
}

#[tokio::test]
async fn listeners_hear_that_the_old_id_is_done_and_no_event_is_rewritten() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        key.write(&kept.to_string(), "status", "set_status", json!({ "status": "closed" }), 200).await;
        let gone = acme.mail(help, "ada@x.example", "Two", "Hello.").await;
        key.write(&gone.to_string(), "assign", "assign_conversation", json!({ "to": "me" }), 200).await;
        let bodies = async || -> Vec<String> {
            let select = "select body from events order by id";
            sqlx::query_scalar(select).fetch_all(&world.app.pool).await.unwrap()
        };
        let before = bodies().await;
        world.wait(TimeDelta::seconds(1));
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        let after = bodies().await;
        assert_eq!(after[..before.len()], before);
        let told: Vec<Value> =
            after[before.len()..].iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        let of = |id: ConversationId, kind: &str| {
            told.iter()
                .filter(|event| event["type"] == kind && event["data"]["conversation_id"] == json!(id))
                .map(|event| event["data"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(gone, "turn.changed")[0]["turn"], "done");
        assert_eq!(of(kept, "turn.changed")[0]["turn"], "ours", "what was open stays to be done");
        assert_eq!(of(kept, "conversation.assigned").len(), 1, "and whoever had it has the whole");
        assert_eq!(told.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn private_and_team_conversations_never_meet_and_hidden_ones_are_not_there() {
    story(async |world| {
        let (acme, help, _) = desk(world).await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let (team, private) = (
            acme.mail(help, "ada@x.example", "Team", "Hello.").await,
            acme.mail(own, "ada@x.example", "Private", "Hello.").await,
        );
        let bot = acme.key("sand", "write", Mode::Test).await;
        let simulated = bot.simulate(json!({ "from": "x@y.test", "text": "Hello" })).await.parse().unwrap();
        let nothing = NO_CONVERSATION.sentence();
        for (person, kept, gone) in [
            (mia, team, private),
            (mia, private, team),
            (acme.owner, team, private),
            (acme.owner, team, simulated),
            (acme.owner, simulated, team),
            (acme.owner, team, ConversationId(1)),
        ] {
            assert_eq!(merges(&acme, person, kept, gone).await.unwrap_err().sentence(), nothing);
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_not_settled_keeps_two_apart_with_a_sentence() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        let gone = acme.mail(help, "bob@x.example", "Two", "Hello.").await;
        assert!(refusal(&acme, kept, kept).await.contains("one conversation already"));

        let sent = key.sends(gone, "Soon.").await;
        assert!(refusal(&acme, kept, gone).await.contains("on its way"));
        acme.undo(acme.owner, &sent).await.unwrap();
        assert!(refusal(&acme, kept, gone).await.contains("discard the draft first"));
        acme.discard(acme.owner, &sent).await.unwrap();

        acme.set(kept, "reference = 'order-1'").await;
        acme.set(gone, "reference = 'order-2'").await;
        assert!(refusal(&acme, kept, gone).await.contains("different references"));
        acme.set(gone, "reference = null").await;
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        assert_eq!(key.conversation(gone).await["reference"], "order-1");
    })
    .await;
}

#[tokio::test]
async fn a_hold_an_assignee_and_open_work_carry_over() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        let gone = acme.mail(help, "ada@x.example", "Two", "Hello.").await;
        acme.set(gone, "risk = 'scam', risk_reasons = '{a reason}', held_at = now()").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
        let locked = lock_visible(&mut tx, &olga, &kept.to_string()).await.unwrap();
        snooze::until(&mut tx, &locked, &olga, world.now() + TimeDelta::days(1)).await.unwrap();
        let locked = lock_visible(&mut tx, &olga, &gone.to_string()).await.unwrap();
        assign::assign(&mut tx, &locked, &olga, assign::To::Me).await.unwrap();
        notes::add(&mut tx, &locked, &olga, "A note.").await.unwrap();
        tx.commit().await.unwrap();
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        let read = key.conversation(kept).await;
        assert_eq!((&read["risk"], &read["riskReasons"]), (&json!("scam"), &json!(["a reason"])));
        assert_eq!(read["assignee"]["name"], "Olga Owner");
        assert_eq!((&read["status"], &read["snoozedUntil"]), (&json!("open"), &Value::Null));
    })
    .await;
}

/// Whoever waits for a conversation that is merged meanwhile changes the one that stays; nothing is lost in between.
#[tokio::test]
async fn somebody_who_waits_for_the_one_that_goes_gets_the_one_that_stays() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        let gone = acme.mail(help, "ada@x.example", "Two", "Hello.").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
        merge(&mut tx, &olga, kept, gone).await.unwrap();
        let closing = async {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let locked = lock_visible(&mut tx, &olga, &gone.to_string()).await.unwrap();
            transitions::set_status(&mut tx, &locked, &olga, Status::Closed).await.unwrap();
            tx.commit().await.unwrap();
            locked.id
        };
        let committing = async {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            tx.commit().await.unwrap();
        };
        let (closed, ()) = tokio::join!(closing, committing);
        assert_eq!(closed, kept);
        assert_eq!(key.conversation(kept).await["status"], "closed");
    })
    .await;
}

/// Rows that name a conversation: those that move with it, those that go or lead on, and those that are history.
const MOVED: &[&str] = &[
    "app_mail",
    "bookings",
    "conversation_reads",
    "conversation_tags",
    "document_requests",
    "documents",
    "follows",
    "holds",
    "mentions",
    "messages",
    "notes",
    "notifications",
    "timeline_events",
    "withheld_replies",
    "written_drafts",
];
const MADE_ANEW: &[&str] = &[
    "conversation_words",
    "conversation_words_segments",
    "unindexed_conversations",
    "unindexed_messages",
    "unindexed_notes",
];
const LEFT: &[&str] = &[
    "agent_calls",
    "agent_messages",
    "bulk_job_items",
    "events",
    "sandbox_answers",
    "sandbox_mail",
    "trash",
];

#[tokio::test]
async fn every_table_that_names_a_conversation_is_thought_of() {
    story(async |world| {
        let named: Vec<String> = sqlx::query_scalar(
            "select table_name::text from information_schema.columns
             where column_name = 'conversation_id' and table_schema = current_schema()",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        let is_day = |name: &str| name.ends_with("_default") || name.rsplit('_').next().is_some_and(|day| day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()));
        let named: BTreeSet<&str> = named.iter().map(String::as_str).filter(|name| !is_day(name)).collect();
        let known: BTreeSet<&str> = [MOVED, MADE_ANEW, LEFT].concat().into_iter().collect();
        assert_eq!(named, known, "a merge has to move them (replies/merge.rs), or the list says why not");
        let fixed: Vec<String> = sqlx::query_scalar(
            "select conrelid::regclass::text from pg_constraint
             where contype = 'f' and confrelid in ('messages'::regclass, 'notes'::regclass) and not condeferrable
               and conkey @> array(select attnum from pg_attribute where attrelid = conrelid and attname = 'conversation_id')",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(fixed, [] as [String; 0], "what hangs on a message is checked when all has moved");
    })
    .await;
}

/// What somebody follows and has begun to write goes along; what somebody chose not to follow stays so.
#[tokio::test]
async fn follows_and_what_people_have_begun_to_write_move_along() {
    story(async |world| {
        let (acme, help, _) = desk(world).await;
        let kept = acme.mail(help, "ada@customer.example", "One", "Hello.").await;
        let gone = acme.mail(help, "ada@customer.example", "Two", "Hello again.").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let tom = acme.person("Tom Weber", Role::Member).await;
        let (hers, his) = (world.browser(acme.id, mia).await, world.browser(acme.id, tom).await);
        hers.post(&format!("/conversations/{gone}/follow"), &[]).await;
        his.post(&format!("/conversations/{gone}/follow"), &[]).await;
        his.post(&format!("/conversations/{kept}/follow"), &[("stop", "1")]).await;
        let page = hers.get(&format!("/conversations/{gone}?compose=reply")).await.page();
        let draft = page.split("name=\"draft\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let fields = [
            ("draft", draft.as_str()),
            ("version", "0"),
            ("kind", "reply"),
            ("to", "ada@customer.example"),
            ("body", "I have begun to say"),
            ("do", "save"),
        ];
        assert_eq!(hers.post(&format!("/conversations/{gone}/write"), &fields).await.status, 303);
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        let follows = async |person: PersonId, of: ConversationId| {
            let select = "select following from follows where workspace_id = $1 and person_id = $2 and conversation_id = $3";
            let row: Option<bool> = sqlx::query_scalar(select)
                .bind(acme.id.0)
                .bind(person.0)
                .bind(of.0)
                .fetch_optional(&mut *world.app.connection().await.unwrap())
                .await
                .unwrap();
            row
        };
        assert_eq!((follows(mia, kept).await, follows(mia, gone).await), (Some(true), None));
        assert_eq!(follows(tom, kept).await, Some(false), "he chose not to");
        // The words stand where the conversation is now, and are still hers alone.
        let page = hers.get(&format!("/conversations/{kept}")).await.page();
        assert!(page.contains("I have begun to say</textarea>") && page.contains(&draft), "{page}");
        assert!(!his.get(&format!("/conversations/{kept}")).await.page().contains("I have begun"));
        let saved = [("body", "I have begun to say more"), ("draft", draft.as_str()), ("version", "1"), ("kind", "reply")];
        assert_eq!(hers.post(&format!("/conversations/{kept}/write"), &saved).await.status, 303);
        assert!(hers.get(&format!("/conversations/{kept}")).await.page().contains("begun to say more</textarea>"));
    })
    .await;
}
