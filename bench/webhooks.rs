//! The webhook bench: deliveries a second from committed changes to the log, beside `wrk` on the same receiver;
//! and whether quiet webhooks are served while others hang, fail and have half a million deliveries waiting.
//! Writes reach the disk. docs/performance.md explains the tables.
//!
//!     cargo bench --bench webhooks -- [--events N] [--rounds N] [--noisy N] [--quiet N]

#[path = "cpu.rs"]
mod cpu;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use rookery::worker;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_core::events::event::{Event, Turn, TurnChanged};
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::{By, TEAM};
use rookery_core::workspace::create::create as create_workspace;
use rookery_core::workspace::plan::Plan;
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::webhook::Scope;
use sqlx::AssertSqlSafe;

use self::cpu::{Cpu, Meter};
use rookery_world::cluster::{Cluster, Settings};

const SECRET_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// As many as a workspace may have.
const WEBHOOKS_EACH: usize = 20;
const CLIENTS: usize = 32;

#[derive(Parser)]
struct Arguments {
    /// Events of each round.
    #[arg(long, default_value_t = 40_000)]
    events: usize,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Deliveries that wait at the webhook that hangs.
    #[arg(long, default_value_t = 500_000)]
    noisy: usize,
    /// Quiet webhooks, with a hundred deliveries each.
    #[arg(long, default_value_t = 998)]
    quiet: usize,
    /// `cargo bench` says this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let arguments = Arguments::parse();
    let cluster = Cluster::start(&Settings::bench());
    let receiver = Receiver::start();
    throughput(&arguments, &cluster, &receiver).await;
    fairness(&arguments, &cluster, &receiver).await;
}

/// A service on a fresh database.
struct Bench {
    app: Arc<App>,
    folder: std::path::PathBuf,
}

impl Bench {
    async fn new(cluster: &Cluster, name: &str) -> Self {
        let admin = sqlx::PgPool::connect(&cluster.admin_url()).await.expect("the cluster");
        let make = AssertSqlSafe(format!("create database {name}"));
        sqlx::raw_sql(make).execute(&admin).await.expect("a database");
        let folder = std::env::temp_dir().join(format!("rookery-bench-{}-{name}", std::process::id()));
        let given = [
            ("ROOKERY_DATABASE_URL", cluster.socket_url(name)),
            ("ROOKERY_BLOBS", format!("file://{}", folder.display())),
            ("ROOKERY_SECRET_KEY", SECRET_KEY.into()),
            ("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8".into()),
            ("ROOKERY_DATABASE_CONNECTIONS", (CLIENTS + 10).to_string()),
        ];
        let config = Config::load(None, given.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let app = App::new(config.expect("settings"), Clock::system(), Random::system()).expect("an app");
        MIGRATIONS.run(&app.pool).await.expect("the schema");
        rookery_base::store::partitions::maintain(&mut app.connection().await.expect("a connection"))
            .await
            .expect("days");
        Self { app: Arc::new(app), folder }
    }

    /// Workspaces with so many webhooks in all, each to the address that `url` gives for its number.
    async fn webhooks(&self, count: usize, url: impl Fn(usize) -> String) -> Vec<(WorkspaceId, Vec<i64>)> {
        let mut made: Vec<(WorkspaceId, Vec<i64>)> = Vec::new();
        let mut owner = None;
        for number in 0..count {
            if number % WEBHOOKS_EACH == 0 {
                let email = format!("owner{number}@bench.example");
                let workspace =
                    create_workspace(&self.app, "Bench", Plan::Team, &email, "Owner").await.expect("founded");
                made.push((workspace.workspace, Vec::new()));
                owner = Some(workspace.owner);
            }
            let (workspace, webhooks) = made.last_mut().expect("just pushed");
            let (maker, url) = (owner.expect("an owner"), url(number));
            let wanted =
                WebhookParameters { maker, url: &url, livemode: true, scope: Scope::Team, kinds: &[] };
            webhooks
                .push(create(&self.app, *workspace, &By::System, wanted).await.expect("a webhook").webhook.0);
        }
        made
    }

    /// The smallest change: a transaction that records one event.
    async fn change(&self, workspace: WorkspaceId) {
        let mut tx = self.app.begin(workspace).await.expect("a transaction");
        let data = TurnChanged {
            conversation_id: ConversationId(self.app.random.number() as i64 >> 1),
            turn: Turn::Ours,
            previous: Some(Turn::Theirs),
            assignee: None,
        };
        let conversation = Some(data.conversation_id);
        let place = EventContext { audience: TEAM, livemode: true, conversation, inbox: "Customer support" };
        record(&mut tx, place, &Event::TurnChanged(data)).await.expect("an event");
        tx.commit().await.expect("a commit");
    }

    /// So many changes over these workspaces, by several clients at once.
    async fn changes(self: &Arc<Self>, workspaces: &[WorkspaceId], count: usize) {
        let next = Arc::new(AtomicUsize::new(0));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (bench, next, workspaces) = (self.clone(), next.clone(), workspaces.to_vec());
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        bench.change(workspaces[number % workspaces.len()]).await;
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.expect("a client that went to the end");
        }
    }

