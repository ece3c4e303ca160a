//! The events that incoming mail records: what they say, and what they must never say.

use chrono::TimeDelta;
use rookery_base::clock::written;
use rookery_base::ids::ConversationId;
use rookery_mail::incoming::delivery::Received;
use serde_json::{Value, json};

use rookery_world::{Key, Message, Mode, Workspace, World, story};

async fn wrote(acme: &Workspace<'_>, conversation: ConversationId, rfc_message_id: &str) {
    let rfc_message_id = Some(rfc_message_id);
    acme.outbound(conversation, Message { status: "sent", text: "We look into it", rfc_message_id }).await;
}

fn answer(to: &str, header: &str, text: &str) -> String {
    format!("From: anna@customer.example\nIn-Reply-To: <{to}>\n{header}\n{text}\n")
}

async fn newest_message(key: &Key<'_>, conversation: impl ToString) -> String {
    let read = key.conversation(conversation).await;
    let newest = read["timeline"].as_array().unwrap().iter().rev().find(|item| item["type"] == "message");
    newest.expect("a message")["id"].as_str().unwrap().to_owned()
}

async fn last(world: &World, kind: &str) -> Value {
    world.events(kind).await.pop().unwrap_or_else(|| panic!("no {kind} was recorded"))
}

/// The whole body, given its `data`; the id is its own.
fn body(event: &Value, kind: &str, acme: &Workspace<'_>, livemode: bool, data: Value) -> Value {
    assert!(event["id"].as_str().unwrap().starts_with("evt_"), "{event}");
    json!({
        "id": event["id"],
        "type": kind,
        "version": 1,
        "created_at": written(acme.world.now()),
        "workspace": acme.id.to_string(),
        "livemode": livemode,
        "data": data,
    })
}

/// proves: STAT-8, EVT-3, EVT-7, EVT-18
#[tokio::test]
async fn a_new_conversation_announces_its_first_turn_and_no_reply() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        world.wait(TimeDelta::milliseconds(1_234));
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let event = last(world, "turn.changed").await;
        let data = json!({
            "conversation_id": id.to_string(),
            "turn": "ours",
            "previous": null,
            "assignee": null,
            "summary": "It is the team's turn in Support.",
            "url": format!("https://rookery.example/conversations/{id}"),
        });
        assert_eq!(event, body(&event, "turn.changed", &acme, true, data));
        assert_eq!(event["created_at"], "2031-01-06T09:00:01.234Z");
        let all: Vec<String> =
            sqlx::query_scalar("select kind from events").fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(all, ["turn.changed"]);
    })
    .await;
}

/// proves: EVT-5, EVT-9
#[tokio::test]
async fn a_reply_is_announced_with_its_ids_and_the_turn_it_changed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        wrote(&acme, id, "one@acme.example").await;
        let url = format!("https://rookery.example/conversations/{id}");
        let user = json!({ "type": "user", "id": acme.owner.to_string(), "name": "Olga Owner" });
        let agent = json!({ "type": "agent", "id": key.agent.to_string(), "name": "bot" });
        for (assignment, previous, assignee, reference) in [
            ("status = 'waiting', announced_turn = 'theirs'".to_owned(), "theirs", json!(null), None),
            (
                format!(
                    "status = 'closed', announced_turn = 'done', \
                     assignee_type = 'user', assignee_id = {}",
                    acme.owner.0
                ),
                "done",
                user,
                None,
            ),
            (
                format!(
                    "status = 'waiting', announced_turn = 'theirs', reference = 'inv-7', \
                     assignee_type = 'agent', assignee_id = {}",
                    key.agent.0
                ),
                "theirs",
                agent,
                Some("inv-7"),
            ),
        ] {
            acme.set(id, &assignment).await;
            world.wait(TimeDelta::minutes(1));
            let text = format!("From {previous} {reference:?}");
            acme.receives(support, &answer("one@acme.example", "", &text)).await;
            let event = last(world, "turn.changed").await;
            let data = json!({
                "conversation_id": id.to_string(),
                "turn": "ours",
                "previous": previous,
                "assignee": assignee,
                "summary": "It is the team's turn in Support.",
                "url": url,
            });
            assert_eq!(event, body(&event, "turn.changed", &acme, true, data));
            let event = last(world, "client.replied").await;
            let mut data = json!({
                "conversation_id": id.to_string(),
                "message_id": newest_message(&key, id).await,
                "mailbox_id": support.to_string(),
                "secure": false,
                "summary": "A client replied in Support.",
                "url": url,
            });
            if let Some(reference) = reference {
                data["reference"] = json!(reference);
            }
            assert_eq!(event, body(&event, "client.replied", &acme, true, data));
        }
        // On an open conversation the turn stays; the reply is told all the same.
        acme.receives(support, &answer("one@acme.example", "", "And another thing")).await;
        assert_eq!(world.events("turn.changed").await.len(), 4);
        assert_eq!(world.events("client.replied").await.len(), 4);
    })
    .await;
}

