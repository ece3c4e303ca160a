//! The workspaces that benches of reads work on: a large one and a small one beside it, kept in a folder or loaded anew.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::time::Instant;

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::due::backoff::Aside;
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_core::conversations::search::{index, pending};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use rookery_world::cluster::Cluster;
use rookery_world::load::{self, Loaded};

pub const DATABASE: &str = "rookery_bench";

/// The two workspaces: of an earlier run if the folder has them, else loaded now.
pub async fn workspaces(cluster: &Cluster, large_size: usize, small_size: usize) -> (Loaded, Loaded) {
    let sizes = [("large".to_owned(), large_size), ("small".to_owned(), small_size)];
    let [large, small] = all(cluster, &sizes).await.try_into().expect("two workspaces");
    (large, small)
}

/// Workspaces of these names and sizes, likewise.
pub async fn all(cluster: &Cluster, sizes: &[(String, usize)]) -> Vec<Loaded> {
    let mut admin = PgConnection::connect(&cluster.admin_url()).await.expect("the cluster answers");
    let exists: bool = sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
        .bind(DATABASE)
        .fetch_one(&mut admin)
        .await
        .expect("databases can be listed");
    let url = cluster.url(DATABASE);
    if !exists {
        run(&mut admin, &format!("create database {DATABASE}")).await;
        let mut conn = PgConnection::connect(&url).await.expect("the new database answers");
        MIGRATIONS.run(&mut conn).await.expect("the migrations apply");
        let started = Instant::now();
        let all = load::load(&app(&url), sizes, true).await;
        eprintln!("loaded in {} s", started.elapsed().as_secs());
        run(&mut conn, "create table bench_loaded (facts jsonb not null)").await;
        sqlx::query("insert into bench_loaded values ($1)")
            .bind(serde_json::to_value(all).expect("JSON"))
            .execute(&mut conn)
            .await
            .expect("the facts are kept");
        run(&mut conn, "checkpoint").await;
    }
    let mut conn = PgConnection::connect(&url).await.expect("the database answers");
    // A folder of an earlier version.
    MIGRATIONS.run(&mut conn).await.expect("the migrations apply");
    index_waiting(&app(&url)).await;
    let facts: Value = sqlx::query_scalar("select facts from bench_loaded")
        .fetch_one(&mut conn)
        .await
        .expect("the folder holds a workspace that was loaded to the end");
    let all: Vec<Loaded> = serde_json::from_value(facts).expect("the facts are of this version");
    let held = all.iter().map(|loaded| (loaded.name.clone(), loaded.conversations));
    assert!(
        held.clone().eq(sizes.iter().cloned()),
        "the folder holds {:?}; give those sizes, or another folder",
        held.collect::<Vec<_>>()
    );
    all
}

fn app(url: &str) -> App {
    let given = [
        ("ROOKERY_DATABASE_URL", url),
        ("ROOKERY_BLOBS", "file:///tmp"),
        ("ROOKERY_SECRET_KEY", load::SECRET),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::load(None, given.into_iter()).expect("the settings are sound");
    App::new(config, Clock::system(), Random::seeded(11)).expect("an app")
}

/// Works off everything that waits to be indexed, as a service has done that has run for a while.
async fn index_waiting(app: &App) {
    let mut conn = app.connection().await.expect("a connection");
    loop {
        let waiting = pending::unindexed(&mut conn, app.clock.now(), &Aside::default()).await.expect("notes");
        if waiting.is_empty() {
            break;
        }
        for workspace in waiting {
            let mut tx = app.begin(workspace).await.expect("a transaction");
            index::index(&mut tx, index::OF_THE_WORKER).await.expect("the words are indexed");
            tx.commit().await.expect("a commit");
        }
    }
}

/// Reads every table and index once, so that the figures are those of a server that has run for a while.
pub async fn warm(url: &str) {
    let mut conn = PgConnection::connect(url).await.expect("the database answers");
    run(&mut conn, "create extension if not exists pg_prewarm").await;
    run(
        &mut conn,
        "select pg_prewarm(oid) from pg_class
         where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace
         order by relname like 'messages%' desc, relname like 'conversation_words_any' desc, relname",
    )
    .await;
}

/// Others may be at work on the same machine; times are worth little without knowing that.
pub fn machine() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cores} cores, load {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

async fn run(conn: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(conn)
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}
