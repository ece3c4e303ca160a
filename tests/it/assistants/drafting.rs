//! The drafting assistant writes drafts and nothing else: at most one for a mail, for a person to approve, under its name.
//! Held, closed, answered and automatic mail gets none, and neither does anybody when assistants or agents are stopped.

use rookery_assistants::settings::Engine;
use rookery_assistants::stop;
use rookery_core::workspace::agents::stop as agents;
use serde_json::{Value, json};

use super::{agrees, desk, owner};
use rookery_world::model_server::{Does, ModelServer};
use rookery_world::{Workspace, story_with};

const TEXT: &str = "Hello, when do you open on Saturday?";

fn answers(material: &str, form: &Value) -> Value {
    match form["properties"].get("reply") {
        Some(_) if material.contains("no idea") => json!({ "reply": null, "relied_on": [] }),
        Some(_) => json!({ "reply": "Hello,\n\nwe look into it and come back to you.", "relied_on": [1] }),
        None => json!({ "topic": null, "urgency": "normal", "suspicious": false }),
    }
}

async fn drafts(acme: &Workspace<'_>) -> i64 {
    acme.world.scalar("select count(*) from messages where origin = 'assistant' and status = 'draft'").await
}

/// proves: HLP-2
#[tokio::test]
async fn a_draft_waits_for_a_person_and_says_what_it_relied_on() {
    let model = ModelServer::start(Does::Answers(answers)).await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        agrees(&acme, inbox, Engine::Model, Engine::Model).await;
        let id = acme.mail(inbox, "ada@customer.example", "Saturday", TEXT).await;
        for _ in 0..3 {
            world.work().await;
        }
        assert_eq!(drafts(&acme).await, 1, "at most one for a mail");
        assert_eq!(model.questions().len(), 2, "asked once to sort and once to draft");
        model.is_content();
        assert_eq!(world.due_messages().await, 0);
        assert_eq!(world.outbox.mails().len(), 0, "nothing leaves");
        let browser = world.browser(acme.id, acme.owner).await;
        let queue = browser.get("/approvals").await.page();
        for words in ["Assistant", "we look into it", "model scripted", "the customer’s mail"] {
            assert!(queue.contains(words), "{words}: {queue}");
        }
        let message: i64 =
            world.scalar("select id from messages where origin = 'assistant' and status = 'draft'").await;
        let message = rookery_base::ids::MessageId(message);
        let approved = browser.post(&format!("/messages/{message}/approve"), &[]).await;
        assert_eq!(approved.status, 303);
        assert!(approved.location().contains("done=approved"), "{}", approved.location());
        world.wait(chrono::TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(world.outbox.mails().len(), 1);
        assert_eq!(key.conversation(id).await["status"], "waiting");
    })
    .await;
}

#[tokio::test]
async fn mail_that_needs_no_answer_gets_no_draft() {
    let model = ModelServer::start(Does::Answers(answers)).await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let send = acme.key("sender", "write,draft,send", rookery_world::Mode::Live).await;
        agrees(&acme, inbox, Engine::Rules, Engine::Model).await;
        let other = acme.mailbox("other@acme.example", "Other").await;
        acme.mail(other, "z@customer.example", "Saturday", TEXT).await;
        let closed = acme.mail(inbox, "a@customer.example", "Saturday", TEXT).await;
        key.post(&format!("/conversations/{closed}/status"), json!({ "status": "closed" })).await;
        let answered = acme.mail(inbox, "b@customer.example", "Saturday", TEXT).await;
        send.sends(answered, "Nine.").await;
        let drafted = acme.mail(inbox, "c@customer.example", "Saturday", TEXT).await;
        send.drafts(drafted, "Nine?").await;
        let risky = acme.mail(inbox, "d@customer.example", "Saturday", TEXT).await;
        world.sql(&format!("update conversations set risk = 'phishing' where id = {}", risky.0)).await;
        let automatic = "Message-ID: <auto@x.example>\nFrom: e@customer.example\nTo: help@acme.example\nAuto-Submitted: \
                         auto-replied\nSubject: Away\n\nI am away.\n";
        acme.receives(inbox, automatic).await;
        acme.mail(inbox, "f@customer.example", "Saturday", "no idea what to say").await;
        world.work().await;
        assert_eq!(drafts(&acme).await, 0);
        assert_eq!(model.questions().len(), 1, "only the last was shown to the model at all");
    })
    .await;
}

#[tokio::test]
async fn nothing_is_drafted_while_assistants_or_agents_are_stopped() {
    let model = ModelServer::start(Does::Answers(answers)).await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, _) = desk(&acme).await;
        agrees(&acme, inbox, Engine::Rules, Engine::Model).await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        assert!(agents::say(&mut tx, &olga).await.unwrap());
        tx.commit().await.unwrap();
        acme.mail(inbox, "a@customer.example", "Saturday", TEXT).await;
        for _ in 0..3 {
            world.work().await;
            world.wait(chrono::TimeDelta::minutes(10));
        }
        assert_eq!(drafts(&acme).await, 0, "agents are stopped");
        assert_eq!(model.questions().len(), 0, "and nobody is asked for nothing");
        let mut tx = world.app.begin(acme.id).await.unwrap();
        agents::take_back(&mut tx, &olga, json!({})).await.unwrap();
        tx.commit().await.unwrap();
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        assert_eq!(drafts(&acme).await, 1, "it comes later");
        let browser = world.browser(acme.id, acme.owner).await;
        assert_eq!(browser.post("/settings/assistants/stop", &[]).await.status, 303);
        let asked = model.questions().len();
        acme.mail(inbox, "b@customer.example", "Saturday", TEXT).await;
        world.work().await;
        assert_eq!((drafts(&acme).await, model.questions().len()), (1, asked), "assistants are stopped");
        assert!(browser.get("/settings/assistants").await.page().contains("Stopped by"));
        assert_eq!(browser.post("/settings/assistants/discard", &[]).await.status, 303);
        assert_eq!(drafts(&acme).await, 0, "all of them in one act");
        assert_eq!(
            stop::waiting(&mut world.app.connection().await.unwrap(), acme.id).await.unwrap().len(),
            0
        );
    })
    .await;
}
