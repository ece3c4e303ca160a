//! What a receiver gets: the envelope, the headers, the signature; and which answers count.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName};
use chrono::TimeDelta;
use rookery_core::workspace::access::By;
use rookery_webhooks::log::LogFilter;
use rookery_webhooks::manage;
use serde_json::json;

use rookery_world::Mode;
use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::webhooks::{event_id, local_story};

/// proves: WH-5, WH-6, WH-7, WH-8, WH-9, WH-10, WH-11, WH-12, WH-15, SBX-8
#[tokio::test]
async fn an_event_arrives_as_one_signed_post() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&format!("{}?a=b", receiver.url), Mode::Test).await;
        let id = acme.happens_in_sandbox().await;
        world.work().await;

        let got = receiver.only();
        assert_eq!((got.method.as_str(), got.path.as_str()), ("POST", "/hook?a=b"));
        let body = got.json();
        let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["id", "type", "version", "created_at", "workspace", "livemode", "data"]);
        assert!(body["id"].as_str().unwrap().starts_with("evt_"));
        assert_eq!(body["version"], json!(1));
        assert_eq!(body["workspace"], json!(acme.id.to_string()));
        assert_eq!(body["livemode"], json!(false));
        assert_eq!((&body["type"], &body["data"]["conversation_id"]), (&json!("turn.changed"), &json!(id)));

        assert_eq!(got.header("webhook-id"), body["id"].as_str().unwrap());
        assert_eq!(got.header("webhook-timestamp"), world.now().timestamp().to_string());
        assert_eq!(got.header("content-type"), "application/json");
        assert_eq!(got.header("user-agent"), "Rookery-Webhooks/1");
        assert_eq!(got.signatures().len(), 1);
        assert!(got.verifies(&made.secret));
        let mut altered = got.clone();
        altered.body = [&got.body[..got.body.len() - 1], b" }"].concat().into();
        assert!(!altered.verifies(&made.secret), "one more space");
        let mut altered = got.clone();
        altered.headers.insert("webhook-timestamp", "1".parse().unwrap());
        assert!(!altered.verifies(&made.secret));
        let other = acme.webhook(&receiver.url, Mode::Live).await;
        assert!(!got.verifies(&other.secret));

        // Delivered is delivered.
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert!(receiver.take().is_empty());
    })
    .await;
}

/// proves: WH-14
#[tokio::test]
async fn for_a_day_after_a_rotation_both_secrets_sign() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let first = acme.webhook(&receiver.url, Mode::Test).await;
        let rotate =
            async || manage::rotate(&world.app, acme.id, &By::System, first.webhook).await.unwrap().secret;
        let delivered = async || {
            acme.happens_in_sandbox().await;
            world.work().await;
            receiver.only()
        };
        let second = rotate().await;
        assert!(second.starts_with("whsec_") && second != first.secret);
        world.wait(TimeDelta::hours(24) - TimeDelta::seconds(1));
        let got = delivered().await;
        assert_eq!(got.signatures().len(), 2);
        for (place, secret) in [(0, &second), (1, &first.secret)] {
            let mut alone = got.clone();
            alone.headers.insert("webhook-signature", got.signatures()[place].parse().unwrap());
            assert!(alone.verifies(secret) && got.verifies(secret), "signature {place}");
        }
        // Once more within the day: the oldest is dropped, there are never three.
        let third = rotate().await;
        let got = delivered().await;
        assert_eq!(got.signatures().len(), 2);
        assert!(got.verifies(&third) && got.verifies(&second) && !got.verifies(&first.secret));
        world.wait(TimeDelta::hours(24));
        let got = delivered().await;
        assert_eq!(got.signatures().len(), 1, "the day is over");
        assert!(got.verifies(&third) && !got.verifies(&second));
    })
    .await;
}

/// proves: WH-4, WH-15, WH-16
#[tokio::test]
async fn only_2xx_in_time_is_delivered_and_redirects_are_not_followed() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        let tried = async |answering: Answering| {
            receiver.answers_with(answering);
            acme.happens_in_sandbox().await;
            world.work().await;
            receiver.only();
            let entry = acme.log(made.webhook, LogFilter::default()).await.remove(0);
            world.wait(TimeDelta::milliseconds(1));
            (entry.state, entry.tries[0].clone())
        };
        for status in [200, 201, 202, 204, 299] {
            let (state, shown) = tried(Answering::with(status)).await;
            assert_eq!((state.as_str(), &shown["status"]), ("delivered", &json!(status)));
        }
        for status in [300, 400, 401, 404, 429, 500, 503] {
            let (state, shown) = tried(Answering::with(status)).await;
            assert_eq!((state.as_str(), &shown["status"]), ("pending", &json!(status)), "{status} fails");
        }
        for status in [301, 302, 303, 307, 308] {
            let location = Some(elsewhere.url.clone());
            let (state, shown) = tried(Answering { location, ..Answering::with(status) }).await;
            assert_eq!((state.as_str(), &shown["status"]), ("pending", &json!(status)));
        }
        assert!(elsewhere.take().is_empty(), "no redirect was followed");

        let started = Instant::now();
        let (state, shown) = tried(Answering { after: Duration::from_secs(5), ..Answering::with(200) }).await;
        assert_eq!((state.as_str(), &shown["error"]), ("pending", &json!("timeout")));
        assert!(started.elapsed() < Duration::from_secs(3), "it was given up after a second");
        let (state, _) = tried(Answering { after: Duration::from_millis(300), ..Answering::with(200) }).await;
        assert_eq!(state, "delivered", "slow, but in time");
    })
    .await;
}

