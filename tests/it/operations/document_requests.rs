//! `POST /conversations/{id}/document-requests` and its tool.

use serde_json::json;

use super::replies::message;
use rookery_world::{Mode, story};

const PATH: &str = "document-requests";
const TOOL: &str = "request_documents";

/// proves: DREQ-1, DREQ-6, DREQ-7, DREQ-8, GEN-10
#[tokio::test]
async fn a_request_is_an_outbound_message_whose_draft_has_no_link() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,draft,send", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let documents = json!([{ "label": "Passport", "description": "both pages" }]);
        let body = json!({ "documents": documents, "message": "For your file.", "dueDate": "2031-05-09" });
        let draft = key.write(&id, PATH, TOOL, body.clone(), 201).await;
        assert_eq!(draft["status"], "draft");
        assert!(draft["requestId"].as_str().unwrap().starts_with("req_"));
        let read = message(&key, &id, draft["messageId"].as_str().unwrap()).await;
        assert_eq!((&read["direction"], &read["status"]), (&json!("outbound"), &json!("draft")));
        assert_eq!(
            read["text"],
            "For your file.\n\nPlease send us these documents:\n\n- Passport\n  both pages\n\nPlease send them by Friday, 9 May 2031."
        );
        let mut body = body;
        body["send"] = json!(true);
        let sent = key.write(&id, PATH, TOOL, body, 201).await;
        assert_eq!(sent["status"], "scheduled");
        assert_eq!(sent["sendsAt"], rookery_base::clock::written(world.now() + chrono::TimeDelta::seconds(5)));
        let text = message(&key, &id, sent["messageId"].as_str().unwrap()).await["text"].clone();
        assert!(text.as_str().unwrap().contains("/upload/"), "{text}");
        let asked = world.requests().await;
        assert_eq!(asked.len(), 4, "each call makes a new one");
        assert!(asked.iter().all(|state| state == "draft"), "a request opens when its mail has left");
    })
    .await;
}

/// proves: DREQ-2, DREQ-3, DREQ-4, DREQ-5
#[tokio::test]
async fn every_field_of_a_request_has_its_limit() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,draft", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let item = json!({ "label": "x".repeat(120), "description": "x".repeat(500), "required": false });
        let ok = json!({ "documents": vec![item.clone(); 20], "message": "x".repeat(5_000), "dueDate": "2000-02-29" });
        key.write(&id, PATH, TOOL, ok, 201).await;
        let documents = json!([{ "label": "Passport" }]);
        let wrong = [
            (json!({}), "documents: "),
            (json!({ "documents": [] }), "documents: "),
            (json!({ "documents": vec![item; 21] }), "documents: "),
            (json!({ "documents": [{ "label": "" }] }), "documents[0].label: "),
            (json!({ "documents": [{ "label": "a", "description": "x".repeat(501) }] }), "documents[0].description: "),
            (json!({ "documents": [{ "label": "a", "required": "yes" }] }), "documents[0].required: "),
            (json!({ "documents": documents, "message": "x".repeat(5_001) }), "message: "),
            (json!({ "documents": documents, "dueDate": "2031-02-30" }), "dueDate: "),
            (json!({ "documents": documents, "dueDate": "9.5.2031" }), "dueDate: "),
            (json!({ "documents": documents, "dueDate": "2031-05-09T00:00:00Z" }), "dueDate: "),
        ];
        for (body, start) in wrong {
            let (status, sentence) = key.refused(&id, PATH, TOOL, body).await;
            assert_eq!(status, 400);
            assert!(sentence.starts_with(start), "{sentence}");
        }
    })
    .await;
}
