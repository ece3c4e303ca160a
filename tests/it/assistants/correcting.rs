//! What a person says of topic and urgency stands: over later mail, over a model that answers afterwards, and in races.

use std::time::Duration;

use rookery_assistants::corrections::correct;
use rookery_assistants::settings::Engine;
use rookery_assistants::sort::ask;
use rookery_base::ids::ConversationId;
use rookery_core::conversations::sorting::said::Field;
use rookery_mail::incoming::delivery::Received;
use rookery_product::replies::merge::merge;
use serde_json::{Value, json};

use super::{agrees, desk, owner, told, wrote};
use rookery_world::model_server::{Does, ModelServer};
use rookery_world::{Workspace, story, story_with};

const WHERE_IS_IT: &str = "Hello, where is my order? The tracking has not moved for a week.";

async fn says(acme: &Workspace<'_>, id: ConversationId, field: Field, value: &str) {
    let olga = owner(acme).await;
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    correct(&mut tx, &olga, &id.to_string(), field, value).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_persons_word_stands_over_everything_that_comes_later() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let id = acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        says(&acme, id, Field::Topic, "refund").await;
        says(&acme, id, Field::Urgency, "low").await;
        world.work().await;
        assert_eq!(told(&key, id).await, (json!("refund"), json!("low")), "said before it was sorted");
        let first = format!(
            "Message-ID: <first@customer.example>\nFrom: bob@customer.example\nTo: help@acme.example\nSubject: Order \
             4412\n\n{WHERE_IS_IT}\n"
        );
        let Received::Stored(stored) = acme.receives(inbox, &first).await else { panic!("it is stored") };
        let late = stored.conversation;
        world.work().await;
        assert_eq!(told(&key, late).await, (json!("order"), json!("normal")));
        says(&acme, late, Field::Topic, "").await;
        wrote(&acme, late, "We got it.", "ours@acme.example").await;
        let raw = "Message-ID: <again@customer.example>\nIn-Reply-To: <ours@acme.example>\nFrom: \
                   bob@customer.example\nTo: help@acme.example\nSubject: Re: Order 4412\n\nI want my money back. My flight \
                   leaves tomorrow morning!\n";
        acme.receives(inbox, raw).await;
        world.work().await;
        assert_eq!(
            told(&key, late).await,
            (Value::Null, json!("high")),
            "none of the topics fits, a person said; of urgency nobody said anything"
        );
        assert_eq!(key.told(late, "sorted").await, [json!({ "field": "topic", "from": "order", "to": null })]);
    })
    .await;
}

#[tokio::test]
async fn a_model_that_answers_after_a_person_changes_nothing() {
    let model = ModelServer::start(Does::Answers(
        |_, _| json!({ "topic": "complaint", "urgency": "high", "suspicious": false }),
    ))
    .await;
    model.takes(Duration::from_millis(300));
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        agrees(&acme, inbox, Engine::Model, Engine::Off).await;
        let mut all = Vec::new();
        for number in 0..10 {
            let from = format!("c{number}@customer.example");
            all.push(acme.mail(inbox, &from, "Order 4411", WHERE_IS_IT).await);
        }
        rookery_assistants::sort::sort(&world.app, acme.id, 100).await.unwrap();
        let asking = ask::ask_due(&world.app, 4);
        let speaking = async {
            for id in &all {
                tokio::time::sleep(Duration::from_millis(60)).await;
                says(&acme, *id, Field::Topic, "refund").await;
            }
        };
        let (asked, ()) = tokio::join!(asking, speaking);
        asked.unwrap();
        for id in all {
            let (topic, urgency) = told(&key, id).await;
            assert_eq!(
                (topic, urgency),
                (json!("refund"), json!("high")),
                "the topic is hers, urgency nobody's"
            );
        }
        assert_eq!(model.questions().len(), 10);
    })
    .await;
}

#[tokio::test]
async fn an_invented_topic_is_refused_and_a_hidden_conversation_is_not_there() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, _) = desk(&acme).await;
        let mia = acme.person("Mia Member", rookery_core::workspace::people::Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let hers = acme.mail(private, "ada@customer.example", "Hi", "Hello").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let refused = olga.post(&format!("/conversations/{id}/sort"), &[("topic", "invented")]).await;
        assert_eq!(refused.status, 400);
        let refused = olga.post(&format!("/conversations/{id}/sort"), &[("urgency", "extreme")]).await;
        assert_eq!(refused.status, 400);
        let hidden = olga.post(&format!("/conversations/{hers}/sort"), &[("topic", "refund")]).await;
        assert_eq!(hidden.status, 404);
        let done = olga.post(&format!("/conversations/{id}/sort"), &[("topic", "refund")]).await;
        assert_eq!(done.status, 303);
        let page = olga.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Said by Olga Owner") && page.contains("set the topic to"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn of_two_that_become_one_a_persons_word_stands() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let raw = format!(
            "Message-ID: <kept@customer.example>\nFrom: ada@customer.example\nTo: help@acme.example\nSubject: Order \
             4411\n\n{WHERE_IS_IT}\n"
        );
        let Received::Stored(stored) = acme.receives(inbox, &raw).await else { panic!("it is stored") };
        let kept = stored.conversation;
        let gone = acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        world.work().await;
        says(&acme, gone, Field::Topic, "refund").await;
        says(&acme, kept, Field::Urgency, "low").await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        merge(&mut tx, &olga, kept, gone).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(told(&key, kept).await, (json!("refund"), json!("low")));
        assert_eq!(world.scalar("select count(*) from corrections").await, 2, "they still teach");
        wrote(&acme, kept, "We got it.", "ours@acme.example").await;
        let raw = "Message-ID: <more@customer.example>\nIn-Reply-To: <ours@acme.example>\nFrom: \
                   ada@customer.example\nTo: help@acme.example\nSubject: Re: Order 4411\n\nI want my money back. My flight \
                   leaves tomorrow morning!\n";
        let Received::Stored(more) = acme.receives(inbox, raw).await else { panic!("it is stored") };
        assert_eq!(more.conversation, kept);
        world.work().await;
        assert_eq!(told(&key, kept).await, (json!("refund"), json!("low")));
    })
    .await;
}
