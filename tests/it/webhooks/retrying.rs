//! What happens after a failure: the nine tries, the 410, and the day without one success.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_webhooks::log::{LogEntry, LogFilter};
use rookery_webhooks::webhook::WebhookState;

use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, World};

const MINUTES: [f64; 8] = [0.5, 2.0, 10.0, 30.0, 60.0, 180.0, 360.0, 720.0];

fn next(entry: &LogEntry) -> DateTime<Utc> {
    entry.next_try_at.as_ref().expect("another try").parse().expect("a time")
}

/// Moves the clock to a moment and works.
async fn work_at(world: &World, moment: DateTime<Utc>) {
    world.wait(moment - world.now());
    world.work().await;
}

/// proves: WH-17, WH-18, WH-22
#[tokio::test]
async fn nine_tries_follow_the_table_and_then_the_event_is_dropped() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        receiver.answers(503);
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        acme.happens_in_sandbox().await;
        acme.happens_in_sandbox().await;
        world.work().await;
        assert_eq!(receiver.take().len(), 2);
        let mut varied = 0;
        for (number, minutes) in MINUTES.into_iter().enumerate() {
            let entries = acme.log(made.webhook, LogFilter::default()).await;
            let due: Vec<DateTime<Utc>> = entries.iter().map(next).collect();
            for (entry, due) in entries.iter().zip(&due) {
                let tries = entry.tries.as_array().unwrap();
                assert_eq!((entry.state.as_str(), tries.len()), ("pending", number + 1));
                let last: DateTime<Utc> = tries[number]["at"].as_str().unwrap().parse().unwrap();
                let share = (*due - last).num_milliseconds() as f64 / 60_000.0 / minutes;
                assert!((0.8..=1.2).contains(&share), "try {} after {share} of {minutes} min", number + 2);
            }
            varied += usize::from(due[0] != due[1]);
            let (first, second) = (due[0].min(due[1]), due[0].max(due[1]));
            work_at(world, first - TimeDelta::milliseconds(1)).await;
            assert!(receiver.take().is_empty(), "try {} came early", number + 2);
            work_at(world, first).await;
            assert_eq!(receiver.take().len(), 1 + usize::from(first == second));
            work_at(world, second).await;
            receiver.take();
        }
        assert!(varied >= 7, "delays of different events differ: {varied} of 8 did");
        for entry in acme.log(made.webhook, LogFilter::default()).await {
            assert_eq!((entry.state.as_str(), entry.next_try_at.as_deref()), ("failed", None));
            assert_eq!(entry.tries.as_array().unwrap().len(), 9);
        }
        world.wait(TimeDelta::days(3));
        world.work().await;
        assert!(receiver.take().is_empty(), "dropped is dropped");
    })
    .await;
}

/// proves: WH-19
#[tokio::test]
async fn a_410_turns_the_webhook_off_at_once_and_its_owner_is_told_once() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        receiver.answers(500);
        acme.happens_in_sandbox().await;
        world.work().await;
        assert_eq!(acme.state(made.webhook).await.state, WebhookState::Active);
        receiver.answers(410);
        for _ in 0..3 {
            acme.happens_in_sandbox().await;
        }
        world.work().await;
        assert_eq!(acme.state(made.webhook).await.state, WebhookState::Off);
        receiver.take();
        let notices = acme.notices().await;
        assert_eq!(notices.len(), 1, "{notices:?}");
        let (recipient, kind, text) = &notices[0];
        assert_eq!((recipient.as_str(), kind.as_str()), ("olga@rookery.example", "webhook-off"));
        assert!(
            text.contains("410") && text.contains("127.0.0.1") && text.contains(&made.webhook.to_string())
        );

        // The waiting retry is dropped, and nothing new is sent.
        receiver.answers(200);
        acme.happens_in_sandbox().await;
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        assert!(receiver.take().is_empty());
        let [told] = &world.outbox.letters()[..] else { panic!("one mail to the owner") };
        assert_eq!(
            (told.to.as_str(), told.subject.as_str()),
            ("olga@rookery.example", "A webhook was turned off")
        );
        let states: Vec<String> =
            acme.log(made.webhook, LogFilter::default()).await.into_iter().map(|entry| entry.state).collect();
        assert_eq!(states.iter().filter(|state| *state == "pending").count(), 0, "{states:?}");
        assert_eq!(states.iter().filter(|state| *state == "skipped").count(), 1, "{states:?}");
        acme.resume(made.webhook).await;
        world.work().await;
        assert!(receiver.take().is_empty(), "what was skipped is not sent by itself");
        acme.happens_in_sandbox().await;
        world.work().await;
        receiver.only();
        assert_eq!(acme.notices().await.len(), 1);
    })
    .await;
}

