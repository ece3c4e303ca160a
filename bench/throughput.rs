//! Requests a second of `GET /conversations` by the real server, against `pgbench` running the statements
//! that the server runs for it, on the same connections, in turns.
//!
//! Both share the cores with PostgreSQL. The server's side also pays for HTTP, for the client that asks, and
//! for turning rows into JSON; `pgbench` throws the rows away.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rookery_base::clock::{Clock, written};
use rookery_core::workspace::keys;

use rookery_world::cluster::Cluster;
use rookery_world::load::buffers::Reader;
use rookery_world::load::{Loaded, SECRET};

const ROUNDS: usize = 5;
const LIMIT: u32 = 25;
const GOAL: f64 = 0.6;
/// Linux counts processor time in hundredths of a second for everybody who reads /proc.
const TICKS: f64 = 100.0;

/// What one side did in a round.
struct Round {
    per_second: f64,
    /// Processor time of everything that took part, for one request.
    microseconds: f64,
}

pub async fn print(
    cluster: &Cluster,
    explained: &Reader,
    workspace: &Loaded,
    seconds: u32,
    connections: u32,
) {
    let script = script(explained, workspace).await;
    let server = Server::start(&cluster.url(super::loaded::DATABASE), connections, &[]).await;
    let asked = format!("{}/api/v1/conversations", server.address);
    let client = if found("wrk") { "wrk" } else { "a client of this bench" };
    println!(
        "GET /conversations, {connections} connections, {ROUNDS} rounds of {seconds} s; HTTP asked by {client}"
    );
    println!(
        "| round | requests a second | pgbench, same statements | ratio | processor time a request, µs | pgbench, µs | ratio |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    // The first seconds prepare statements and fill caches on every connection.
    requests(&asked, workspace, 2, connections);
    let mut ratios = Vec::new();
    let measured = |run: &dyn Fn() -> f64| {
        let before = processor_time(cluster, &server);
        let per_second = run();
        // The time of a backend is known when PostgreSQL has noticed its end.
        std::thread::sleep(Duration::from_secs(1));
        let spent = processor_time(cluster, &server) - before;
        Round { per_second, microseconds: spent * 1e6 / (per_second * f64::from(seconds)) }
    };
    for round in 1..=ROUNDS {
        let http = measured(&|| requests(&asked, workspace, seconds, connections));
        let bare = measured(&|| pgbench(cluster, &script, seconds, connections));
        let (ratio, time_ratio) = (http.per_second / bare.per_second, bare.microseconds / http.microseconds);
        println!(
            "| {round} | {:.0} | {:.0} | {ratio:.2} | {:.0} | {:.0} | {time_ratio:.2} |",
            http.per_second, bare.per_second, http.microseconds, bare.microseconds
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let middle = ratios[ratios.len() / 2];
    let verdict = if middle >= GOAL { "reached" } else { "MISSED" };
    println!("middle ratio {middle:.2}; the goal of {GOAL} is {verdict}");
}

/// Seconds that PostgreSQL, the server and the programs that ask have computed so far. Unlike requests a
/// second, this does not depend on who else uses the machine.
fn processor_time(cluster: &Cluster, server: &Server) -> f64 {
    let file = cluster.folder().join("data/postmaster.pid");
    let postmaster = std::fs::read_to_string(file).ok().and_then(|text| text.lines().next()?.parse().ok());
    let postmaster: u32 = postmaster.expect("PostgreSQL runs");
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((id, rest)) = text.split_once(' ') else { continue };
        // The name may hold spaces; what follows its bracket does not.
        let fields: Vec<&str> = rest.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let number =
            |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let (id, parent): (u32, u64) = (id.parse().unwrap_or(0), number(1));
        let (own, children) = (number(11) + number(12), number(13) + number(14));
        if id == postmaster {
            ticks += own + children;
        } else if parent == u64::from(postmaster) || id == server.process.id() {
            ticks += own;
        } else if id == std::process::id() {
            ticks += children;
        }
    }
    ticks as f64 / TICKS
}

/// The statements of one request, as PostgreSQL saw them, and the values of their parameters.
pub struct Script {
    text: String,
    variables: Vec<(String, String)>,
}

pub async fn script(reader: &Reader, workspace: &Loaded) -> Script {
    reader.get(&workspace.key, "/conversations").await;
    let (_, statements) = reader.statements(&workspace.key, "/conversations").await;
    let hash: String = keys::hash(&workspace.key).iter().map(|byte| format!("{byte:02x}")).collect();
    let audiences: Vec<String> = workspace.audiences.iter().map(i64::to_string).collect();
    let id = workspace.workspace.to_string();
    let key = [id.clone(), format!("\\x{hash}")];
    let page = [
        id,
        written(Clock::system().now()),
        format!("{{{}}}", audiences.join(",")),
        "open".to_owned(),
        // One more tells whether there is another page.
        (LIMIT + 1).to_string(),
        // The first page comes before nothing.
        "infinity".to_owned(),
        i64::MAX.to_string(),
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
    /// A value becomes a variable of `pgbench`, which sends it as a parameter.
    fn add(&mut self, statement: &str, values: &[String]) {
        let mut text = statement.to_owned();
        for (place, value) in values.iter().enumerate().rev() {
            let name = format!("v{}", self.variables.len());
            text = text.replace(&format!("${}", place + 1), &format!(":{name}"));
            self.variables.push((name, value.clone()));
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
    // Dropping it would wait for its threads, which is refused inside the runtime of the bench.
    runtime.shutdown_background();
    answered.load(Ordering::Relaxed) as f64 / f64::from(seconds)
}

pub fn pgbench(cluster: &Cluster, script: &Script, seconds: u32, connections: u32) -> f64 {
    let mut bench = Command::new("pgbench")
        .args(["-n", "-M", "prepared", "-f", "/dev/stdin", "-j", "1"])
        .args(["-c", &connections.to_string(), "-T", &seconds.to_string()])
        .args(script.variables.iter().map(|(name, value)| format!("-D{name}={value}")))
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &cluster.port().to_string(),
            "-U",
            "postgres",
            super::loaded::DATABASE,
        ])
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
pub struct Server {
    process: Child,
    pub address: String,
}

impl Server {
    pub async fn start(url: &str, connections: u32, more: &[(&str, String)]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listen = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let process = Command::new(env!("CARGO_BIN_EXE_rookery"))
            .arg("serve")
            .env("ROOKERY_DATABASE_URL", url)
            .env("ROOKERY_LISTEN", &listen)
            .env("ROOKERY_BLOBS", "file:///tmp")
            .env("ROOKERY_SECRET_KEY", SECRET)
            .env("ROOKERY_RATE_LIMIT_REQUESTS", "1000000000")
            .env("ROOKERY_DATABASE_CONNECTIONS", connections.to_string())
            .envs(more.iter().map(|(name, value)| (name, value)))
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

impl Server {
    /// Of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