    async fn number(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&self.app.pool).await.expect("a number")
    }

    /// Until nothing waits any more; a cheap question, because it is asked while the clock runs.
    async fn until_told(&self) {
        let waits =
            "select (exists (select from unfanned_events) or exists (select from deliveries))::int::int8";
        while self.number(waits).await > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn delivered(&self) -> usize {
        self.number("select count(*) from delivery_log where state = 'delivered'").await as usize
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn throughput(arguments: &Arguments, cluster: &Cluster, receiver: &Receiver) {
    println!("\n## Throughput\n");
    println!(
        "{} events a round, one webhook each, {WEBHOOKS_EACH} webhooks in {WEBHOOKS_EACH} workspaces.\n",
        arguments.events
    );
    println!("| round | what | a second | of wrk | CPU µs each: Rookery | PostgreSQL | together |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    let meter = Meter::new(&cluster.folder().join("data"));
    for round in 1..=arguments.rounds {
        let wrk = receiver.wrk();
        println!("| {round} | wrk -t1 -c32 | {wrk:.0} | 1 | | | |");
        let bench = Arc::new(Bench::new(cluster, &format!("throughput_{round}")).await);
        let mut workspaces = Vec::new();
        for _ in 0..WEBHOOKS_EACH {
            workspaces.push(bench.webhooks(1, |_| receiver.url("ok")).await[0].0);
        }
        let tell = |what: &str, took: Duration, spent: Cpu| {
            let (rate, each) = (arguments.events as f64 / took.as_secs_f64(), 1.0 / arguments.events as f64);
            println!(
                "| {round} | {what} | {rate:.0} | {:.3} | {:.0} | {:.0} | {:.0} |",
                rate / wrk,
                spent.ours * each,
                spent.postgres * each,
                (spent.ours + spent.postgres) * each
            );
        };
        let (rate, cpu) = bare(cluster, &meter, &bench, &workspaces).await;
        println!("| {round} | changes by pgbench | {rate:.0} | {:.3} | | {cpu:.0} | |", rate / wrk);
        // Apart: first all changes, then all deliveries.
        let (began, before) = (Instant::now(), meter.read());
        bench.changes(&workspaces, arguments.events).await;
        tell("changes alone", began.elapsed(), meter.read() - before);
        let (began, before) = (Instant::now(), meter.read());
        let work = tokio::spawn(worker::run(bench.app.clone()));
        bench.until_told().await;
        tell("deliveries alone", began.elapsed(), meter.read() - before);
        assert_eq!(bench.delivered().await, arguments.events);
        // Batcher, as in service.
        let (began, before) = (Instant::now(), meter.read());
        bench.changes(&workspaces, arguments.events).await;
        bench.until_told().await;
        tell("end to end", began.elapsed(), meter.read() - before);
        assert_eq!(bench.delivered().await, 2 * arguments.events);
        bench.app.stop.tell();
        work.await.expect("the worker stops").expect("every loop was looked after");
        bench.app.pool.close().await;
    }
}

/// What PostgreSQL alone makes of the same transaction: changes a second with nothing else on the machine, and its
/// processor time for each. Nobody listens to sandbox events, so they are forgotten again.
async fn bare(cluster: &Cluster, meter: &Meter, bench: &Bench, workspaces: &[WorkspaceId]) -> (f64, f64) {
    let database = bench.app.pool.connect_options().get_database().expect("a name").to_owned();
    let ids: Vec<String> = workspaces.iter().map(|workspace| workspace.0.to_string()).collect();
    let script = std::env::temp_dir().join(format!("rookery-change-{}.sql", std::process::id()));
    let text = format!(
        "\\set event random(1, 9000000000000000)
\\set place random(1, {count})
begin;
select enter_workspace((array[{ids}]::bigint[])[:place]);
with recorded as (
    insert into events (workspace_id, id, kind, livemode, audience, created_at, body)
    values ((array[{ids}]::bigint[])[:place], :event, 'turn.changed', false, -1, now(), :body))
insert into unfanned_events (workspace_id, event_id, kind, livemode, audience)
values ((array[{ids}]::bigint[])[:place], :event, 'turn.changed', false, -1);
commit;
",
        count = ids.len(),
        ids = ids.join(",")
    );
    std::fs::write(&script, text).expect("a file");
    let before = meter.read();
    let output = Command::new("pgbench")
        .args(["-n", "-M", "prepared", "-c", &CLIENTS.to_string(), "-j", "1", "-T", "5"])
        .args(["-D", &format!("body={}", "x".repeat(400)), "-f"])
        .arg(&script)
        .arg(cluster.socket_url(&database))
        .output()
        .expect("pgbench runs");
    // The time of a backend is known when PostgreSQL has noticed its end.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let spent = meter.read() - before;
    let _ = std::fs::remove_file(&script);
    let text = String::from_utf8_lossy(&output.stdout);
    let after = |mark: &str| {
        let rest = text.split_once(mark).unwrap_or_else(|| panic!("no {mark} in:\n{text}{output:?}")).1;
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.parse::<f64>().expect("a number")
    };
    sqlx::raw_sql("delete from unfanned_events; delete from events")
        .execute(&bench.app.pool)
        .await
        .expect("forgotten");
    (after("tps = "), spent.postgres / after("actually processed: "))
}

/// Loads what waits by SQL, then lets the worker at it while new events happen at the quiet ones.
async fn fairness(arguments: &Arguments, cluster: &Cluster, receiver: &Receiver) {
    println!("\n## Fairness\n");
    let bench = Arc::new(Bench::new(cluster, "fairness").await);
    let loud = bench.webhooks(1, |_| receiver.url("hang")).await.remove(0);
    let failing = bench.webhooks(1, |_| receiver.url("fail")).await.remove(0);
    let quiet = bench.webhooks(arguments.quiet, |_| receiver.url("ok")).await;
    bench.load(&loud, arguments.noisy).await;
    bench.load(&failing, 1000).await;
    for workspace in &quiet {
        bench.load(workspace, 100).await;
    }
    sqlx::raw_sql("analyze").execute(&bench.app.pool).await.expect("statistics");
    let waiting = arguments.quiet * 100;
    let start = bench.app.clock.now();
    let began = Instant::now();
    let work = tokio::spawn(worker::run(bench.app.clone()));
    // Quiet webhooks of workspaces with one webhook each: what happens there now must be told soon.
    let mut fresh = Vec::new();
    for _ in 0..10 {
        fresh.push(bench.webhooks(1, |_| receiver.url("ok")).await[0].0);
    }
    let mut done = None;
    let mut told = 0;
    while done.is_none() || began.elapsed() < Duration::from_secs(60) {
        bench.change(fresh[told % fresh.len()]).await;
        told += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
        if done.is_none() && told % 25 == 0 {
            // Those that just happened may still be on their way.
            done = (bench.delivered().await + 50 >= waiting + told).then(|| began.elapsed());
        }
        assert!(began.elapsed() < Duration::from_secs(600), "the quiet ones were not served in ten minutes");
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(bench.delivered().await, waiting + told, "every quiet one");
    let tried = bench.number("select count(*) from deliveries where tries <> '[]'").await;
    let took = began.elapsed().as_secs_f64();
    bench.app.stop.tell();
    work.await.expect("the worker stops").expect("every loop was looked after");
    let delays: Vec<f64> = sqlx::query_scalar(
        "select extract(epoch from (tries->0->>'at')::timestamptz)::float8
                - ((event_id >> 22) + 1577836800000) / 1000.0::float8
         from delivery_log where state = 'delivered' and event_id >> 22 > $1 order by 1",
    )
    .bind(start.timestamp_millis() - 1_577_836_800_000)
    .fetch_all(&bench.app.pool)
    .await
    .expect("the log");
    let at = |share: f64| delays[((delays.len() as f64 * share) as usize).min(delays.len() - 1)];
    println!("| | |\n|---|--:|");
    println!("| deliveries that hang, of one webhook | {} |", arguments.noisy);
    println!("| quiet webhooks, 100 deliveries each | {} |", arguments.quiet);
    println!("| all of theirs delivered after | {:.1} s |", done.expect("done").as_secs_f64());
    println!("| tries begun at the one that hangs and the one that fails, in {took:.0} s | {tried} |");
    println!("| new events at quiet webhooks meanwhile | {} |", delays.len());
    println!(
        "| from commit to first try: p50, p99, longest | {:.3} s, {:.3} s, {:.3} s |",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

impl Bench {
    /// So many due deliveries for each webhook of a workspace.
    async fn load(&self, (workspace, webhooks): &(WorkspaceId, Vec<i64>), count: usize) {
        let webhooks: Vec<String> = webhooks.iter().map(i64::to_string).collect();
        let first = rookery_base::ids::lowest_at(self.app.clock.now() - chrono::TimeDelta::hours(1));
        let statement = format!(
            "insert into events
             select {workspace}, {first} + n, 'turn.changed', true, 0, null, now() - interval '1 hour', '{{\"id\":\"' || repeat('x', 380) || '\"}}'
             from generate_series(1, {count}) n;
             insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run)
             select {workspace}, webhook, {first} + n, 'turn.changed', now() - interval '1 hour', 0
             from generate_series(1, {count}) n, unnest(array[{webhooks}]) webhook;
             update webhook_lanes set next_due = now() - interval '1 hour' where workspace_id = {workspace}",
            workspace = workspace.0,
            webhooks = webhooks.join(","),
        );
        let mut conn = self.app.connection().await.expect("a connection");
        sqlx::raw_sql("set statement_timeout = 0").execute(&mut *conn).await.expect("patience");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await.expect("rows");
    }
}

/// A bare Node server: `/ok` answers at once, `/fail` with 500, `/hang` never.
struct Receiver {
    process: Child,
    port: u16,
}

const NODE: &str = r#"
require('http').createServer((request, response) => {
    request.resume();
    if (request.url === '/ok') response.end();
    else if (request.url === '/fail') { response.statusCode = 500; response.end(); }
}).listen(process.argv[1], '127.0.0.1');
"#;

impl Receiver {
    fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let process = Command::new("node").args(["-e", NODE, &port.to_string()]).spawn().expect("node runs");
        for _ in 0..100 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { process, port }
    }

    fn url(&self, what: &str) -> String {
        format!("http://127.0.0.1:{}/{what}", self.port)
    }

    /// What the receiver takes when nobody stands behind a request.
    fn wrk(&self) -> f64 {
        let script = std::env::temp_dir().join(format!("rookery-wrk-{}.lua", std::process::id()));
        let body = "x".repeat(400);
        let lua = format!(
            "wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\n"
        );
        std::fs::write(&script, lua).expect("a file");
        let output = Command::new("wrk")
            .args(["-t1", "-c32", "-d5s", "-s"])
            .arg(&script)
            .arg(self.url("ok"))
            .stdout(Stdio::piped())
            .output()
            .expect("wrk runs");
        let _ = std::fs::remove_file(&script);
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.split_once("Requests/sec:").and_then(|(_, rest)| rest.split_whitespace().next());
        rate.and_then(|rate| rate.parse().ok()).unwrap_or_else(|| panic!("no rate in:\n{text}"))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