/// proves: EVT-6
#[tokio::test]
async fn a_simulated_reply_is_announced_and_an_automatic_answer_never_is() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "a@b.test", "text": "Hi" })).await;
        assert_eq!(world.events("client.replied").await, [] as [Value; 0]);
        acme.set(id.parse().unwrap(), "status = 'waiting', announced_turn = 'theirs'").await;
        key.simulate(json!({ "from": "a@b.test", "text": "Hello?", "conversationId": id })).await;
        let (_, inboxes) = key.read("/mailboxes", "list_mailboxes", json!({})).await;
        let event = last(world, "client.replied").await;
        let data = json!({
            "conversation_id": id,
            "message_id": newest_message(&key, &id).await,
            "mailbox_id": inboxes[0]["id"],
            "secure": false,
            "summary": "A client replied in Sandbox.",
        });
        assert_eq!(event, body(&event, "client.replied", &acme, false, data), "with no link into the app");
        let event = last(world, "turn.changed").await;
        assert_eq!((&event["livemode"], &event["data"]["previous"]), (&json!(false), &json!("theirs")));

        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        wrote(&acme, id, "one@acme.example").await;
        acme.set(id, "status = 'waiting', announced_turn = 'theirs'").await;
        let away = answer("one@acme.example", "Auto-Submitted: auto-replied\n", "I am away");
        assert!(matches!(acme.receives(support, &away).await, Received::Stored(_)));
        assert_eq!(world.events("client.replied").await.len(), 1, "the simulated one");
        assert_eq!(world.events("turn.changed").await.len(), 3, "two new conversations and one reply");
    })
    .await;
}

/// proves: EVT-14, HLP-6
#[tokio::test]
async fn a_likely_scam_is_held_and_told_instead_of_a_reply() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let held_at = async |id: ConversationId| -> Option<chrono::DateTime<chrono::Utc>> {
            let held = sqlx::query_scalar("select held_at from conversations where id = $1").bind(id);
            held.fetch_one(&world.app.pool).await.unwrap()
        };
        let scam = "Olga Owner here. Urgent: buy gift cards and send me the codes, strictly confidential.";
        let doubtful = acme.mail(support, "x@elsewhere.example", "Hm", "We have new bank details.").await;
        assert_eq!(key.conversation(doubtful).await["risk"], "payment-fraud");
        assert_eq!(held_at(doubtful).await, None, "a label alone holds nothing");
        assert_eq!(world.events("scout.held").await, [] as [Value; 0]);

        let id = acme.mail(support, "Olga Owner <olga@elsewhere.example>", "Gift cards", scam).await;
        assert_eq!(held_at(id).await, Some(world.now()));
        let event = last(world, "scout.held").await;
        let data = json!({
            "conversation_id": id.to_string(),
            "summary": "A likely scam was held in Support.",
            "url": format!("https://rookery.example/conversations/{id}"),
        });
        assert_eq!(event, body(&event, "scout.held", &acme, true, data));
        let conversation = key.conversation(id).await;
        let held = &conversation["timeline"][1];
        assert_eq!((&held["event"], &held["actor"]), (&json!("held"), &json!("System")));
        assert_eq!(held["data"], json!({ "risk": conversation["risk"] }));
        assert!(key.listed("q=gift").await.contains(&id.to_string()), "held mail is visible everywhere");

        // As a reply it still reopens, but no app is told that a client replied.
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        wrote(&acme, id, "one@acme.example").await;
        acme.set(id, "status = 'closed', announced_turn = 'done'").await;
        let borrowed = answer("one@acme.example", "", scam)
            .replace("From: ", "From: Olga Owner ")
            .replace("anna@customer.example", "<anna@customer.example>");
        acme.receives(support, &borrowed).await;
        let conversation = key.conversation(id).await;
        assert_eq!(conversation["status"], "open");
        assert_eq!(last(world, "scout.held").await["data"]["conversation_id"], *id.to_string());
        assert_eq!(last(world, "turn.changed").await["data"]["previous"], "done");
        assert_eq!(world.events("client.replied").await, [] as [Value; 0]);
    })
    .await;
}

/// proves: EVT-2
#[tokio::test]
async fn no_event_quotes_the_mail_and_every_summary_is_one_short_line() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = "Support ".repeat(12);
        let support = acme.mailbox("help@acme.example", &inbox).await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let canary = |what: &str| format!("canary {what}.exe");
        let (filename, content_type) = (canary("file.pdf"), "application/canary");
        let file = json!({ "filename": filename, "contentType": content_type, "content": "Y2FuYXJ5" });
        let mail = json!({
            "from": "canary@canary.test",
            "name": canary("name"),
            "subject": canary("subject"),
            "text": canary("text"),
            "attachments": [file],
        });
        let id = key.simulate(mail.clone()).await;
        acme.set(id.parse().unwrap(), "status = 'closed', announced_turn = 'done'").await;
        acme.note(id.parse().unwrap(), "canary", "canary").await;
        acme.tag(id.parse().unwrap(), "canary").await;
        let mut reply = mail;
        reply["conversationId"] = json!(id);
        key.simulate(reply).await;
        let id = acme.mail(support, "Canary <canary@canary.example>", "canary", "canary").await;
        wrote(&acme, id, "canary@acme.example").await;
        acme.set(id, "status = 'waiting', announced_turn = 'theirs'").await;
        let reply = answer("canary@acme.example", "Subject: canary\n", "canary");
        acme.receives(support, &reply.replace("anna@customer", "canary@canary")).await;

        let bodies: Vec<String> =
            sqlx::query_scalar("select body from events").fetch_all(&world.app.pool).await.unwrap();
        let mut kinds = Vec::new();
        for text in &bodies {
            assert!(!text.to_lowercase().contains("canary"), "{text}");
            let event: Value = serde_json::from_str(text).unwrap();
            let summary = event["data"]["summary"].as_str().expect("a summary");
            assert!((1..=200).contains(&summary.chars().count()), "{summary}");
            assert!(!summary.chars().any(char::is_control), "{summary}");
            kinds.push(event["type"].as_str().unwrap().to_owned());
        }
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds, ["client.replied", "scout.held", "turn.changed"], "all kinds that mail can cause");
    })
    .await;
}
