//! `POST /conversations/{id}/status` and its tool.

use serde_json::{Value, json};

use rookery_world::{Mode, story};

/// proves: STAT-1, STAT-3, STAT-4, STAT-6, STAT-7, GEN-9, GEN-13, EVT-9
#[tokio::test]
async fn any_status_moves_to_any_other_with_one_entry_and_one_turn() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let turn = |status: &str| match status {
            "open" => "ours",
            "waiting" => "theirs",
            _ => "done",
        };
        let mut now = "open";
        for next in ["waiting", "closed", "open", "closed", "waiting", "open"] {
            world.wait(chrono::TimeDelta::seconds(1));
            let (entries, told) = (statuses(&key, &id).await.len(), world.events("turn.changed").await.len());
            // By MCP it is a repeat: the end state is the same and nothing is added.
            assert_eq!(
                key.write(&id, "status", "set_status", json!({ "status": next }), 200).await,
                json!({ "ok": true })
            );
            assert_eq!(key.conversation(&id).await["status"], next);
            let after = statuses(&key, &id).await;
            assert_eq!(after.len(), entries + 1);
            let entry = after.last().unwrap();
            assert_eq!(entry["actor"], "bot");
            assert_eq!(entry["data"], json!({ "from": now, "to": next, "reason": "set" }));
            let events = world.events("turn.changed").await;
            assert_eq!(events.len(), told + 1);
            let data = &events.last().unwrap()["data"];
            assert_eq!((&data["turn"], &data["previous"]), (&json!(turn(next)), &json!(turn(now))));
            assert_eq!(data["assignee"], Value::Null);
            now = next;
        }
    })
    .await;
}

/// proves: STAT-2
#[tokio::test]
async fn another_word_for_a_status_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        for body in
            [json!({}), json!({ "status": "snoozed" }), json!({ "status": "Open" }), json!({ "status": 1 })]
        {
            let (status, sentence) = key.refused(&id, "status", "set_status", body).await;
            assert_eq!(status, 400);
            assert!(sentence.starts_with("status: "), "{sentence}");
        }
    })
    .await;
}

/// proves: STAT-5
#[tokio::test]
async fn the_same_status_again_adds_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let (before, events) = (key.conversation(&id).await, world.event_count().await);
        key.write(&id, "status", "set_status", json!({ "status": "open" }), 200).await;
        assert_eq!(key.conversation(&id).await, before);
        assert_eq!(world.event_count().await, events);
    })
    .await;
}

async fn statuses(key: &rookery_world::Key<'_>, id: &str) -> Vec<Value> {
    let timeline = key.conversation(id).await["timeline"].clone();
    timeline.as_array().unwrap().iter().filter(|item| item["event"] == "status").cloned().collect()
}
