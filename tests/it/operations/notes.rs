//! `POST /conversations/{id}/notes` and its tool.

use serde_json::{Value, json};

use rookery_world::{Key, Mode, story};

/// proves: NOTE-1, NOTE-3, NOTE-7, GEN-11, GEN-13
#[tokio::test]
async fn each_call_adds_a_note_at_the_end_of_the_timeline_under_the_keys_name() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("billing-bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let answer =
            key.write(&id, "notes", "add_note", json!({ "body": "Called.\r\nShe is in." }), 201).await;
        assert_eq!(answer, json!({ "ok": true }));
        let notes = notes_of(&key, &id).await;
        assert_eq!(notes.len(), 2, "one by REST and one by MCP");
        for note in notes {
            assert_eq!(
                (&note["author"], &note["body"]),
                (&json!("billing-bot"), &json!("Called.\nShe is in."))
            );
        }
        let timeline = key.conversation(&id).await["timeline"].clone();
        assert_eq!(timeline.as_array().unwrap().last().unwrap()["type"], "note");
    })
    .await;
}

/// proves: NOTE-2, ERR-15
#[tokio::test]
async fn a_note_has_one_to_ten_thousand_characters() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        for body in [json!({}), json!({ "body": "" }), json!({ "body": " \n\t" }), json!({ "body": null })] {
            let (status, sentence) = key.refused(&id, "notes", "add_note", body).await;
            assert_eq!(status, 400);
            assert!(sentence.starts_with("body: "), "{sentence}");
        }
        let birds = |count: usize| json!({ "body": "🐦".repeat(count) });
        assert_eq!(key.refused(&id, "notes", "add_note", birds(10_001)).await.0, 400);
        key.write(&id, "notes", "add_note", birds(10_000), 201).await;
    })
    .await;
}

/// proves: NOTE-6, LIST-27, GEN-10, VER-6
#[tokio::test]
async fn a_note_moves_nothing_and_the_same_again_is_a_second_one_but_with_the_same_key() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let (before, events) = (key.list("").await.1, world.event_count().await);
        world.wait(chrono::TimeDelta::minutes(5));
        let path = format!("/conversations/{id}/notes");
        for _ in 0..2 {
            assert_eq!(key.post(&path, json!({ "body": "x" })).await.status, 201);
            assert_eq!(key.post_once("same", &path, &json!({ "body": "x" })).await.status, 201);
        }
        assert_eq!(notes_of(&key, &id).await.len(), 3);
        assert_eq!(key.list("").await.1, before, "status, count, snippet and time stay");
        assert_eq!(world.event_count().await, events, "a note is nobody's business outside");
    })
    .await;
}

/// proves: NOTE-4
#[tokio::test]
async fn a_first_name_tells_the_people_of_that_name_who_can_see_the_inbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let member = rookery_core::workspace::people::Role::Member;
        let anna = acme.person("Anna Berg", member).await;
        let other_anna = acme.person("anna Weiss", member).await;
        acme.person("Bo Lind", member).await;
        let team = acme.mailbox("help@acme.example", "Help").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let in_team = acme.mail(team, "ada@customer.example", "Hi", "Hello").await;
        let in_private = acme.mail(private, "ada@customer.example", "Hi", "Hello").await;
        let note = json!({ "body": "@ANNA and @Nobody: see bo@lind.example" });
        assert_eq!(key.post(&format!("/conversations/{in_team}/notes"), note).await.status, 201);
        assert_eq!(world.mentioned().await, [anna, other_anna]);
        let note = json!({ "body": "@Anna @Olga" });
        assert_eq!(key.post(&format!("/conversations/{in_private}/notes"), note).await.status, 201);
        assert_eq!(world.mentioned().await, [acme.owner, anna, other_anna], "only the owner sees that inbox");
    })
    .await;
}

async fn notes_of(key: &Key<'_>, id: &str) -> Vec<Value> {
    let timeline = key.conversation(id).await["timeline"].clone();
    timeline.as_array().unwrap().iter().filter(|item| item["type"] == "note").cloned().collect()
}