/// proves: WH-16
#[tokio::test]
async fn a_connection_that_fails_is_a_failure() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = format!("http://{}/", nobody.local_addr().unwrap());
        drop(nobody);
        let made = acme.webhook(&closed, Mode::Test).await;
        // One that takes connections and says nothing HTTP would understand.
        let mumbling = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", mumbling.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = mumbling.accept().await {
                let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"220 mail.example ESMTP\r\n").await;
            }
        });
        let other = acme.webhook(&url, Mode::Test).await;
        acme.happens_in_sandbox().await;
        world.work().await;
        for (webhook, error) in [(made.webhook, "connection failed"), (other.webhook, "connection closed")] {
            let entry = acme.log(webhook, LogFilter::default()).await.remove(0);
            assert_eq!((entry.state.as_str(), &entry.tries[0]["error"]), ("pending", &json!(error)));
        }
    })
    .await;
}

/// proves: WH-6, WH-10, WH-29
#[tokio::test]
async fn every_try_has_the_same_id_and_bytes_and_a_time_of_its_own() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        let made = acme.webhook(&receiver.url, Mode::Test).await;
        receiver.answers(500);
        acme.happens_in_sandbox().await;
        for _ in 0..3 {
            world.work().await;
            world.wait(TimeDelta::minutes(20));
        }
        // The name in the summary changes; what was recorded does not.
        world.sql("update mailboxes set name = 'Renamed'").await;
        receiver.answers(200);
        world.work().await;
        acme.redeliver(made.webhook, event_id(&receiver.got()[0].json())).await.unwrap();
        world.wait(TimeDelta::seconds(1));
        world.work().await;
        let got = receiver.take();
        assert_eq!(got.len(), 5);
        let mut times: Vec<&str> = got.iter().map(|got| got.header("webhook-timestamp")).collect();
        times.dedup();
        assert_eq!(times.len(), 5, "{times:?}");
        for again in &got {
            assert_eq!(again.body, got[0].body);
            assert_eq!(again.header("webhook-id"), got[0].header("webhook-id"));
            assert!(again.verifies(&made.secret));
        }
    })
    .await;
}

/// proves: WH-30
#[tokio::test]
async fn a_change_that_is_taken_back_sends_nothing() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        acme.webhook(&receiver.url, Mode::Live).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read,write", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        world.work().await;
        receiver.only();
        // The commit itself fails, after every statement of the change went well.
        world
            .sql(
                "create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
                 create constraint trigger fail after update on conversations deferrable initially deferred
                     for each row execute function fail();",
            )
            .await;
        let assign = async || {
            let body = json!({ "to": "me" });
            key.post(&format!("/conversations/{id}/assign"), body).await.status
        };
        assert_eq!(assign().await, 500);
        world.work().await;
        assert!(receiver.take().is_empty());
        world.sql("drop function fail cascade").await;
        assert_eq!(assign().await, 200);
        world.work().await;
        assert_eq!(receiver.only().json()["type"], "conversation.assigned");
    })
    .await;
}

/// proves: WH-31
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_hangs_does_not_delay_another() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let (hanging, quick) = (Receiver::start().await, Receiver::start().await);
        hanging.answers_with(Answering { after: Duration::from_secs(60), ..Answering::with(200) });
        acme.webhook(&hanging.url, Mode::Test).await;
        acme.webhook(&quick.url, Mode::Test).await;
        for _ in 0..30 {
            acme.happens_in_sandbox().await;
        }
        let work = world.work();
        let watch = async {
            let started = Instant::now();
            while quick.count() < 30 {
                tokio::time::sleep(Duration::from_millis(5)).await;
                assert!(started.elapsed() < Duration::from_secs(5), "{} arrived", quick.count());
            }
            hanging.count()
        };
        let ((), held) = tokio::join!(work, watch);
        assert!(held <= 10, "{held} were tried at once at the one that hangs");
    })
    .await;
}

#[path = "../../clients/verify.rs"]
mod sample;

/// proves: WH-33
#[test]
fn the_verifiers_of_the_docs_are_those_that_are_tested() {
    // tests/clients runs these against real deliveries, the one in Rust is run below; the page shows the same text.
    let page = include_str!("../../../docs/webhooks.md");
    for sample in [
        include_str!("../../clients/verify.py"),
        include_str!("../../clients/verify.mjs"),
        include_str!("../../clients/verify.go"),
        include_str!("../../clients/verify.php"),
        include_str!("../../clients/verify.rb"),
        include_str!("../../clients/verify.rs"),
    ] {
        let sample = sample.split("# ---").next().unwrap().split("// ---").next().unwrap();
        let lines = sample.lines().skip_while(|line| line.starts_with("//!"));
        let sample = lines.collect::<Vec<_>>().join("\n");
        assert!(page.contains(sample.trim()), "docs/webhooks.md does not show:\n{sample}");
    }
}

#[test]
fn the_verifier_in_rust_takes_what_is_signed_and_nothing_else() {
    let (secret, other) =
        ("whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90");
    let body = br#"{"type":"webhook.test"}"#;
    let headers = |age: u64| -> HeaderMap {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() - age;
        let signed =
            standardwebhooks::Webhook::new(secret).unwrap().sign("evt_1", since as i64, body).unwrap();
        let values = [
            ("webhook-id", "evt_1".to_owned()),
            ("webhook-timestamp", since.to_string()),
            ("webhook-signature", signed),
        ];
        let named =
            |(name, value): (&'static str, String)| (HeaderName::from_static(name), value.parse().unwrap());
        values.into_iter().map(named).collect()
    };
    assert!(sample::verify(secret, &headers(290), body));
    assert!(!sample::verify(secret, &headers(310), body), "too old");
    assert!(!sample::verify(other, &headers(0), body), "another secret");
    assert!(!sample::verify(secret, &headers(0), b"{}"), "another body");
}
