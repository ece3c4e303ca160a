//! New mail gets a topic and an urgency, by rules or by a model; a model that misbehaves changes nothing, and no mail waits
//! for any of it.

use rookery_assistants::settings::{self, Engine, Engines};
use rookery_mail::incoming::delivery::Received;
use rookery_product::replies::merge::merge;
use serde_json::{Value, json};

use super::{agrees, desk, owner, told, wrote};
use rookery_world::model_server::{Does, ModelServer};
use rookery_world::{Mode, story, story_with};

const WHERE_IS_IT: &str = "Hello, where is my order? The tracking has not moved for a week.";

/// proves: HLP-1, LIST-24
#[tokio::test]
async fn new_mail_gets_its_topic_and_urgency_after_it_is_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let order = acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        let gas =
            acme.mail(inbox, "bob@customer.example", "Küche", "Es riecht nach Gas, bitte schnell!").await;
        let unclear = acme.mail(inbox, "eve@customer.example", "Hello", "I have a question for you.").await;
        assert_eq!(told(&key, order).await, (Value::Null, Value::Null), "nobody has looked at it yet");
        world.work().await;
        assert_eq!(told(&key, order).await, (json!("order"), json!("normal")));
        assert_eq!(told(&key, gas).await.1, json!("high"));
        assert_eq!(told(&key, unclear).await, (Value::Null, json!("normal")), "D268: normal where unsure");
    })
    .await;
}

/// proves: HLP-7, SBX-21
#[tokio::test]
async fn simulated_mail_is_never_sorted() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("tester", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": WHERE_IS_IT })).await;
        assert_eq!(world.scalar("select count(*) from unsorted_messages").await, 0);
        world.work().await;
        let read = key.conversation(&id).await;
        assert_eq!((&read["topic"], &read["urgency"]), (&Value::Null, &Value::Null));
    })
    .await;
}

#[tokio::test]
async fn who_turned_sorting_off_gets_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let off = Engines { sorting: Engine::Off, drafting: Engine::Off, reading: Engine::Off };
        settings::choose(&world.app, &mut tx, &olga, off).await.unwrap();
        tx.commit().await.unwrap();
        let id = acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        world.work().await;
        assert_eq!(told(&key, id).await, (Value::Null, Value::Null));
    })
    .await;
}

#[tokio::test]
async fn a_model_that_an_owner_agreed_to_is_asked_and_only_about_its_inboxes() {
    let model = ModelServer::start(Does::Answers(
        |_, _| json!({ "topic": "complaint", "urgency": "high", "suspicious": true }),
    ))
    .await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let other = acme.mailbox("other@acme.example", "Other").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        agrees(&acme, inbox, Engine::Model, Engine::Off).await;
        let shown = acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        let not =
            acme.mail(other, "bob@customer.example", "Order 4412", "SECRET-OTHER where is my order?").await;
        acme.mail(private, "eve@customer.example", "Order 4413", "SECRET-PRIVATE where is my order?").await;
        world.work().await;
        assert_eq!(told(&key, shown).await, (json!("complaint"), json!("high")));
        assert_eq!(key.conversation(shown).await["risk"], "phishing", "risk can be raised");
        assert_eq!(told(&key, not).await, (json!("order"), json!("normal")), "the rules' word");
        let asked = model.questions();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(!asked[0].to_string().contains("SECRET"), "{asked:?}");
        model.is_content();
        assert_eq!(world.scalar("select count(*) from assistant_runs where outcome = 'answered'").await, 1);
        let kept: String = sqlx::query_scalar("select string_agg(run::text, ' ') from assistant_runs run")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert!(!kept.contains("order") && !kept.contains("tracking"), "no word of mail: {kept}");
    })
    .await;
}

