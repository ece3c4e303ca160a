//! `POST /conversations/{id}/replies` and its tool.

use serde_json::{Value, json};

use rookery_world::{Key, Mode, story};

/// proves: RPL-1, RPL-10, RPL-11, RPL-12, RPL-14, GEN-11, SBX-26
#[tokio::test]
async fn a_reply_is_a_draft_that_nobody_outside_hears_of() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "draft", Mode::Test).await;
        let writer = acme.key("writer", "write", Mode::Test).await;
        let id = writer.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let (before, events) = (key.list("").await.1, world.event_count().await);
        let body = json!({ "body": "Dear Ada,\r\nit is on its way. <b>Yours</b>", "summary": "Says it is\non its way" });
        let answer = key.write(&id, "replies", "reply", body, 201).await;
        assert_eq!(answer["status"], "draft");
        assert_eq!(answer["note"], "A person has to approve this before it goes out.");
        assert_eq!(keys(&answer), ["messageId", "status", "to", "note"]);
        assert_eq!(answer["to"], json!(["ada@customer.test"]));
        let draft = message(&key, &id, answer["messageId"].as_str().unwrap()).await;
        assert_eq!((&draft["direction"], &draft["status"]), (&json!("outbound"), &json!("draft")));
        assert_eq!(draft["text"], "Dear Ada,\nit is on its way. <b>Yours</b>", "markup stays text");
        assert_eq!(draft["from"], json!({ "name": "Sandbox", "email": acme.sandbox_address }));
        assert_eq!(key.list("").await.1, before, "a draft is not mail: no count, no time, no snippet");
        assert_eq!(world.event_count().await, events);
        assert_eq!(world.due_messages().await, 0);
        assert_eq!(world.summaries().await, ["Says it is on its way", "Says it is on its way"]);
        world.wait(chrono::TimeDelta::days(30));
        world.work().await;
        assert_eq!(message(&key, &id, answer["messageId"].as_str().unwrap()).await["status"], "draft");
    })
    .await;
}

/// proves: RPL-2, RPL-3, SCOPE-6, LIST-26, GEN-3
#[tokio::test]
async fn a_sent_reply_is_scheduled_after_the_undo_window() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let live = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await.to_string();
        let writer = acme.key("writer", "write", Mode::Test).await;
        let simulated = writer.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        for (mode, id, window) in [(Mode::Live, live, 600), (Mode::Test, simulated, 5)] {
            let key = acme.key("sender", "send", mode).await;
            let answer =
                key.write(&id, "replies", "reply", json!({ "body": "On its way.", "send": true }), 201).await;
            let leaves = rookery_base::clock::written(world.now() + chrono::TimeDelta::seconds(window));
            assert_eq!((&answer["status"], &answer["sendsAt"]), (&json!("scheduled"), &json!(leaves)));
            assert!(answer["note"].as_str().unwrap().contains(&leaves), "{answer}");
            let sent = message(&key, &id, answer["messageId"].as_str().unwrap()).await;
            assert_eq!(sent["status"], "scheduled");
            let summary = &key.list("").await.1[0];
            assert_eq!((&summary["messageCount"], &summary["snippet"]), (&json!(3), &json!("On its way.")));
            assert_eq!(summary["status"], "open", "it waits on the customer only when it has left");
            let (status, sentence) = key.refused(&id, "replies", "reply", json!({ "body": "x" })).await;
            assert_eq!(status, 403);
            assert!(sentence.contains("draft"), "{sentence}");
        }
    })
    .await;
}

