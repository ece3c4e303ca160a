//! kill -9 while a backup is made, tried and restored: nothing half is ever taken for whole, and the next try succeeds.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Backed, Fresh, files, rows};

/// How long a command takes, so that kills fall into all of it.
fn timed(command: &mut std::process::Command) -> Duration {
    let began = Instant::now();
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    began.elapsed()
}

/// True when it was killed before it was done.
async fn killed_after(mut command: std::process::Command, time: Duration) -> bool {
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    tokio::time::sleep(time).await;
    let was_running = process.try_wait().unwrap().is_none();
    process.kill().unwrap();
    process.wait().unwrap();
    was_running
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_leaves_no_half_backup_and_no_half_restore() {
    let backed = Backed::start().await;
    backed.create();
    backed.mail("two", 60_000);
    let whole = timed(&mut backed.command(&["create"]));
    let count = |backed: &Backed| backed.backup(&["list"]).as_array().unwrap().len();

    let (steps, mut killed) = (12, 0);
    for step in 1..=steps {
        // So that there are files to copy.
        backed.mail(&format!("more-{step}"), 40_000);
        let before = count(&backed);
        if killed_after(backed.command(&["create"]), whole * step / steps).await {
            killed += 1;
            // It may have been whole already, and about to prune.
            assert!(count(&backed) <= before + 1);
            let listed = backed.backup(&["list"]);
            assert!(listed.as_array().unwrap().iter().all(|one| one["error"].is_null()), "{listed}");
        }
    }
    assert!(killed > steps / 3, "most kills came too late: {killed}");
    backed.create();
    let left = files(&backed.folder());
    let unfinished = left.keys().filter(|name| name.contains("/.")).filter(|name| !name.ends_with("/.lock"));
    assert_eq!(unfinished.count(), 0, "what a kill left is gone: {:?}", left.keys());
    let wanted = rows(backed.site.database.url()).await;
    let proving = timed(&mut backed.command(&["verify"]));
    for step in 1..=4 {
        killed_after(backed.command(&["verify"]), proving * step / 5).await;
    }
    backed.backup(&["verify"]);

    let fresh = Fresh::beside(&backed).await;
    let restoring = {
        let other = Fresh::beside(&backed).await;
        timed(&mut other.command(&backed, &["restore"]))
    };
    for step in 1..=8 {
        killed_after(fresh.command(&backed, &["restore"]), restoring * step / 10).await;
        // The server ends the transaction of a client that is gone when it next writes to it.
        let there = settled(fresh.database.url()).await;
        if !there.is_empty() {
            assert_eq!(there, wanted, "half of it is there after kill {step}");
        }
    }
    fresh.restore(&backed, &[]);
    assert_eq!(rows(fresh.database.url()).await, wanted);
    let mut stored = files(&backed.site.folder.join("blobs"));
    stored.retain(|name, _| !name.contains("/doctor/"));
    assert_eq!(files(&fresh.blobs), stored, "every file, and none that was half written");
}

/// What is there when nobody is connected any more.
async fn settled(url: &str) -> std::collections::BTreeMap<String, Vec<String>> {
    use sqlx::Connection;
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    for _ in 0..200 {
        let others: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        )
        .fetch_one(&mut conn)
        .await
        .unwrap();
        if others == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    conn.close().await.unwrap();
    rows(url).await
}
