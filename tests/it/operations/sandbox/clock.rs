//! `POST /sandbox/advance` and `POST /sandbox/drafts/{id}/approve`: what time and people do, for a test key.

use serde_json::json;

use rookery_world::site::{Site, text};
use rookery_world::{Mode, Reply, story};

#[tokio::test]
async fn time_passes_in_the_sandbox_of_one_workspace_and_nowhere_else() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let theirs = other.key("bot", "read,write,draft,send", Mode::Test).await;
        let support = acme.mailbox("help@acme.example", "Help").await;
        let live = acme.key("live", "read,write,draft,send", Mode::Live).await;
        let real = acme.mail(support, "carla@customer.example", "Order", "Where is it?").await;
        live.sends(real, "It left.").await;
        let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
        let (conversation, elsewhere) = (key.simulate(mail.clone()).await, theirs.simulate(mail).await);
        key.sends(&conversation, "Soon.").await;
        theirs.sends(&elsewhere, "Soon.").await;
        let advanced = key.post("/sandbox/advance", json!({ "seconds": 60 })).await;
        assert_eq!(advanced.status, 200, "{}", advanced.text);
        assert_eq!(
            advanced.json(),
            json!({ "messages": 1, "documentRequests": 0, "snoozed": 0, "answers": 0, "deliveries": 0 })
        );
        world.work().await;
        let ours: i64 = world.scalar("select count(*) from messages where status = 'sent' and sandbox").await;
        let waiting: i64 = world.scalar("select count(*) from messages where status = 'scheduled'").await;
        assert_eq!((ours, waiting), (1, 2), "one left; the other workspace's and the live one wait");
        for seconds in [json!(0), json!(-5), json!(31_622_401), json!("1"), json!(null)] {
            assert_eq!(
                key.post("/sandbox/advance", json!({ "seconds": seconds })).await.status,
                400,
                "{seconds}"
            );
        }
        let refused = live.post("/sandbox/advance", json!({ "seconds": 60 })).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
    })
    .await;
}

#[tokio::test]
async fn a_test_key_approves_a_draft_of_the_sandbox_and_the_timeline_says_that_it_was_simulated() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write,draft", Mode::Test).await;
        let live = acme.key("live", "read,write,draft", Mode::Live).await;
        let conversation = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let draft = key.drafts(&conversation, "Perhaps.").await;
        let path = format!("/sandbox/drafts/{draft}/approve");
        assert_eq!(live.post(&path, json!({})).await.status, 403);
        let approved = key.post(&path, json!({ "body": "Certainly." })).await;
        assert_eq!(approved.status, 200, "{}", approved.text);
        assert_eq!(approved.json()["messageId"], draft);
        assert_eq!(
            key.told(&conversation, "approved").await,
            [json!({ "messageId": draft, "edited": true, "simulated": true })]
        );
        assert_eq!(key.post(&path, json!({})).await.status, 400, "it is no draft any more");
        assert_eq!(key.post("/sandbox/drafts/msg_0000000000001/approve", json!({})).await.status, 404);
        key.post("/sandbox/advance", json!({ "seconds": 60 })).await;
        world.work().await;
        assert_eq!(key.message(&conversation, &draft).await["status"], "sent");
        assert_eq!(world.events("draft.approved").await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_reminders_in_seven_days_are_seen_in_seconds() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let node = site.serve("one", &[("ROOKERY_SANDBOX_UNDO_WINDOW_SECONDS", "1")]).await;
    let post = async |path: &str, body: serde_json::Value| {
        let request = site.http.post(format!("{}/api/v1{path}", node.address)).bearer_auth(&key).json(&body);
        let reply = Reply::of(request).await;
        assert!(reply.status < 300, "{path}: {}", reply.text);
        reply.json()
    };
    let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
    let conversation = text(&post("/sandbox/inbound", mail).await, "conversationId");
    let asked = json!({ "documents": [{ "label": "Passport" }], "message": "Please.", "send": true });
    post(&format!("/conversations/{conversation}/document-requests"), asked).await;
    let sent = async |wanted: usize| {
        for _ in 0..600 {
            let read = site.get(&node, &format!("/api/v1/conversations/{conversation}"), &key).await.json();
            let items = read["timeline"].as_array().unwrap().clone();
            let left = items.iter().filter(|item| item["status"] == "sent").count();
            if left >= wanted {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("{wanted} mails did not leave: {}", node.log());
    };
    sent(1).await;
    let began = std::time::Instant::now();
    let advanced = post("/sandbox/advance", json!({ "seconds": 8 * 86_400 })).await;
    assert_eq!(advanced["documentRequests"], 1);
    sent(4).await;
    println!("three reminders left within {:.1} s", began.elapsed().as_secs_f64());
}