/// proves: HLP-4
#[tokio::test]
async fn a_model_that_misbehaves_leaves_what_the_rules_said_and_holds_no_mail_up() {
    let model = ModelServer::start(Does::Hangs).await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        agrees(&acme, inbox, Engine::Model, Engine::Off).await;
        for (number, does) in [
            Does::Hangs,
            Does::Says(""),
            Does::Says("I am sorry, I cannot do that."),
            Does::Says(r#"{"topic":"invented","urgency":"high","suspicious":false}"#),
            Does::Says(r#"{"topic":"refund","urgency":"high","suspicious":false,"send":true}"#),
            Does::Says(r#"{"topic":"refund"}"#),
            Does::CutOff,
            Does::Status(429),
            Does::Status(500),
            Does::Status(401),
            Does::Status(302),
            Does::Drips,
            Does::Floods,
            Does::Breaks,
        ]
        .into_iter()
        .enumerate()
        {
            model.does(does);
            // After a question in vain nothing is asked for a minute.
            world.wait(chrono::TimeDelta::minutes(2));
            let from = format!("c{number}@customer.example");
            let id = acme.mail(inbox, &from, "Order 4411", WHERE_IS_IT).await;
            world.work().await;
            assert_eq!(told(&key, id).await, (json!("order"), json!("normal")), "behaviour {number}");
        }
        assert!(world.scalar("select count(*) from assistant_runs where outcome <> 'answered'").await >= 14);
        model.does(Does::Answers(|_, _| json!({ "topic": "refund", "urgency": "low", "suspicious": false })));
        for _ in 0..4 {
            world.wait(chrono::TimeDelta::hours(1));
            world.work().await;
        }
        assert_eq!(world.scalar("select count(*) from assistant_tasks").await, 0, "nothing waits for ever");
        model.is_content();
    })
    .await;
}

#[tokio::test]
async fn without_an_agreement_nothing_is_shown_to_anybody() {
    let model = ModelServer::start(Does::Hangs).await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, _) = desk(&acme).await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let wanted = Engines { sorting: Engine::Model, drafting: Engine::Model, reading: Engine::Rules };
        let refused = settings::choose(&world.app, &mut tx, &olga, wanted).await.unwrap_err();
        assert!(refused.to_string().contains("agree"), "{refused}");
        drop(tx);
        acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        world.work().await;
        assert_eq!(model.questions().len(), 0);
    })
    .await;
}

/// Another inbox's mail became part of this one's: the agreement was never about it.
#[tokio::test]
async fn mail_of_an_inbox_that_nobody_agreed_to_is_not_shown_after_a_merge() {
    let model = ModelServer::start(Does::Answers(|_, form| match form["properties"].get("reply") {
        Some(_) => json!({ "reply": "Hello, we look into it.", "relied_on": [1] }),
        None => json!({ "topic": null, "urgency": "normal", "suspicious": false }),
    }))
    .await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, _) = desk(&acme).await;
        let other = acme.mailbox("hr@acme.example", "HR").await;
        agrees(&acme, inbox, Engine::Model, Engine::Model).await;
        let raw = format!(
            "Message-ID: <first@customer.example>\nFrom: ada@customer.example\nTo: help@acme.example\nSubject: Order \
             4411\n\n{WHERE_IS_IT}\n"
        );
        let Received::Stored(stored) = acme.receives(inbox, &raw).await else { panic!("it is stored") };
        let kept = stored.conversation;
        let gone = acme.mail(other, "ada@customer.example", "Sick", "SECRET-HR I am ill.").await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        merge(&mut tx, &olga, kept, gone).await.unwrap();
        tx.commit().await.unwrap();
        world.work().await;
        wrote(&acme, kept, "We got it.", "ours@acme.example").await;
        rookery_assistants::stop::discard_all(&world.app, &olga).await.unwrap();
        let raw = "Message-ID: <more@customer.example>\nIn-Reply-To: <ours@acme.example>\nFrom: \
                   ada@customer.example\nTo: help@acme.example\nSubject: Re: Order 4411\n\nAny news?\n";
        acme.receives(inbox, raw).await;
        world.work().await;
        world.work().await;
        let asked = model.questions();
        assert!(asked.iter().any(|one| one.to_string().contains("Any news?")), "{asked:?}");
        assert!(!asked.iter().any(|one| one.to_string().contains("SECRET-HR")), "{asked:?}");
    })
    .await;
}

#[tokio::test]
async fn what_a_person_released_is_not_marked_again_by_a_model() {
    let model = ModelServer::start(Does::Answers(
        |_, _| json!({ "topic": null, "urgency": "normal", "suspicious": true }),
    ))
    .await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        agrees(&acme, inbox, Engine::Model, Engine::Off).await;
        let released = acme.mail(inbox, "ada@customer.example", "Order 4411", WHERE_IS_IT).await;
        let marked = acme.mail(inbox, "bob@customer.example", "Order 4412", WHERE_IS_IT).await;
        rookery_assistants::sort::sort(&world.app, acme.id, 100).await.unwrap();
        world.wait(chrono::TimeDelta::seconds(1));
        world
            .sql(&format!(
                "insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
                     select workspace_id, id, last_item + 1, '{now}', 'Olga', 'released', '{{}}' from conversations
                     where id = {id};
                 update conversations set last_item = last_item + 1, last_item_at = '{now}' where id = {id}",
                now = world.now(),
                id = released.0
            ))
            .await;
        world.work().await;
        assert_eq!(model.questions().len(), 2);
        assert_eq!(key.conversation(released).await["risk"], Value::Null);
        assert_eq!(key.conversation(marked).await["risk"], "phishing");
        assert_eq!(key.told(marked, "risk-raised").await, [json!({ "risk": "phishing" })]);
    })
    .await;
}
