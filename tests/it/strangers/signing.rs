//! Signatures: a request to the hook of a connected service costs one computation over its body, however many
//! signatures it names, and counts towards the service's limit only when it is signed.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rookery_base::limits::rate::RateKey;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::connect::{Connected, WantedService, connect};
use serde_json::json;
use standardwebhooks::Webhook;

use rookery_world::programs::raw::{answer, said, socket};
use rookery_world::{Reply, Workspace, World, story_with};

/// How long twenty requests of 256 KB take with such signatures, and their code.
async fn told(address: &str, path: &str, seconds: i64, signatures: &str) -> (Duration, u16) {
    let started = Instant::now();
    let mut code = 0;
    for _ in 0..20 {
        code = tell(address, path, seconds, signatures).await;
    }
    (started.elapsed(), code)
}

async fn tell(address: &str, path: &str, seconds: i64, signatures: &str) -> u16 {
    let body = " ".repeat(256 << 10);
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\
         webhook-id: n1\r\nwebhook-timestamp: {seconds}\r\nwebhook-signature: {signatures}\r\n\r\n",
        body.len()
    );
    let mut stream = said(socket(address), head.as_bytes()).await;
    // A head that is too long is refused before the body comes.
    let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, body.as_bytes()).await;
    answer(&mut stream).await.expect("an answer").0
}

#[tokio::test]
async fn thousands_of_signatures_cost_no_more_than_one_and_the_sixth_is_not_looked_at() {
    story_with(&[("WEBHOOK_ALLOW", "127.0.0.0/8")], async |world| {
        let acme = world.workspace("Acme").await;
        let made = connected(world, &acme).await;
        let path = made.hook.replace("https://rookery.example", "");
        let seconds = world.now().timestamp();
        let wrong = format!("v1,{}=", "A".repeat(43));
        let (one, code) = told(&world.address, &path, seconds, &wrong).await;
        assert_eq!(code, 401);
        // As many as a head can hold, and more.
        for (count, wanted) in [(1000, 401), (5000, 431)] {
            let many = vec![wrong.as_str(); count].join(" ");
            let (took, code) = told(&world.address, &path, seconds, &many).await;
            println!("20 requests with one signature took {one:?}, with {count} {took:?} ({code})");
            assert!(took < one * 5 + Duration::from_secs(1), "{count} took {took:?}, one {one:?}");
            assert_eq!(code, wanted);
        }
        let body = order("order-1");
        let right = Webhook::new(&made.secret).unwrap().sign("n1", seconds, body.as_bytes()).unwrap();
        for (before, code) in [(5, 401), (4, 201), (0, 200)] {
            let signatures = [vec![wrong.as_str(); before], vec![right.as_str()]].concat().join(" ");
            let reply = posts(world, &path, seconds, &signatures, &body).await;
            assert_eq!(reply.status, code, "after {before} others");
        }
    })
    .await;
}

#[tokio::test]
async fn a_service_tells_so_much_a_minute_and_strangers_cannot_use_that_up() {
    story_with(&[("WEBHOOK_ALLOW", "127.0.0.0/8")], async |world| {
        let acme = world.workspace("Acme").await;
        let made = connected(world, &acme).await;
        let path = made.hook.replace("https://rookery.example", "");
        let tells = async |name: &str| {
            let (body, seconds) = (order(name), world.now().timestamp());
            let right = Webhook::new(&made.secret).unwrap().sign("n1", seconds, body.as_bytes()).unwrap();
            posts(world, &path, seconds, &right, &body).await
        };
        for _ in 0..50 {
            let wrong = format!("v1,{}=", "A".repeat(43));
            assert_eq!(posts(world, &path, world.now().timestamp(), &wrong, &order("x")).await.status, 401);
        }
        let (limit, subject) = (world.app.config.told_mail_limit(), RateKey::ToldMail(acme.id, made.id));
        let mut conn = world.app.connection().await.unwrap();
        for _ in 1..limit.most {
            let taken = world.app.rate.take(&mut conn, subject, limit, world.now()).await.unwrap();
            assert!(taken.is_ok());
        }
        assert_eq!(tells("order-1").await.status, 201, "what is not signed was not counted");
        let refused = tells("order-2").await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")));
        world.wait(TimeDelta::seconds(61));
        assert_eq!(tells("order-2").await.status, 201);
    })
    .await;
}

async fn connected(world: &World, acme: &Workspace<'_>) -> Connected {
    let content_url = "http://127.0.0.1:9/emails/{id}";
    let wanted = WantedService {
        person: acme.owner,
        name: "Mailer",
        provider: Provider::Own,
        content_url,
        token: "token",
        key: "",
    };
    connect(&world.app, acme.id, wanted).await.expect("a connection")
}

fn order(name: &str) -> String {
    json!({
        "messageId": format!("<{name}@shop.example>"), "to": ["anna@customer.example"], "subject": "Your order",
        "sentAt": "2031-01-06T08:30:00Z",
    })
    .to_string()
}

async fn posts(world: &World, path: &str, seconds: i64, signatures: &str, body: &str) -> Reply {
    let request = world.ask("POST", path).header("webhook-id", "n1").body(body.to_owned());
    Reply::of(request.header("webhook-timestamp", seconds).header("webhook-signature", signatures)).await
}
