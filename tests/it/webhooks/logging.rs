//! The delivery log: every try, the filters, redelivery.

use chrono::TimeDelta;
use rookery_base::ids::EventId;
use rookery_webhooks::log::{LogFilter, Status};
use serde_json::json;

use rookery_world::Mode;
use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::webhooks::{event_id, local_story};

/// proves: WH-22
#[tokio::test]
async fn the_log_shows_every_try_and_filters_by_failed_delivered_and_event() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Live).await;
        let words = format!("Sorry\0 {}", "x".repeat(2000));
        receiver.answers_with(Answering { body: words, ..Answering::with(500) });
        let id = acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        world.work().await;
        let failed = || LogFilter { outcome: Some(Status::Failed), ..LogFilter::default() };
        let entry = acme.log(made.webhook, failed()).await.remove(0);
        assert_eq!(entry.state, "pending");
        let answer = entry.tries[0]["answer"].as_str().unwrap();
        assert!(
            answer.starts_with("Sorry x") && answer.len() == 1023,
            "the first kilobyte: {}",
            answer.len()
        );
        assert!(entry.tries[0]["duration"].is_u64());

        world.wait(TimeDelta::minutes(1));
        receiver.answers_with(Answering { body: "thanks".into(), ..Answering::with(200) });
        world.work().await;
        world.wait(TimeDelta::seconds(1));
        key.post(&format!("/conversations/{id}/assign"), json!({ "to": "me" })).await;
        world.work().await;
        let shown = async |filter: LogFilter| -> Vec<String> {
            acme.log(made.webhook, filter).await.iter().map(|entry| entry.r#type.clone()).collect()
        };
        assert_eq!(shown(LogFilter::default()).await, ["conversation.assigned", "turn.changed"]);
        let delivered = || LogFilter { outcome: Some(Status::Delivered), ..LogFilter::default() };
        assert_eq!(shown(delivered()).await, ["conversation.assigned", "turn.changed"]);
        assert_eq!(shown(failed()).await, [""; 0]);
        let kind = |kind: &str| LogFilter { kind: Some(kind.into()), ..LogFilter::default() };
        assert_eq!(shown(kind("turn.changed")).await, ["turn.changed"]);
        assert_eq!(shown(kind("message.sent")).await, [""; 0]);
        let entry = acme.log(made.webhook, kind("turn.changed")).await.remove(0);
        assert_eq!((&entry.tries[0]["status"], &entry.tries[1]["status"]), (&json!(500), &json!(200)));
        assert_eq!(entry.tries[1]["answer"], "thanks");
        assert_eq!(entry.created_at, "2031-01-06T09:00:00.000Z");
        let shown = serde_json::to_value(&entry).unwrap();
        let fields: Vec<&String> = shown.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["event", "type", "createdAt", "state", "tries", "nextTryAt"]);
    })
    .await;
}

/// proves: WH-23
#[tokio::test]
async fn an_event_of_the_log_is_sent_again_with_its_id_and_no_other_is() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        acme.mail(support, "early@customer.example", "Hi", "Before there was a webhook").await;
        world.wait(TimeDelta::seconds(1));
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Live).await;
        let other = acme.webhook(&receiver.url, Mode::Live).await;
        acme.pause(other.webhook).await;
        let early: EventId = event_id(&world.events("turn.changed").await[0]);
        acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        acme.happens_in_sandbox().await;
        world.work().await;
        let first = receiver.only();
        let event = event_id(&first.json());

        world.wait(TimeDelta::days(29));
        acme.redeliver(made.webhook, event).await.unwrap();
        receiver.answers(500);
        world.work().await;
        let again = receiver.only();
        assert_eq!((again.header("webhook-id"), &again.body), (first.header("webhook-id"), &first.body));
        assert_ne!(again.header("webhook-timestamp"), first.header("webhook-timestamp"));
        // A failure is retried as ever; asking once more while it waits sends it now.
        receiver.answers(200);
        acme.redeliver(made.webhook, event).await.unwrap();
        world.work().await;
        receiver.only();
        let entries = acme.log(made.webhook, LogFilter::default()).await;
        let tries: Vec<usize> = entries.iter().map(|entry| entry.tries.as_array().unwrap().len()).collect();
        assert_eq!(tries, [2, 1], "the redelivery, and the first delivery");

        // A skipped event can be sent once the webhook runs.
        let refusal = acme.redeliver(other.webhook, event).await.unwrap_err();
        assert_eq!(refusal.status(), 403);
        acme.resume(other.webhook).await;
        acme.redeliver(other.webhook, event).await.unwrap();
        world.work().await;
        receiver.only();
        let tested = acme.test(made.webhook).await;
        world.work().await;
        receiver.only();
        let sandbox = world.events("turn.changed").await;
        let sandbox = event_id(sandbox.iter().find(|event| event["livemode"] == false).unwrap());
        for (webhook, event, what) in [
            (other.webhook, tested, "the test of another webhook"),
            (made.webhook, early, "from before the webhook"),
            (made.webhook, sandbox, "of the sandbox"),
            (made.webhook, EventId(1), "never happened"),
        ] {
            assert_eq!(acme.redeliver(webhook, event).await.unwrap_err().status(), 404, "{what}");
        }
        acme.redeliver(made.webhook, tested).await.unwrap();
        world.work().await;
        receiver.only();
        world.wait(TimeDelta::days(2));
        assert_eq!(acme.redeliver(made.webhook, event).await.unwrap_err().status(), 404, "31 days later");
    })
    .await;
}
