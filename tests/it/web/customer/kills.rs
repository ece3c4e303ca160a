//! Nodes are killed fifty times while customers send files. What a page called "received" is there, byte for byte; whatever
//! was cut off is sent again; each request is completed once.

use std::time::Duration;

use rookery_base::secrets::hashes::sha256;
use serde_json::json;
use sqlx::{PgPool, Row};

use rookery_world::pages::customer::pdf;
use rookery_world::site::Site;

const KILLS: u32 = 50;
const ITEMS: usize = 6;
/// In milliseconds: some kills meet the first file on its way, others come after several were received.
const LONGEST_PAUSE: u64 = 2500;

fn form(file: &[u8]) -> Vec<u8> {
    let head = b"--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n";
    [&head[..], file, b"\r\n--edge--\r\n"].concat()
}

/// Sends a file; true when the page says that it is received.
async fn sends(http: &reqwest::Client, url: &str, file: &[u8]) -> bool {
    let request =
        http.post(url).header("content-type", "multipart/form-data; boundary=edge").body(form(file));
    request.send().await.is_ok_and(|answer| answer.status() == 303)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "fifty kills take minutes: just kill-uploads"]
async fn what_was_called_received_is_there_after_fifty_kills() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20))
        .build()
        .unwrap();
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let quick = [("ROOKERY_SANDBOX_UNDO_WINDOW_SECONDS", "0"), ("ROOKERY_RATE_LIMIT_REQUESTS", "100000")];
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut ledger: Vec<[u8; 32]> = Vec::new();
    let (mut killed, mut round, mut cut_off) = (0, 0, 0);
    while killed < KILLS {
        round += 1;
        let mut node = site.serve(&format!("node{round}"), &quick).await;
        // A request of this round, in the sandbox: its mail leaves at once.
        let post = async |path: &str, body: serde_json::Value| {
            // A killed node takes its share of the limit with it, so the next one may have to wait for more.
            loop {
                let request =
                    http.post(format!("{}/api/v1{path}", node.address)).bearer_auth(&key).json(&body);
                let answer = request.send().await.unwrap();
                if answer.status() == 429 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
                assert!(answer.status().is_success(), "{path}: {}", answer.status());
                break answer.json::<serde_json::Value>().await.unwrap();
            }
        };
        let made =
            post("/sandbox/inbound", json!({ "from": format!("ada{round}@customer.test"), "text": "Hello" }))
                .await;
        let conversation = made["conversationId"].as_str().expect("a conversation").to_owned();
        let documents: Vec<_> = (0..ITEMS).map(|n| json!({ "label": format!("Document {n}") })).collect();
        let asked = post(
            &format!("/conversations/{conversation}/document-requests"),
            json!({ "documents": documents, "send": true }),
        )
        .await;
        let request = asked["requestId"].as_str().unwrap().to_owned();
        let number = request.parse::<rookery_base::ids::DocumentRequestId>().unwrap().0;
        let link = loop {
            let row = sqlx::query(
                "select r.state, m.text from document_requests r join messages m on m.workspace_id = r.workspace_id and m.id = r.message_id
                 where r.id = $1",
            )
            .bind(number)
            .fetch_one(&pool)
            .await
            .unwrap();
            if row.get::<String, _>("state") == "open" {
                let text: String = row.get("text");
                let link =
                    text.split("/upload/").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
                break format!("/upload/{link}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let items: Vec<i64> = sqlx::query_scalar(
            "select id from document_request_items where request_id = $1 order by position",
        )
        .bind(number)
        .fetch_all(&pool)
        .await
        .unwrap();
        let files: Vec<Vec<u8>> =
            (0..ITEMS).map(|n| pdf(&format!("{round} {n} {}", "x".repeat(200_000 * (1 + n % 3))))).collect();
        let mut received = [false; ITEMS];
        while !received.iter().all(|is| *is) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let pause = Duration::from_millis((seed >> 33) % LONGEST_PAUSE);
            let address = node.address.clone();
            let sending = async {
                // Two tabs.
                let of = |half: usize| {
                    let (http, address, link, items, files) = (&http, &address, &link, &items, &files);
                    let todo: Vec<usize> = (half * 3..half * 3 + 3).filter(|n| !received[*n]).collect();
                    async move {
                        let mut done = Vec::new();
                        for n in todo {
                            let item = rookery_base::ids::RequestItemId(items[n]);
                            done.push((n, sends(http, &format!("{address}{link}/{item}"), &files[n]).await));
                        }
                        done
                    }
                };
                let (first, second) = tokio::join!(of(0), of(1));
                [first, second].concat()
            };
            let killing = async {
                tokio::time::sleep(pause).await;
                if killed < KILLS {
                    node.kill();
                    true
                } else {
                    false
                }
            };
            let (done, was_killed) = tokio::join!(sending, killing);
            for (n, is_received) in done {
                if is_received && !received[n] {
                    received[n] = true;
                    ledger.push(sha256(&files[n]));
                } else if !is_received {
                    cut_off += 1;
                }
            }
            if was_killed {
                killed += 1;
                node = site.serve(&format!("node{round}-{killed}"), &quick).await;
            }
        }
        let (events, state): (i64, String) = (
            sqlx::query_scalar(
                "select count(*) from events where kind = 'ask.completed' and body like '%' || $1 || '%'",
            )
            .bind(&request)
            .fetch_one(&pool)
            .await
            .unwrap(),
            sqlx::query_scalar("select state from document_requests where id = $1")
                .bind(number)
                .fetch_one(&pool)
                .await
                .unwrap(),
        );
        assert_eq!((events, state.as_str()), (1, "completed"), "round {round}");
    }
    // The ledger: every file that was called received has its document and its bytes.
    let rows = sqlx::query("select content_hash, blob from documents").fetch_all(&pool).await.unwrap();
    for hash in &ledger {
        let row = rows
            .iter()
            .find(|row| row.get::<Vec<u8>, _>("content_hash") == hash)
            .expect("its document is there");
        let bytes = std::fs::read(site.folder.join("blobs").join(row.get::<String, _>("blob")))
            .expect("its bytes are there");
        assert_eq!(&sha256(&bytes), hash, "its bytes are whole");
    }
    assert!(cut_off > 0, "no kill met a file on its way");
    assert!(ledger.len() >= KILLS as usize, "only {} files came through", ledger.len());
    println!(
        "{killed} kills, {} files called received and all there, {cut_off} cut off and sent again, {round} requests each completed once",
        ledger.len()
    );
    pool.close().await;
}
