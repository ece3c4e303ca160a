//! The claim bench: messages that are due, taken in hundreds out of millions that are not, against `pgbench`
//! with the bare `select … for update skip locked` and `update` on the same table, in turns.
//!
//!     cargo bench --bench claims -- [--future N] [--claims N] [--clients N]

#[path = "due.rs"]
mod due;

use std::io::Write;
use std::process::Command;
use std::time::Instant;

use chrono::TimeDelta;
use clap::Parser;
use futures::future::join_all;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_core::conversations::messages::sending;
use sqlx::{Connection, PgConnection};

use rookery_world::cluster::{Cluster, Settings};
use rookery_world::load;
use rookery_world::load::buffers::Reader;

const DATABASE: &str = "claims";
const ROUNDS: usize = 5;
const BATCH: i64 = 100;
const GOAL: f64 = 0.7;

#[derive(Parser)]
struct Arguments {
    /// Messages that are due only later.
    #[arg(long, default_value_t = 2_000_000)]
    future: usize,
    /// Claims of a hundred messages in each round.
    #[arg(long, default_value_t = 200)]
    claims: usize,
    #[arg(long, default_value_t = 2)]
    clients: usize,
    /// `cargo bench` says this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// One thread: the notices with the plans are caught on it.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::parse();
    let cluster = Cluster::start(&Settings::bench());
    let mut admin = PgConnection::connect(&cluster.admin_url()).await.expect("the cluster answers");
    sqlx::query("create database claims").execute(&mut admin).await.expect("a database");
    let url = cluster.url(DATABASE);
    let given = [
        ("DATABASE_URL", url.as_str()),
        ("BLOBS", "file:///tmp"),
        ("SECRET_KEY", load::SECRET),
        ("DATABASE_CONNECTIONS", &arguments.clients.to_string()),
    ]
    .map(|(name, value)| (format!("ROOKERY_{name}"), value.to_owned()));
    let config = Config::load(None, given.into_iter()).expect("the settings are sound");
    let app = App::new(config, Clock::system(), Random::seeded(5)).expect("an app");
    MIGRATIONS.run(&app.pool).await.expect("the migrations apply");

    let started = Instant::now();
    let due = (2 * (ROUNDS + 1) * arguments.claims + 20) * BATCH as usize;
    due::load(&app, arguments.future, due).await;
    println!(
        "{due} messages due now, {} later, loaded in {:.0} s",
        arguments.future,
        started.elapsed().as_secs_f64()
    );

    let reader = Reader::explained(&url, Clock::system());
    let (taken, statements) = reader.explain(async |conn| due::claim(conn, app.clock.now()).await).await;
    let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
    println!("a claim of {taken} reads {buffers} buffers; the budget is {}", due::BUDGET);
    assert!(taken == BATCH as usize && buffers <= due::BUDGET, "a claim costs too much");
    drop(reader);

    println!("| round | claims a second | pgbench, bare | ratio |\n|---|--:|--:|--:|");
    let mut ratios = Vec::new();
    for round in 0..=ROUNDS {
        let (ours, bare) = (claims(&app, &arguments).await, pgbench(&cluster, &arguments));
        if round > 0 {
            println!("| {round} | {ours:.1} | {bare:.1} | {:.2} |", ours / bare);
            ratios.push(ours / bare);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let middle = ratios[ratios.len() / 2];
    let verdict = if middle >= GOAL { "reached" } else { "MISSED" };
    println!("middle ratio {middle:.2}; the goal of {GOAL} is {verdict}");
}

/// Claims a second, by our own function on as many connections as `pgbench` has.
async fn claims(app: &App, arguments: &Arguments) -> f64 {
    let each = arguments.claims / arguments.clients;
    let started = Instant::now();
    join_all((0..arguments.clients).map(async |_| {
        let mut conn = app.connection().await.expect("a connection");
        for _ in 0..each {
            let now = app.clock.now();
            let ends = now + TimeDelta::hours(10);
            let claimed = sending::claim(&mut conn, false, now, ends).await.expect("a claim");
            assert_eq!(claimed.len(), BATCH as usize);
        }
    }))
    .await;
    (each * arguments.clients) as f64 / started.elapsed().as_secs_f64()
}

fn pgbench(cluster: &Cluster, arguments: &Arguments) -> f64 {
    let mut script = tempfile();
    script
        .1
        .write_all(
            b"with due as (select ctid from messages where status in ('scheduled', 'sending') and sandbox = false and due_at <= now()
                  order by due_at limit 100 for update skip locked)
              update messages m set status = 'sending', due_at = now() + interval '10 hours', claim = claim + 1
              from due where m.ctid = due.ctid;\n",
        )
        .expect("the script can be written");
    let output = Command::new("pgbench")
        .args([
            "-n",
            "-M",
            "prepared",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &cluster.port().to_string(),
        ])
        .args([
            "-c",
            &arguments.clients.to_string(),
            "-t",
            &(arguments.claims / arguments.clients).to_string(),
        ])
        .arg("-f")
        .arg(&script.0)
        .arg(DATABASE)
        .output()
        .expect("pgbench runs");
    let _ = std::fs::remove_file(&script.0);
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("tps = ")).unwrap_or_else(|| panic!("{output:?}"));
    line["tps = ".len()..].split(' ').next().and_then(|tps| tps.parse().ok()).expect("transactions a second")
}

fn tempfile() -> (std::path::PathBuf, std::fs::File) {
    let path = std::env::temp_dir().join(format!("rookery-claims-{}.sql", std::process::id()));
    let file = std::fs::File::create(&path).expect("a file for the script");
    (path, file)
}
