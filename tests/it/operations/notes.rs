//! `POST /conversations/{id}/notes` and its tool.

use serde_json::json;

use crate::world::{Mode, story};

/// proves: NOTE-1, NOTE-3, NOTE-7, GEN-10
#[tokio::test]
async fn each_call_adds_a_note_at_the_end_of_the_timeline_under_the_keys_name() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("billing-bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let note = json!({ "body": "Called her.\r\nShe is in." });
        key.write(&id, "notes", "add_note", note, 201).await;
        let timeline = key.conversation(&id).await["timeline"].clone();
        let notes: Vec<_> =
            timeline.as_array().unwrap().iter().filter(|item| item["type"] == "note").collect();
        assert_eq!(notes.len(), 2, "one by REST and one by MCP");
        for note in notes {
            assert_eq!(note["author"], "billing-bot");
            assert_eq!(note["body"], "Called her.\nShe is in.");
        }
        assert_eq!(timeline.as_array().unwrap().last().unwrap()["type"], "note");
    })
    .await;
}
