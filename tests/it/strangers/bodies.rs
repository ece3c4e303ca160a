//! Bodies: nobody reads one before the key is judged, none may drip, and all of them together have a budget.

use futures::future::join_all;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

use rookery_world::Reply;
use rookery_world::programs::raw::{LONG, answer, made_up, memory, said, socket};
use rookery_world::site::Site;

/// The largest body there is.
const LARGE: usize = 16 << 20;
const INBOUND: &str = "/api/v1/sandbox/inbound";

fn head(key: &str, bytes: usize) -> String {
    format!(
        "POST {INBOUND} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Length: {bytes}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_large_bodies_with_made_up_keys_take_no_memory_and_keep_nobody_waiting() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let node = site.serve("one", &[]).await;
    assert_eq!(site.get(&node, "/api/v1/me", &key).await.status, 200);
    let before = memory(&node, "VmRSS");
    let address = socket(&node.address);
    let strangers = join_all((0..100).map(async |number| {
        let stream = said(address, head(&made_up(number), LARGE).as_bytes()).await;
        let (mut reading, mut writing) = stream.into_split();
        let sending = tokio::spawn(async move {
            let part = vec![b' '; 64 << 10];
            for _ in 0..LARGE / part.len() {
                // It need not take them.
                if writing.write_all(&part).await.is_err() {
                    break;
                }
            }
            writing
        });
        let answer = answer(&mut reading).await;
        sending.abort();
        answer
    }));
    let honest = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let started = Instant::now();
        let mut codes = Vec::new();
        for _ in 0..20 {
            codes.push(site.get(&node, "/api/v1/me", &key).await.status);
        }
        (codes, started.elapsed())
    };
    let (answers, (codes, took)) = futures::join!(strangers, honest);
    for answer in answers {
        assert_eq!(answer.map(|(code, _)| code), Some(401));
    }
    assert_eq!(codes, [200; 20], "the right key is served from the same address");
    assert!(took < LONG, "it took {took:?}");
    let grown = memory(&node, "VmHWM").saturating_sub(before) / 1024;
    println!("the process grew by {grown} MB at most");
    assert!(grown < 50, "the process grew by {grown} MB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_drips_is_given_up() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let node = site.serve("one", &[("ROOKERY_HTTP_TIMEOUT_SECONDS", "2")]).await;
    let started = Instant::now();
    let stream = said(socket(&node.address), head(&key, 100_000).as_bytes()).await;
    let (mut reading, mut writing) = stream.into_split();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let (code, text) = answer(&mut reading).await.expect("an answer");
    dripping.abort();
    let wanted = json!({ "error": "request body: took too long to arrive" }).to_string();
    assert_eq!((code, text), (400, wanted));
    assert!(started.elapsed() < LONG, "it took {:?}", started.elapsed());
    let whole = json!({ "from": "anna@customer.test", "subject": "Hello", "text": "Hello" });
    let request = site.http.post(format!("{}{INBOUND}", node.address)).bearer_auth(&key).json(&whole);
    assert_eq!(Reply::of(request).await.status, 201);
}
