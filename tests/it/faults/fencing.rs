//! A node that was paused for longer than its lease comes back and wants to write what it did. Another node
//! has done it meanwhile: the late write is refused, and nothing of what is written changes.

use std::time::Duration;

use serde_json::{Value, json};

use rookery_world::Reply;
use rookery_world::site::{Site, text, until};

/// A third of it is for the handover: the first node has to be stopped within that, or it gives up by itself.
const LEASE: &[(&str, &str)] =
    &[("ROOKERY_LEASE_SECONDS", "12"), ("ROOKERY_SANDBOX_UNDO_WINDOW_SECONDS", "1")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_slept_through_its_lease_cannot_overwrite_what_another_finished() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let first = site.serve("first", LEASE).await;
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();

    // The table is locked, so that the first node is blocked in the middle of its handover.
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut held = pool.begin().await.unwrap();
    sqlx::query("lock table sandbox_mail in exclusive mode").execute(&mut *held).await.unwrap();
    let post = async |path: &str, body: Value| {
        let request = site.http.post(format!("{}/api/v1{path}", first.address)).bearer_auth(&key).json(&body);
        Reply::of(request).await.json()
    };
    let made = post("/sandbox/inbound", json!({ "from": "ada@customer.test", "text": "Hello" })).await;
    let conversation = text(&made, "conversationId");
    let path = format!("/conversations/{conversation}/replies");
    let message = text(&post(&path, json!({ "body": "Hello.", "send": true })).await, "messageId");
    let caught = "select exists (select from pg_stat_activity
                      where datname = current_database() and wait_event_type = 'Lock'
                        and query like 'insert into sandbox_mail%')";
    until(&pool, caught).await;
    first.signal("-STOP");
    held.rollback().await.unwrap();

    let second = site.serve("second", LEASE).await;
    until(&pool, "select exists (select from messages where status = 'sent')").await;
    let read =
        async || site.get(&second, &format!("/api/v1/conversations/{conversation}"), &key).await.json();
    let events = async || -> Vec<String> {
        sqlx::query_scalar("select body from events order by 1").fetch_all(&pool).await.unwrap()
    };
    let (before, told) = (read().await, events().await);
    assert_eq!(before["status"], "waiting");

    first.signal("-CONT");
    for _ in 0..100 {
        if first.log().contains("a lease was lost") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(first.log().contains("a lease was lost"), "it came back: {}", first.log());
    assert_eq!(read().await, before);
    assert_eq!(events().await, told);
    // If the first node's handover succeeded too, the table has the mail twice, under one Message-ID.
    let ledger: Vec<String> =
        sqlx::query_scalar("select rfc_message_id from sandbox_mail").fetch_all(&pool).await.unwrap();
    assert!(matches!(ledger.len(), 1 | 2), "{ledger:?}");
    assert!(ledger.iter().all(|name| *name == ledger[0] && name.starts_with(&message)), "{ledger:?}");
}