/// proves: RPL-4, RPL-5, RPL-6, RPL-7, ERR-6, ERR-7, SCOPE-4, SCOPE-5
#[tokio::test]
async fn every_limit_of_a_reply_is_named_at_once_and_nothing_is_stored() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let both = acme.key("both", "draft,send", Mode::Test).await;
        let drafter = acme.key("drafter", "draft", Mode::Test).await;
        let reader = acme.key("reader", "write,record", Mode::Test).await;
        let id = reader.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let before = both.conversation(&id).await;
        let item = json!({ "label": "Passport" });
        let body = json!({ "send": "true", "summary": "x".repeat(501), "documents": [item, { "label": "x".repeat(121) }] });
        let (status, sentence) = both.refused(&id, "replies", "reply", body).await;
        assert_eq!(status, 400);
        assert_eq!(
            sentence,
            "body: is required; send: must be true or false; summary: must be at most 500 characters; \
             documents[1].label: must be at most 120 characters"
        );
        for body in [
            json!({ "body": "x".repeat(50_001) }),
            json!({ "body": " " }),
            json!({ "body": "x", "send": 1 }),
            json!({ "body": "x", "documents": vec![item; 21] }),
            json!({ "body": "x", "documents": [{}] }),
        ] {
            assert_eq!(both.refused(&id, "replies", "reply", body).await.0, 400);
        }
        let (status, sentence) = drafter.refused(&id, "replies", "reply", json!({ "body": "x", "send": true })).await;
        assert_eq!((status, sentence.as_str()), (403, "This key lacks the send scope."));
        let (status, sentence) = reader.refused(&id, "replies", "reply", json!({ "body": "x" })).await;
        assert_eq!((status, sentence.as_str()), (403, "This key lacks the draft scope."));
        assert_eq!(both.conversation(&id).await, before);
        both.write(&id, "replies", "reply", json!({ "body": "🐦".repeat(50_000), "summary": "x".repeat(500) }), 201).await;
    })
    .await;
}

/// proves: RPL-8, RPL-9, RPL-16
#[tokio::test]
async fn documents_asked_in_a_reply_stand_below_it_once_with_a_private_link() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,draft,send", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let documents = json!([{ "label": "Passport" }, { "label": "Payslip", "required": false }]);
        let body = json!({ "body": "Hello Ada.", "send": true, "documents": documents });
        let sent = key.write(&id, "replies", "reply", body, 201).await;
        let request = sent["requestId"].as_str().unwrap();
        assert!(request.starts_with("req_"));
        let text = message(&key, &id, sent["messageId"].as_str().unwrap()).await["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(text.starts_with(
            "Hello Ada.\n\nPlease send us these documents:\n\n- Passport\n- Payslip (nice to have)"
        ));
        assert_eq!(
            text.matches(&format!("https://rookery.example/upload/{}/{request}/", acme.id)).count(),
            1,
            "{text}"
        );

        let none =
            key.write(&id, "replies", "reply", json!({ "body": "Hello.", "documents": [] }), 201).await;
        assert_eq!(none.get("requestId"), None);
        let text = message(&key, &id, none["messageId"].as_str().unwrap()).await["text"].clone();
        assert_eq!(text, "Hello.");
    })
    .await;
}

/// proves: RPL-17, RPL-18, MSG-14
#[tokio::test]
async fn a_reply_goes_to_the_contact_also_of_a_closed_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,draft", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        key.write(&id, "status", "set_status", json!({ "status": "closed" }), 200).await;
        key.write(&id, "replies", "reply", json!({ "body": "Bye." }), 201).await;
        assert_eq!(key.conversation(&id).await["status"], "closed");
        let ids = world.rfc_message_ids().await;
        assert_eq!(ids.len(), 2);
        assert_ne!(ids[0], ids[1]);
        for id in ids {
            let (local, domain) = id.split_once('@').unwrap();
            assert_eq!(domain, "acme.test");
            let (message, secret) = local.split_once('.').unwrap();
            assert!(message.starts_with("msg_"));
            assert!(secret.len() == 32 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
        let conversation = id.parse().unwrap();
        acme.set(conversation, "contact_email = null, contact_name = null").await;
        let (status, sentence) = key.refused(&id, "replies", "reply", json!({ "body": "Hello?" })).await;
        assert_eq!((status, sentence.as_str()), (400, "body: this conversation has no address to reply to"));
    })
    .await;
}

pub async fn message(key: &Key<'_>, conversation: &str, id: &str) -> Value {
    let timeline = key.conversation(conversation).await["timeline"].clone();
    let found = timeline.as_array().unwrap().iter().find(|item| item["id"] == id).cloned();
    found.unwrap_or_else(|| panic!("{id} is not on the timeline"))
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
