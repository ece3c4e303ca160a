//! Mail into loaded workspaces, replies to what is there, their way to a relay, and the webhooks of one of the workspaces:
//! a whole node in this process, with a relay and a receiver that say yes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use futures::StreamExt;
use futures::stream::iter;
use rookery::routes;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{MailboxId, PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_core::workspace::access::By;
use rookery_core::workspace::mailboxes;
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::Delivery;
use rookery_mail::incoming::receive::receive;
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::webhook::Scope;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::counted::Counted;
use super::{at, shown};
use rookery_world::load::texts::{Dice, Vocabulary};
use rookery_world::load::{Loaded, SECRET};

const CLIENTS: usize = 4;
const MAILS: usize = 2_000;
const REPLIES: usize = 500;

pub async fn print(url: &str, all: &[Loaded]) {
    let (relay, received) = (Counted::new("relay").await, Counted::new("webhooks").await);
    let folder = tempfile::tempdir().expect("a folder for files");
    let given = [
        ("DATABASE_URL", url.to_owned()),
        ("BLOBS", format!("file://{}", folder.path().display())),
        ("SECRET_KEY", SECRET.to_owned()),
        ("WEBHOOK_ALLOW", "127.0.0.0/8".to_owned()),
        ("RELAY", format!("smtp://127.0.0.1:{}?tls=none", relay.port)),
        ("UNDO_WINDOW_SECONDS", "1".to_owned()),
        ("RATE_LIMIT_REQUESTS", "1000000000".to_owned()),
    ]
    .map(|(name, value)| (format!("ROOKERY_{name}"), value));
    let config = Config::load(None, given.into_iter()).expect("the settings are sound");
    let app = Arc::new(App::new(config, Clock::system(), Random::system()).expect("an app"));
    let large = WorkspaceId(all[0].workspace);
    let address = format!("http://127.0.0.1:{}/", received.port);
    let maker = PersonId(all[0].audiences[1]);
    let wanted = WebhookParameters { maker, url: &address, livemode: true, scope: Scope::Team, kinds: &[] };
    create(&app, large, &By::System, wanted).await.expect("a webhook");
    tokio::spawn(worker::run(app.clone()));

    println!("\nA whole node in one thread, {CLIENTS} clients; what it takes until it is committed, in ms");
    println!("| done | how many | p50 | p99 | a second |\n|---|--:|--:|--:|--:|");
    let mails = mails(&app, all).await;
    timed("mail taken in, by all workspaces", mails.map(|mail| take(&app, mail))).await;
    let router = routes::router(app.clone());
    let replies = answered(&router, all).await.into_iter().map(|(key, path)| {
        let router = router.clone();
        async move {
            let body = json!({ "body": "Thank you, it is on its way.", "send": true }).to_string();
            let (status, said) = ask(&router, Request::post(path), &key, body).await;
            assert_eq!(status, StatusCode::CREATED, "{said}");
        }
    });
    timed("reply that leaves after a second", replies).await;
    for counted in [relay, received] {
        counted.print().await;
    }
}

/// Runs them, a few at a time, and prints how long each took.
async fn timed<F: Future<Output = ()>>(name: &str, work: impl Iterator<Item = F>) {
    let began = Instant::now();
    let mut times: Vec<Duration> = iter(work)
        .map(async |one| {
            let started = Instant::now();
            one.await;
            started.elapsed()
        })
        .buffer_unordered(CLIENTS)
        .collect()
        .await;
    let took = began.elapsed().as_secs_f64();
    times.sort();
    let (count, middle) = (times.len(), shown(&times, 0.5));
    println!("| {name} | {count} | {middle} | {} | {:.0} |", shown(&times, 0.99), count as f64 / took);
    assert!(at(&times, 1.0) < Duration::from_secs(60), "{name}: one took {:?}", at(&times, 1.0));
}

/// A third of it for the large workspace.
async fn mails(app: &App, all: &[Loaded]) -> impl Iterator<Item = (WorkspaceId, Delivery)> {
    let (vocabulary, mut dice) = (Vocabulary::new(), Dice::new(7));
    let mut conn = app.connection().await.expect("a connection");
    let mut mails = Vec::new();
    for number in 0..MAILS {
        let into = &all[if number % 3 == 0 { 0 } else { dice.below(all.len()) }];
        let (workspace, mailbox) = (WorkspaceId(into.workspace), into.mailbox.parse::<MailboxId>());
        let mailbox = mailboxes::live(&mut conn, workspace, mailbox.expect("an id")).await.expect("an inbox");
        let raw = format!(
            "Message-ID: <{}@outside.example>\r\nFrom: {} <someone@outside.example>\r\nSubject: {}\r\n\r\n{}\r\n",
            app.random.hex(16),
            vocabulary.name(&mut dice),
            vocabulary.text(&mut dice, 5),
            vocabulary.text(&mut dice, 60)
        );
        mails.push((workspace, Delivery::from_raw(mailbox, raw.into_bytes(), Dmarc::Pass)));
    }
    mails.into_iter()
}

async fn take(app: &App, (workspace, mail): (WorkspaceId, Delivery)) {
    receive(app, workspace, mail).await.expect("the mail is stored");
}

/// Conversations that were closed long ago, of many workspaces: key and path of a reply.
async fn answered(router: &axum::Router, all: &[Loaded]) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for of in all.iter().cycle() {
        let list = Request::get("/api/v1/conversations?view=closed&limit=10");
        let (status, said) = ask(router, list, &of.key, String::new()).await;
        assert_eq!(status, StatusCode::OK, "{said}");
        let listed: Value = serde_json::from_str(&said).expect("JSON");
        for conversation in listed.as_array().expect("a list") {
            let id = conversation["id"].as_str().expect("an id");
            paths.push((of.key.clone(), format!("/api/v1/conversations/{id}/replies")));
            if paths.len() == REPLIES {
                return paths;
            }
        }
    }
    paths
}

async fn ask(
    router: &axum::Router,
    request: axum::http::request::Builder,
    key: &str,
    body: String,
) -> (StatusCode, String) {
    let request = request.header(header::AUTHORIZATION, format!("Bearer {key}")).body(Body::from(body));
    let response = router.clone().oneshot(request.expect("a request")).await.expect("the router answers");
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    (status, String::from_utf8_lossy(&body).into_owned())
}
