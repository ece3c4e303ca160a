//! The app's bench: the goals of the app measured in one table. Pages and search in a workspace of a million
//! conversations, a thread of a thousand messages, ten thousand idle streams and how soon a change is seen; and in a
//! real browser bytes, requests, first paint on a slow line and how soon a key shows (tests/web/measure.mjs).
//!
//!     cargo bench --bench web -- [--large N] [--small N] [--keep FOLDER] [--streams N]

#[path = "loaded.rs"]
mod loaded;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{ConversationId, PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_core::workspace::{mailboxes, sessions};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use rookery_world::cluster::{Cluster, Settings};
use rookery_world::load::texts::{Dice, Vocabulary, WORDS};
use rookery_world::load::{Loaded, SECRET};

const ASKED: usize = 400;
const THREAD: usize = 1_000;
/// Streams that one session may hold.
const OF_A_SESSION: usize = 4;
const CHANGES: usize = 60;

#[derive(Parser)]
struct Arguments {
    /// Conversations of the large workspace.
    #[arg(long, default_value_t = 1_000_000)]
    large: usize,
    #[arg(long, default_value_t = 10_000)]
    small: usize,
    /// A folder for the data, used again by the next run with the same sizes; that of bench-reads will do.
    #[arg(long)]
    keep: Option<PathBuf>,
    #[arg(long, default_value_t = 10_000)]
    streams: usize,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let arguments = Arguments::parse();
    let mut settings = Settings::bench();
    settings.keep = arguments.keep.clone();
    let cluster = Cluster::start(&settings);
    let (large, _) = loaded::workspaces(&cluster, arguments.large, arguments.small).await;
    let url = cluster.url(loaded::DATABASE);
    loaded::warm(&url).await;
    let app = app(&url);
    let person = owner(&url, &large).await;
    let thread = long_thread(&app, &large).await;
    let server = Server::start(&url).await;
    let cookie = format!("rookery_session={}", session(&app, &large, person).await);
    println!("{}; workspace of {} conversations", loaded::machine(), large.conversations);
    println!("| measure | goal | measured | |");
    println!("|---|--:|--:|---|");
    let table = Table;
    pages(&table, &server, &cookie, &large, &thread).await;
    streams(&table, &server, &app, &large, person, arguments.streams, &thread).await;
    browser(&table, &server, &cookie, &thread).await;
    println!("{}", loaded::machine());
}

/// Prints rows; a goal that was missed says so.
struct Table;

impl Table {
    fn row(&self, measure: &str, goal: f64, measured: f64, unit: &str) {
        let verdict = if measured <= goal { "reached" } else { "MISSED" };
        println!("| {measure} | ≤ {goal} {unit} | {measured:.1} {unit} | {verdict} |");
    }
}

fn app(url: &str) -> App {
    let given =
        [("ROOKERY_DATABASE_URL", url), ("ROOKERY_BLOBS", "file:///tmp"), ("ROOKERY_SECRET_KEY", SECRET)];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::load(None, given.into_iter()).expect("the settings are sound");
    App::new(config, Clock::system(), Random::system()).expect("an app")
}

async fn owner(url: &str, workspace: &Loaded) -> PersonId {
    let mut conn = PgConnection::connect(url).await.expect("the database answers");
    let id: i64 = sqlx::query_scalar("select id from people where workspace_id = $1 and role = 'owner'")
        .bind(workspace.workspace)
        .fetch_one(&mut conn)
        .await
        .expect("an owner");
    PersonId(id)
}

async fn session(app: &App, workspace: &Loaded, person: PersonId) -> String {
    let mut tx = app.begin(WorkspaceId(workspace.workspace)).await.expect("the workspace can be entered");
    let token =
        sessions::begin(&mut tx, person, "bench", sessions::SignedInWith::Link).await.expect("a session");
    tx.commit().await.expect("a commit");
    token
}

/// A conversation of a thousand messages, made by the way mail comes.
async fn long_thread(app: &App, workspace: &Loaded) -> String {
    let id = WorkspaceId(workspace.workspace);
    let mailbox = workspace.mailbox.parse().expect("an id");
    let mut conn = app.connection().await.expect("the database answers");
    let mailbox = mailboxes::live(&mut conn, id, mailbox).await.expect("an inbox");
    drop(conn);
    let (vocabulary, mut dice) = (Vocabulary::new(), Dice::new(7));
    let run = app.random.hex(8);
    let mut joins: Option<ConversationId> = None;
    for number in 0..THREAD {
        let text = vocabulary.text(&mut dice, 60);
        let raw = format!(
            "From: Ada <ada@customer.test>\r\nTo: {}\r\nSubject: A long thread\r\n\
             Message-ID: <{number}.{run}@customer.test>\r\n\r\n{text}\r\n",
            mailbox.address
        );
        let delivery =
            Delivery { joins, ..Delivery::from_raw(mailbox.clone(), raw.into_bytes(), Dmarc::Pass) };
        match receive(app, id, delivery).await.expect("the mail is stored") {
            Received::Stored(stored) => joins = Some(stored.conversation),
            other => panic!("{other:?}"),
        }
    }
    joins.expect("a thread").to_string()
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    async fn start(url: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listen = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let address = format!("http://{listen}");
        let process = Command::new(env!("CARGO_BIN_EXE_rookery"))
            .arg("serve")
            .env("ROOKERY_DATABASE_URL", url)
            .env("ROOKERY_LISTEN", &listen)
            .env("ROOKERY_PUBLIC_URL", &address)
            .env("ROOKERY_BLOBS", "file:///tmp")
            .env("ROOKERY_SECRET_KEY", SECRET)
            .env("ROOKERY_RATE_LIMIT_REQUESTS", "1000000000")
            // All people of this bench come from one address.
            .env("ROOKERY_HTTP_CONNECTIONS", "30000")
            .env("ROOKERY_HTTP_PEER_CONNECTIONS", "30000")
            .env("ROOKERY_LIVE_STREAMS", "20000")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let server = Self { process, address };
        for _ in 0..300 {
            let ready = reqwest::get(format!("{}/readyz", server.address)).await;
            if ready.is_ok_and(|answer| answer.status().is_success()) {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the server did not become ready");
    }

    /// Memory that it holds now, in kilobytes.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Times and compressed sizes of whole requests over one connection.
async fn asked(server: &Server, cookie: &str, paths: &[String]) -> (Vec<f64>, Vec<usize>) {
    let client = reqwest::Client::new();
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for (at, path) in paths.iter().chain(paths.iter().take(5)).enumerate() {
        let began = Instant::now();
        let request = client.get(format!("{}{path}", server.address)).header("cookie", cookie);
        let answer = request.header("accept-encoding", "gzip").send().await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let size = answer.bytes().await.expect("a body").len();
        // The first requests prepare statements.
        if at >= 5 {
            times.push(began.elapsed().as_secs_f64() * 1000.0);
            sizes.push(size);
        }
    }
    times.sort_by(f64::total_cmp);
    sizes.sort_unstable();
    (times, sizes)
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

async fn pages(table: &Table, server: &Server, cookie: &str, workspace: &Loaded, thread: &str) {
    let lists: Vec<String> = (0..ASKED).map(|_| "/inbox".to_owned()).collect();
    let (times, _) = asked(server, cookie, &lists).await;
    table.row("list, p99", 30.0, at(&times, 0.99), "ms");
    let listed = reqwest::Client::new()
        .get(format!("{}/api/v1/conversations?limit=100", server.address))
        .bearer_auth(&workspace.key);
    let listed: Vec<Value> = listed.send().await.expect("an answer").json().await.expect("JSON");
    let opened: Vec<String> = (0..ASKED)
        .map(|n| format!("/conversations/{}", listed[n % listed.len()]["id"].as_str().expect("an id")))
        .collect();
    let (times, sizes) = asked(server, cookie, &opened).await;
    table.row("conversation, p99", 30.0, at(&times, 0.99), "ms");
    table.row("conversation, median page, gzipped", 10.0, sizes[sizes.len() / 2] as f64 / 1024.0, "KB");
    let (vocabulary, mut dice) = (Vocabulary::new(), Dice::new(400));
    let searched: Vec<String> =
        (0..ASKED).map(|_| format!("/search?q={}", vocabulary.word(dice.zipf(WORDS)))).collect();
    let (times, _) = asked(server, cookie, &searched).await;
    table.row("search, p99", 100.0, at(&times, 0.99), "ms");
    let long: Vec<String> = (0..50).map(|_| format!("/conversations/{thread}")).collect();
    let (times, sizes) = asked(server, cookie, &long).await;
    table.row("thread of 1,000 messages, p99", 150.0, at(&times, 0.99), "ms");
    table.row("thread of 1,000 messages, gzipped", 40.0, sizes[sizes.len() / 2] as f64 / 1024.0, "KB");
}

/// A stream that was answered and now says nothing.
async fn listen(server: &Server, cookie: &str) -> TcpStream {
    let host = server.address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.expect("a connection");
    let request = format!(
        "GET /live HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\nSec-Fetch-Site: same-origin\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut seen = Vec::new();
    while !seen.windows(6).any(|part| part == b"retry:") {
        let mut part = [0; 1024];
        let many = stream.read(&mut part).await.expect("an answer");
        seen.extend_from_slice(&part[..many]);
        assert!(many > 0 && seen.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&seen));
    }
    stream
}

async fn streams(
    table: &Table,
    server: &Server,
    app: &App,
    workspace: &Loaded,
    person: PersonId,
    many: usize,
    thread: &str,
) {
    let mut open = Vec::with_capacity(many);
    let before = server.memory();
    while open.len() < many {
        let cookie = format!("rookery_session={}", session(app, workspace, person).await);
        for _ in 0..OF_A_SESSION.min(many - open.len()) {
            open.push(listen(server, &cookie).await);
        }
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let each = (server.memory() - before) / many as f64;
    table.row(&format!("{many} idle streams, memory of each"), 15.0, each, "KB");
    table.row(&format!("memory of the server with {many} streams"), 512.0, server.memory() / 1024.0, "MB");

    let cookie = format!("rookery_session={}", session(app, workspace, person).await);
    let mut mine = listen(server, &cookie).await;
    let client = reqwest::Client::new();
    let mut seen = Vec::new();
    for number in 0..CHANGES {
        // What came late for the change before must not be taken for this one.
        tokio::time::sleep(Duration::from_millis(250)).await;
        let mut part = [0; 4096];
        while mine.try_read(&mut part).is_ok_and(|many| many > 0) {}
        let began = Instant::now();
        let note = client
            .post(format!("{}/api/v1/conversations/{thread}/notes", server.address))
            .bearer_auth(&workspace.key)
            .json(&json!({ "body": format!("Change {number}") }));
        let sent = tokio::spawn(note.send());
        let mut text = String::new();
        while !text.contains(thread) {
            let many = mine.read(&mut part).await.expect("the stream goes on");
            text.push_str(&String::from_utf8_lossy(&part[..many]));
        }
        seen.push(began.elapsed().as_secs_f64() * 1000.0);
        assert!(sent.await.expect("it ran").expect("an answer").status().is_success());
    }
    seen.sort_by(f64::total_cmp);
    table.row(
        &format!("a change seen among {many} streams of one workspace, p95"),
        300.0,
        at(&seen, 0.95),
        "ms",
    );
    drop(open);
}

async fn browser(table: &Table, server: &Server, cookie: &str, thread: &str) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/web/measure.mjs");
    let mut node = std::process::Command::new("node");
    node.args([script, &server.address, cookie, thread]);
    // The server needs this runtime's threads meanwhile.
    let output = tokio::task::spawn_blocking(move || node.output())
        .await
        .expect("the thread ends")
        .expect("node runs; tests/web/run --tools installs what it needs");
    let told = String::from_utf8_lossy(&output.stderr);
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{told}"));
    let number = |path: &str| seen.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    table.row("cold inbox, compressed", 120.0, number("/inbox/bytes") / 1024.0, "KB");
    table.row("its script", 25.0, number("/inbox/script") / 1024.0, "KB");
    table.row("its requests", 8.0, number("/inbox/requests"), "");
    table.row("opening a conversation, requests", 1.0, number("/opened/requests"), "");
    table.row("opening a conversation, compressed", 10.0, number("/opened/bytes") / 1024.0, "KB");
    table.row("first paint at 1.6 Mbit/s and 150 ms", 1000.0, number("/firstPaint"), "ms");
    table.row("a key to the next paint, p75", 50.0, number("/keyP75"), "ms");
}
