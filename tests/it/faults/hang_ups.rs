//! Clients that hang up in the middle, beside a workspace that lets nobody in although it has work due: no
//! connection goes back to the pool inside a transaction, and none serves what an earlier borrower began.

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use rookery::worker;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::world::{Mode, World, story_with};

const HANG_UPS: usize = 2_000;
const AT_ONCE: usize = 16;
const CONNECTIONS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_hang_ups_beside_a_fenced_workspace_leave_no_transaction_behind() {
    let settings = [("RATE_LIMIT_REQUESTS", "10000000"), ("DATABASE_CONNECTIONS", "5")];
    story_with(&settings, async |world| {
        let (acme, fenced) = (world.workspace("Acme").await, world.workspace("Fenced").await);
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let revoked = acme.key("old", "read", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Where is my parcel?" })).await;
        let other = fenced.key("bot", "read,write,draft,send", Mode::Test).await;
        let due = other.simulate(json!({ "from": "ben@customer.test", "text": "Hello" })).await;
        other.sends(&due, "Hello Ben").await;
        world.wait(TimeDelta::minutes(1));
        fence(world, "fenced_at = now()").await;

        let app = world.app.clone();
        let working = tokio::spawn(worker::run(app));
        for round in 0..HANG_UPS / AT_ONCE {
            let cut = (0..AT_ONCE).map(|number| {
                let request = request(&key.text, &id, round * AT_ONCE + number);
                hang_up(world, request, (round * 7 + number * 13) % 23)
            });
            join_all(cut).await;
            if round == HANG_UPS / AT_ONCE / 2 {
                acme.revoke(&revoked).await;
            }
        }
        // The loops are cut off too, wherever they are.
        working.abort();

        let mut open = vec![(0, String::new())];
        for _ in 0..100 {
            open = sqlx::query_as(
                "select pid, state from pg_stat_activity
                 where datname = current_database() and application_name = 'rookery' and pid <> pg_backend_pid()
                   and state <> 'idle'",
            )
            .fetch_all(&world.app.pool)
            .await
            .expect("activity can be read");
            if open.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(open, [], "every connection is idle and outside a transaction");
        let asked = join_all((0..4 * CONNECTIONS).map(|_| revoked.get("/me"))).await;
        assert!(asked.iter().all(|reply| reply.status == 401), "a revoked key is refused by every connection");
        let asked = join_all((0..4 * CONNECTIONS).map(|_| key.get("/me"))).await;
        assert!(asked.iter().all(|reply| reply.status == 200), "a key that stands is served by every connection");
        fence(world, "fenced_at = null").await;
        // What could not be done there was put off.
        world.wait(TimeDelta::hours(1));
    })
    .await;
}

async fn fence(world: &World, change: &str) {
    world.sql(&format!("update workspaces set {change} where name = 'Fenced'")).await;
}

fn request(key: &str, conversation: &str, number: usize) -> String {
    let (method, path, body) = match number % 4 {
        0 => ("GET", format!("/conversations/{conversation}"), String::new()),
        1 => ("GET", "/conversations?q=parcel".to_owned(), String::new()),
        2 => ("POST", format!("/conversations/{conversation}/notes"), json!({ "body": "Hm." }).to_string()),
        _ => {
            let status = if number % 8 == 3 { "closed" } else { "open" };
            ("POST", format!("/conversations/{conversation}/status"), json!({ "status": status }).to_string())
        }
    };
    let length = body.len();
    format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Sends the request and is gone so many milliseconds later, whatever has become of it.
async fn hang_up(world: &World, request: String, milliseconds: usize) {
    let address = world.address.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("the request leaves");
    tokio::time::sleep(Duration::from_millis(milliseconds as u64)).await;
    let _ = stream.set_zero_linger();
    drop(stream);
}
