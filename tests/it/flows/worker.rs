//! The worker as an operator sees it: how far it is behind, how it stops, and the days it keeps.

use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use futures::future::BoxFuture;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::random::Random;
use rookery_base::relay::mailer::{FinalMail, Handover, Mailer, OutgoingLetter};
use rookery_base::shutdown::Stop;
use rookery_mail::outgoing::send;
use serde_json::json;

use rookery_world::UNHURRIED;
use rookery_world::{Mode, story, story_with};

#[tokio::test]
async fn the_lag_of_every_loop_is_told_and_is_the_wait_of_its_oldest_row() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,send", Mode::Test).await;
        let id = key.simulate(json!({ "from": "reply@x.test", "text": "Hello" })).await;
        world.work().await;
        let lags = async || worker::metrics::text(&world.app).await;
        let quiet = lags().await;
        for name in [
            "send",
            "send in the sandbox",
            "answer in the sandbox",
            "wake snoozed",
            "index words",
            "fold counts",
        ] {
            assert!(quiet.contains(&format!("rookery_loop_lag_seconds{{loop=\"{name}\"}} ")), "{quiet}");
        }
        assert!(
            quiet
                .lines()
                .filter(|line| line.starts_with("rookery_loop_lag"))
                .all(|line| line.ends_with(" 0.000")),
            "{quiet}"
        );
        key.sends(&id, "Hello.").await;
        world.work().await;
        world.wait(TimeDelta::milliseconds(5_000 + 90_250));
        let late = lags().await;
        assert!(late.contains("rookery_loop_lag_seconds{loop=\"send in the sandbox\"} 90.250\n"), "{late}");
        world.work().await;
        assert!(lags().await.contains("rookery_loop_lag_seconds{loop=\"send in the sandbox\"} 0.000\n"));
    })
    .await;
}

/// A mailer that triggers the shutdown during its first handover.
struct LastMail(Stop, Mutex<usize>);

impl Mailer for LastMail {
    fn hand_over<'a>(&'a self, _: &'a OutgoingLetter, _: &'a FinalMail) -> BoxFuture<'a, Result<Handover>> {
        *self.1.lock().unwrap() += 1;
        self.0.tell();
        Box::pin(async { Ok(Handover::Accepted) })
    }
}

#[tokio::test]
async fn a_node_that_is_told_to_stop_finishes_what_it_began_and_gives_back_the_rest() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        for _ in 0..3 {
            key.sends(id, "Hello.").await;
        }
        world.wait(TimeDelta::minutes(10));
        let mut leaving =
            App::new(world.app.config.clone(), world.app.clock.clone(), Random::seeded(8)).unwrap();
        let last = Arc::new(LastMail(leaving.stop.clone(), Mutex::new(0)));
        leaving.mailer = last.clone();
        send::send_due(&leaving, 1).await.unwrap();
        assert_eq!(*last.1.lock().unwrap(), 1);
        assert_eq!(world.events("message.sent").await.len(), 1, "what was begun is written down");
        // At the same instant: nobody waits for a lease to end.
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 2);
        assert_eq!(world.events("message.sent").await.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn days_are_made_ahead_and_dropped_after_thirty() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let days = async || -> Vec<String> {
            sqlx::query_scalar("select inhrelid::regclass::text from pg_inherits where inhparent = 'events'::regclass order by 1")
                .fetch_all(&world.app.pool)
                .await
                .unwrap()
        };
        let expected = ["20310105", "20310106", "20310107", "20310108", "20310109", "20310110", "20310111", "20310112", "20310113"];
        assert_eq!(days().await[..9], expected.map(|day| format!("events_{day}")));
        let mail = json!({ "from": "ada@x.test", "text": "Hello" });
        key.simulate(mail.clone()).await;
        // Nobody made days for a while: what happens then is taken along when they are made.
        world.wait(TimeDelta::days(20));
        key.simulate(mail.clone()).await;
        let strays = async || -> i64 {
            sqlx::query_scalar("select count(*) from events_default").fetch_one(&world.app.pool).await.unwrap()
        };
        assert_eq!(strays().await, 1);
        world.work().await;
        assert_eq!((strays().await, world.event_count().await), (0, 2));
        world.wait(TimeDelta::days(10));
        world.work().await;
        assert_eq!(world.event_count().await, 2, "the thirtieth day is kept");
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!(world.event_count().await, 1, "the thirty-first is dropped");
        assert!(!days().await.contains(&"events_20310106".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn files_that_no_row_names_are_removed_two_days_later_and_no_other_is() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let content = "A".repeat(120_000);
        let file = json!({ "filename": "notes.txt", "contentType": "text/plain", "content": content });
        let mail = json!({ "from": "ada@x.test", "text": "Hello", "attachments": [file] });
        key.simulate(mail.clone()).await;
        let kept = world.files();
        assert_eq!(kept.len(), 2, "a file, and a mail that is too large for its row");
        let orphan = world.app.blobs.put(acme.id, "mail", [b"lost".to_vec().into()]).await.unwrap().key;
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert!(world.app.blobs.get(&orphan).await.is_ok(), "its row may still be on its way");
        world.wait(TimeDelta::days(1));
        let fresh = world.app.blobs.put(acme.id, "mail", [b"new".to_vec().into()]).await.unwrap().key;
        world.work().await;
        assert!(world.app.blobs.get(&orphan).await.is_err());
        assert!(world.app.blobs.get(&fresh).await.is_ok());
        assert!(kept.is_subset(&world.files()));
    })
    .await;
}
