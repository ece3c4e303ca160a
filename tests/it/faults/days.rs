//! Days are made and dropped beside somebody who reads for long, as a backup does: nobody waits for it.

use std::time::Duration;

use rookery_base::store::partitions;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use rookery_world::{Mode, World, story};

const LONG: Duration = Duration::from_secs(60);

async fn connect(world: &World) -> PgConnection {
    PgConnection::connect(&world.app.config.database_url.0).await.expect("a connection")
}

async fn run(conn: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(conn).await.expect(statement);
}

async fn has_day(world: &World, day: &str) -> bool {
    sqlx::query_scalar("select exists (select from pg_inherits where inhrelid = to_regclass($1))")
        .bind(format!("events_{day}"))
        .fetch_one(&world.app.pool)
        .await
        .unwrap()
}

/// Keeps the days while a reader holds them. Beside it everybody else reads and writes, and keeping gives up by itself.
async fn keep_beside_a_reader(world: &World, beside: impl AsyncFnOnce()) {
    let mut reader = connect(world).await;
    run(&mut reader, "begin; select count(*) from events; select count(*) from sandbox_mail").await;
    let mut keeper = connect(world).await;
    let keeping = tokio::spawn(async move { partitions::maintain(&mut keeper).await });
    // By now it has asked for its locks, and whoever comes later stands behind it.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut other = connect(world).await;
    run(&mut other, "set lock_timeout = '3s'").await;
    for _ in 0..20 {
        run(&mut other, "select count(*) from events").await;
        run(&mut other, "begin; delete from events where id = 1; rollback").await;
    }
    beside().await;
    let kept = tokio::time::timeout(LONG, keeping).await.expect("keeping does not wait for the reader");
    kept.unwrap().expect("what cannot be done now is no error");
    run(&mut reader, "select count(*) from events; commit").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_is_dropped_at_a_later_look_when_somebody_reads_it_and_nobody_waits() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        world
            .sql(
                "create table events_20200105 (like events including all);
                 alter table events attach partition events_20200105 for values from (1) to (2)",
            )
            .await;
        keep_beside_a_reader(world, async || {
            key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        })
        .await;
        assert!(has_day(world, "20200105").await, "it could not be dropped");
        world.work().await;
        assert!(!has_day(world, "20200105").await, "the later look drops it");
        assert!(world.event_count().await > 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_is_made_at_a_later_look_when_somebody_reads_and_nobody_waits() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        world.sql("drop table events_20310110").await;
        keep_beside_a_reader(world, async || {
            key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        })
        .await;
        assert!(!has_day(world, "20310110").await, "it could not be made");
        world.work().await;
        assert!(has_day(world, "20310110").await, "the later look makes it");
    })
    .await;
}
