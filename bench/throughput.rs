//! Requests a second of `GET /conversations` by the real server, against `pgbench` running the statements
//! that the server runs for it, on the same connections, in turns.
//!
//! Both share the cores with PostgreSQL. The server's side also pays for HTTP, for the client that asks, and
//! for turning rows into JSON; `pgbench` throws the rows away.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rookery::clock::{Clock, written};
use rookery::workspace::keys;

use super::buffers::Reader;
use super::cluster::Cluster;
use super::load::Loaded;

const ROUNDS: usize = 3;
const LIMIT: u32 = 25;
const GOAL: f64 = 0.6;

pub async fn print(cluster: &Cluster, url: &str, workspace: &Loaded, seconds: u32, connections: u32) {
    let script = script(url, workspace).await;
    let server = Server::start(url, connections).await;
    let asked = format!("{}/api/v1/conversations", server.address);
    let client = if found("wrk") { "wrk" } else { "a client of this bench" };
    println!(
        "Requests a second, {connections} connections, {ROUNDS} rounds of {seconds} s; HTTP asked by {client}"
    );
    println!("| round | GET /conversations | pgbench, same statements | ratio |");
    println!("|---|--:|--:|--:|");
    // The first seconds prepare statements and fill caches on every connection.
    requests(&asked, workspace, 2, connections);
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let over_http = requests(&asked, workspace, seconds, connections);
        let bare = pgbench(cluster, &script, seconds, connections);
        println!("| {round} | {over_http:.0} | {bare:.0} | {:.2} |", over_http / bare);
        ratios.push(over_http / bare);
    }
    ratios.sort_by(f64::total_cmp);
    let middle = ratios[ratios.len() / 2];
    let verdict = if middle >= GOAL { "reached" } else { "MISSED" };
    println!("middle ratio {middle:.2}; the goal of {GOAL} is {verdict}");
}

/// The statements of one request, as PostgreSQL saw them, and the values of their parameters.
struct Script {
    text: String,
    variables: Vec<(String, String)>,
}

async fn script(url: &str, workspace: &Loaded) -> Script {
    let reader = Reader::explained(url, Clock::system());
    reader.get(&workspace.key, "/conversations").await;
    let (_, statements) = reader.statements(&workspace.key, "/conversations").await;
    let hash: String = keys::hash(&workspace.key).iter().map(|byte| format!("{byte:02x}")).collect();
    let audiences: Vec<String> = workspace.audiences.iter().map(i64::to_string).collect();
    let (id, limit) = (workspace.workspace.to_string(), LIMIT.to_string());
    let key = [Some(id.clone()), Some(format!("\\x{hash}"))];
    let page = [
        Some(id),
        Some(format!("{{{}}}", audiences.join(","))),
        Some("open".into()),
        Some(written(Clock::system().now())),
        Some(limit.clone()),
        Some(limit),
        None,
    ];
    let mut script = Script { text: String::new(), variables: Vec::new() };
    for (statement, values) in statements.iter().zip([&key[..], &page[..]]) {
        assert_eq!(
            statement.authenticates(),
            values.len() == key.len(),
            "the key comes first, then the page"
        );
        script.add(&statement.text, values);
    }
    assert_eq!(statements.len(), 2, "a request is two statements:\n{}", script.text);
    script
}

impl Script {
    /// A value becomes a variable of `pgbench`, which sends it as a parameter; null cannot be one.
    fn add(&mut self, statement: &str, values: &[Option<String>]) {
        let mut text = statement.to_owned();
        for (place, value) in values.iter().enumerate().rev() {
            let name = format!("v{}", self.variables.len());
            let written = value.as_ref().map_or("null".to_owned(), |_| format!(":{name}"));
            text = text.replace(&format!("${}", place + 1), &written);
            self.variables.extend(value.clone().map(|value| (name, value)));
        }
        self.text.push_str(&text);
        self.text.push_str(";\n");
    }
}

fn requests(address: &str, workspace: &Loaded, seconds: u32, connections: u32) -> f64 {
    let key = format!("Bearer {}", workspace.key);
    if !found("wrk") {
        return by_own_client(address, &key, seconds, connections);
    }
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s")])
        .args(["-H", &format!("Authorization: {key}"), address])
        .output()
        .expect("wrk runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("Non-2xx"), "the server refused requests:\n{text}");
    number_after(&text, "Requests/sec:")
}

/// Slower than wrk, and so a little unfair to the server, but always there.
fn by_own_client(address: &str, key: &str, seconds: u32, connections: u32) -> f64 {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let answered = Arc::new(AtomicU64::new(0));
    let until = Instant::now() + Duration::from_secs(seconds.into());
    let client = reqwest::Client::new();
    let asking: Vec<_> = (0..connections)
        .map(|_| {
            let request = client.get(address).header("authorization", key).build().expect("a request");
            let (client, answered) = (client.clone(), answered.clone());
            runtime.spawn(async move {
                while Instant::now() < until {
                    let response =
                        client.execute(request.try_clone().expect("no body")).await.expect("an answer");
                    assert!(response.status().is_success());
                    response.bytes().await.expect("a body");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let (send, done) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        for asking in asking {
            asking.await.expect("a client that went to the end");
        }
        send.send(()).expect("somebody waits");
    });
    done.recv().expect("all clients finish");
    answered.load(Ordering::Relaxed) as f64 / f64::from(seconds)
}

fn pgbench(cluster: &Cluster, script: &Script, seconds: u32, connections: u32) -> f64 {
    let mut bench = Command::new("pgbench")
        .args(["-n", "-M", "prepared", "-f", "/dev/stdin", "-j", "1"])
        .args(["-c", &connections.to_string(), "-T", &seconds.to_string()])
        .args(script.variables.iter().map(|(name, value)| format!("-D{name}={value}")))
        .args(["-h", "127.0.0.1", "-p", &cluster.port().to_string(), "-U", "postgres", super::DATABASE])
        .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan -c jit=off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pgbench runs");
    bench.stdin.take().expect("a pipe").write_all(script.text.as_bytes()).expect("pgbench reads the script");
    let output = bench.wait_with_output().expect("pgbench ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    number_after(&text, "tps =")
}

fn number_after(text: &str, mark: &str) -> f64 {
    let rest = text.split_once(mark).unwrap_or_else(|| panic!("no {mark} in:\n{text}")).1;
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

fn found(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The real binary, as `rookery serve` runs it, its log thrown away.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    async fn start(url: &str, connections: u32) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listen = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let process = Command::new(env!("CARGO_BIN_EXE_rookery"))
            .arg("serve")
            .env("ROOKERY_DATABASE_URL", url)
            .env("ROOKERY_LISTEN", &listen)
            .env("ROOKERY_BLOBS", "file:///tmp")
            .env("ROOKERY_SECRET_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
            .env("ROOKERY_RATE_LIMIT_REQUESTS", "1000000000")
            .env("ROOKERY_DATABASE_CONNECTIONS", connections.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let server = Self { process, address: format!("http://{listen}") };
        let client = reqwest::Client::new();
        for _ in 0..100 {
            let ready = client.get(format!("{}/readyz", server.address)).send().await;
            if ready.is_ok_and(|answer| answer.status().is_success()) {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the server did not become ready");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