/// proves: WH-20, WH-21
#[tokio::test]
async fn a_day_of_failures_without_one_success_pauses() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        let fails = async || {
            receiver.answers(500);
            acme.happens_in_sandbox().await;
            world.work().await;
            receiver.take();
            acme.state(made.webhook).await.state
        };
        assert_eq!(fails().await, WebhookState::Active);
        world.wait(TimeDelta::hours(23));
        assert_eq!(fails().await, WebhookState::Active);
        // One success clears the clock, however long it failed before.
        receiver.answers(200);
        acme.happens_in_sandbox().await;
        world.work().await;
        world.sql("delete from deliveries").await;
        world.wait(TimeDelta::hours(2));
        assert_eq!(fails().await, WebhookState::Active, "failing since now");
        let began = world.now();
        world.sql("delete from deliveries").await;
        work_at(world, began + TimeDelta::hours(24) - TimeDelta::seconds(1)).await;
        assert_eq!(fails().await, WebhookState::Active, "a second short of a day");
        assert_eq!(acme.notices().await, []);
        world.wait(TimeDelta::seconds(1));
        assert_eq!(fails().await, WebhookState::Paused);
        let notices = acme.notices().await;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert_eq!(notices[0].1, "webhook-paused");

        receiver.answers(200);
        acme.happens_in_sandbox().await;
        world.wait(TimeDelta::hours(1));
        world.work().await;
        assert!(receiver.take().is_empty(), "nothing is sent while it is paused");
        acme.resume(made.webhook).await;
        world.work().await;
        assert!(receiver.take().is_empty(), "nor what waited, after the resume");
        // The failure clock starts anew.
        assert_eq!(fails().await, WebhookState::Active);
        receiver.answers(200);
        acme.happens_in_sandbox().await;
        world.work().await;
        assert_eq!(receiver.take().len(), 1);
    })
    .await;
}

/// proves: WH-20
#[tokio::test]
async fn owners_are_told_when_the_maker_is_gone() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada Admin", rookery_core::workspace::people::Role::Admin).await;
        acme.person("Otto Owner", rookery_core::workspace::people::Role::Owner).await;
        let receiver = Receiver::start().await;
        let scope = rookery_webhooks::webhook::Scope::Team;
        acme.webhook_of(ada, &receiver.url, Mode::Test, scope, &[]).await.unwrap();
        world.sql(&format!("update people set removed_at = now() where id = {}", ada.0)).await;
        receiver.answers(410);
        acme.happens_in_sandbox().await;
        world.work().await;
        let recipients: Vec<String> = acme.notices().await.into_iter().map(|notice| notice.0).collect();
        assert_eq!(recipients, ["olga@rookery.example", "otto.owner@rookery.example"]);
    })
    .await;
}

/// Its secret cannot be read: an error of ours, which counts like a receiver that fails.
#[tokio::test]
async fn a_webhook_that_cannot_be_used_uses_up_its_tries_and_is_paused_and_others_are_served() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let broken = acme.webhook(&receiver.url, Mode::Test).await;
        let fine = acme.webhook(&receiver.url, Mode::Test).await;
        world.sql(&format!("update webhooks set secret = '\\x00' where id = {}", broken.webhook.0)).await;
        acme.happens_in_sandbox().await;
        world.work().await;
        receiver.only();
        assert_eq!(acme.log(fine.webhook, LogFilter::default()).await[0].state, "delivered");
        for tries in 1..=9 {
            let entry = acme.log(broken.webhook, LogFilter::default()).await.remove(0);
            let told = entry.tries.as_array().unwrap();
            assert_eq!((told.len(), &told[0]["error"]), (tries, &serde_json::json!("internal error")));
            if tries < 9 {
                work_at(world, next(&entry)).await;
            }
        }
        let entry = acme.log(broken.webhook, LogFilter::default()).await.remove(0);
        assert_eq!((entry.state.as_str(), entry.next_try_at), ("failed", None));
        world.wait(TimeDelta::hours(6));
        acme.happens_in_sandbox().await;
        world.work().await;
        assert_eq!(acme.state(broken.webhook).await.state, WebhookState::Paused);
        assert_eq!(acme.notices().await.len(), 1, "its maker is told");
    })
    .await;
}

/// proves: WH-21, WH-24
#[tokio::test]
async fn a_paused_webhook_gets_only_the_test_somebody_asks_for_and_that_once() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        receiver.answers(500);
        acme.happens_in_sandbox().await;
        world.work().await;
        receiver.only();
        acme.pause(made.webhook).await;
        acme.happens_in_sandbox().await;
        acme.test(made.webhook).await;
        world.work().await;
        assert_eq!(receiver.only().json()["type"], "webhook.test");
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert!(receiver.take().is_empty(), "one try, no retry");
        let entries = acme.log(made.webhook, LogFilter::default()).await;
        let mut states: Vec<(&str, usize)> = entries
            .iter()
            .map(|entry| (entry.state.as_str(), entry.tries.as_array().unwrap().len()))
            .collect();
        states.sort();
        assert_eq!(states, [("failed", 1), ("failed", 1), ("skipped", 0)]);
        assert_eq!(acme.state(made.webhook).await.state, WebhookState::Paused);
    })
    .await;
}
