//! Requests whose bodies do not come, from strangers and from one tenant, and calls that wait: they take places from each
//! other, and everybody else is served.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use rookery_world::programs::raw::{LONG, answer, said, socket};
use rookery_world::site::{Node, Site};
use rookery_world::{Mode, Reply, story_with};

/// Places for connections: fewer than those that owe something.
const PLACES: (&str, &str) = ("ROOKERY_HTTP_CONNECTIONS", "100");

/// The head of a request, of an address that the proxy of this machine tells.
fn owed(path: &str, from: &str, authorization: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {from}\r\n{authorization}\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 16000\r\n\r\n"
    )
}

/// Everybody honest meanwhile: keys, and a stranger whose form comes a moment after its head.
async fn all_are_served(site: &Site, node: &Node, key: &str) {
    for _ in 0..10 {
        let reply = tokio::time::timeout(LONG, site.get(node, "/api/v1/me", key)).await.expect("an answer");
        assert_eq!(reply.status, 200, "{}", reply.text);
        let body = "grant_type=refresh_token&client_id=none&refresh_token=none";
        let head = format!(
            "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = said(socket(&node.address), head.as_bytes()).await;
        tokio::time::sleep(Duration::from_millis(40)).await;
        stream.write_all(body.as_bytes()).await.unwrap();
        let (code, text) = answer(&mut stream).await.expect("an answer");
        assert_eq!((code, text.contains("invalid_grant")), (400, true), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_strangers_owe_keep_nobody_out() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let node = site.serve("one", &[PLACES]).await;
    let address = socket(&node.address);
    let owing: Vec<TcpStream> = join_all((0..300).map(async |number: usize| {
        let path = ["/oauth/token", "/sign-in", "/sign-in/password"][number % 3];
        said(address, owed(path, &format!("198.51.100.{}", number % 12), "").as_bytes()).await
    }))
    .await;
    all_are_served(&site, &node, &key).await;
    drop(owing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_one_tenant_owes_keep_no_other_out() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let other = site.admin(&[
        "create-workspace",
        "--name",
        "Globex",
        "--plan",
        "pro",
        "--owner-email",
        "gil@globex.example",
        "--owner-name",
        "Gil",
    ]);
    let [other, its_owner] = ["workspace", "owner"].map(|field| rookery_world::site::text(&other, field));
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let (_, evil) = site.key(&other, &its_owner, "bot", "test");
    let node = site.serve("one", &[PLACES, ("ROOKERY_RATE_LIMIT_REQUESTS", "100000")]).await;
    let address = socket(&node.address);
    let authorization = format!("Authorization: Bearer {evil}\r\n");
    let owing: Vec<TcpStream> = join_all((0..300).map(async |number: usize| {
        let from = format!("198.51.100.{}", number % 200);
        said(address, owed("/api/v1/sandbox/inbound", &from, &authorization).as_bytes()).await
    }))
    .await;
    all_are_served(&site, &node, &key).await;
    drop(owing);
}

/// With 160 places for connections a workspace has ten calls that wait, and ten more that wait for a moment.
#[tokio::test]
async fn calls_that_wait_end_no_other_of_their_workspace_and_none_of_others() {
    story_with(&[("HTTP_CONNECTIONS", "160")], async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let (key, other) =
            (acme.key("bot", "read", Mode::Test).await, globex.key("bot", "read,write", Mode::Test).await);
        let next = other.get("/events").await.json()["next"].as_str().unwrap().to_owned();
        let path = format!("/events?wait=15&after={next}");
        let waits = Reply::of(other.ask("GET", &path));
        let next = key.get("/events").await.json()["next"].as_str().unwrap().to_owned();
        let (began, path) = (Instant::now(), format!("/events?wait=15&after={next}"));
        let crowd = async {
            let mut asked: Vec<_> = (0..24).map(|_| Box::pin(Reply::of(key.ask("GET", &path)))).collect();
            let mut codes = Vec::new();
            for _ in 0..14 {
                let (reply, _, left) = futures::future::select_all(asked).await;
                codes.push(reply.status);
                let is_empty = reply.status == 200 && reply.json()["events"] == json!([]);
                assert!(is_empty || reply.status == 429, "{}", reply.text);
                assert!(
                    is_empty == (began.elapsed() > Duration::from_secs(1)),
                    "who has no place waits a moment"
                );
                asked = left;
            }
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "they waited a moment only: {:?}",
                began.elapsed()
            );
            assert_eq!(codes.iter().filter(|code| **code == 200).count(), 10, "{codes:?}");
            other.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
            world.work().await;
            asked
        };
        let (told, left) = futures::join!(waits, crowd);
        assert_eq!(told.status, 200);
        assert!(!told.json()["events"].as_array().unwrap().is_empty(), "it waited until something happened");
        assert_eq!(left.len(), 10, "those who had a place keep it");
    })
    .await;
}
