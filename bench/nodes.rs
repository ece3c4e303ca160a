//! One, two and four nodes on one database: reads, notes, replies with their way to the relay, and webhooks, each a second, and
//! the processor time of the nodes and of PostgreSQL for one of them; beside it `pgbench` with the statements of a read.
//! All of them share this machine's processors, so the times tell what more machines would bring. docs/performance.md
//! explains the table.
//!
//!     cargo bench --bench nodes -- [--seconds N] [--replies N]

#[path = "counted.rs"]
mod counted;
#[path = "cpu.rs"]
mod cpu;
#[path = "loaded.rs"]
mod loaded;
#[path = "throughput.rs"]
mod throughput;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use reqwest::{Client, RequestBuilder};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_core::workspace::access::By;
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::webhook::Scope;
use serde_json::{Value, json};

use self::counted::Counted;
use self::cpu::{Cpu, Meter};
use self::throughput::Server;
use rookery_world::cluster::{Cluster, Settings};
use rookery_world::load::buffers::Reader;
use rookery_world::load::{Loaded, SECRET};

const CONVERSATIONS: usize = 50_000;
const SMALL: usize = 2_000;
const CLIENTS: usize = 16;
/// Of each node.
const CONNECTIONS: u32 = 10;
/// Long enough that all replies are written before the first leaves.
const UNDO_WINDOW: Duration = Duration::from_secs(30);

#[derive(Parser)]
struct Arguments {
    /// How long each kind is asked.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    #[arg(long, default_value_t = 2_000)]
    replies: usize,
    /// `cargo bench` says this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let arguments = Arguments::parse();
    let cluster = Cluster::start(&Settings::bench());
    let (large, _) = loaded::workspaces(&cluster, CONVERSATIONS, SMALL).await;
    let url = cluster.url(loaded::DATABASE);
    loaded::warm(&url).await;
    let script = throughput::script(&Reader::explained(&url, Clock::system()), &large).await;
    let meter = Meter::new(&cluster.folder().join("data"));
    let (relay, hooks) = (Counted::new("relay").await, Counted::new("webhooks").await);
    add_webhook(&url, &large, hooks.port).await;

    println!("{}", loaded::machine());
    println!(
        "{CLIENTS} clients, {CONNECTIONS} connections a node; µs of processor time for one, of all nodes and of PostgreSQL"
    );
    println!("| nodes | done | a second | nodes, µs | PostgreSQL, µs |\n|--:|---|--:|--:|--:|");
    for count in [1, 2, 4] {
        let more = [
            ("ROOKERY_RELAY", format!("smtp://127.0.0.1:{}?tls=none", relay.port)),
            ("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8".to_owned()),
            ("ROOKERY_UNDO_WINDOW_SECONDS", UNDO_WINDOW.as_secs().to_string()),
        ];
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(Server::start(&url, CONNECTIONS, &more).await);
        }
        let fleet = Fleet { nodes, meter: &meter, client: Client::new(), key: large.key.clone() };
        fleet.print(&arguments, &relay, &hooks).await;
        let before = meter.read();
        let bare = throughput::pgbench(&cluster, &script, arguments.seconds, CLIENTS as u32);
        // The time of a backend is known when PostgreSQL has noticed its end.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let spent = meter.read() - before;
        let each = spent.postgres / (bare * f64::from(arguments.seconds));
        println!("| | pgbench, the statements of a read | {bare:.0} | | {each:.0} |");
    }
    println!("{}", loaded::machine());
}

async fn add_webhook(url: &str, of: &Loaded, port: u16) {
    let given = [
        ("DATABASE_URL", url),
        ("BLOBS", "file:///tmp"),
        ("SECRET_KEY", SECRET),
        ("WEBHOOK_ALLOW", "127.0.0.0/8"),
    ]
    .map(|(name, value)| (format!("ROOKERY_{name}"), value.to_owned()));
    let config = Config::load(None, given.into_iter()).expect("the settings are sound");
    let app = App::new(config, Clock::system(), Random::system()).expect("an app");
    let address = format!("http://127.0.0.1:{port}/");
    let wanted = WebhookParameters {
        maker: PersonId(of.audiences[1]),
        url: &address,
        livemode: true,
        scope: Scope::Team,
        kinds: &[],
    };
    create(&app, WorkspaceId(of.workspace), &By::System, wanted).await.expect("a webhook");
}

struct Fleet<'m> {
    nodes: Vec<Server>,
    meter: &'m Meter,
    client: Client,
    key: String,
}

impl Fleet<'_> {
    async fn print(&self, arguments: &Arguments, relay: &Counted, hooks: &Counted) {
        let time = Duration::from_secs(arguments.seconds.into());
        let ids = Arc::new(self.conversations(arguments.replies).await);
        // Statements are prepared on every connection.
        self.asked(Duration::from_secs(2), usize::MAX, |_| "/conversations".to_owned(), None).await;
        self.row("read of a list", self.asked(time, usize::MAX, |_| "/conversations".to_owned(), None)).await;
        let of = ids.clone();
        let path = move |turn: usize| format!("/conversations/{}/notes", of[turn % of.len()]);
        let note = Some(json!({ "body": "Called them, they will write again." }));
        self.row("note", self.asked(time, usize::MAX, path, note)).await;
        let of = ids.clone();
        let path = move |turn: usize| format!("/conversations/{}/replies", of[turn]);
        let reply = Some(json!({ "body": "Thank you, it is on its way.", "send": true }));
        let window = Instant::now() + UNDO_WINDOW;
        self.settled(hooks).await;
        let written = self.asked(Duration::MAX, ids.len(), path, reply);
        self.row("reply, written", written).await;
        assert!(Instant::now() < window, "the replies took longer than the window: give fewer");
        self.row("reply, to the relay", self.leaves(relay, hooks, ids.len())).await;
    }

    /// Prints how many were done in a second, and what one took.
    async fn row(&self, name: &str, work: impl Future<Output = (usize, Duration)>) {
        let ids: Vec<u32> = self.nodes.iter().map(Server::id).collect();
        let before = self.meter.read_of(&ids);
        let (count, took) = work.await;
        let Cpu { ours, postgres } = self.meter.read_of(&ids) - before;
        let (each, nodes) = (count as f64, self.nodes.len());
        let a_second = each / took.as_secs_f64();
        println!("| {nodes} | {name} | {a_second:.0} | {:.0} | {:.0} |", ours / each, postgres / each);
    }

    fn request(&self, turn: usize, path: &str, body: Option<&Value>) -> RequestBuilder {
        let address = format!("{}/api/v1{path}", self.nodes[turn % self.nodes.len()].address);
        let request = match body {
            Some(body) => self.client.post(address).json(body),
            None => self.client.get(address),
        };
        request.bearer_auth(&self.key)
    }

    /// Asks one node after the other, all clients at once, for so long or so often.
    async fn asked(
        &self,
        time: Duration,
        most: usize,
        path: impl Fn(usize) -> String,
        body: Option<Value>,
    ) -> (usize, Duration) {
        let (turn, done, began) = (AtomicUsize::new(0), AtomicUsize::new(0), Instant::now());
        let client = async || {
            while began.elapsed() < time {
                let turn = turn.fetch_add(1, Ordering::Relaxed);
                if turn >= most {
                    break;
                }
                let answer = self.request(turn, &path(turn), body.as_ref()).send().await.expect("an answer");
                let status = answer.status();
                let said = answer.text().await.expect("a body");
                assert!(status.is_success(), "{status}: {said}");
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        futures::future::join_all((0..CLIENTS).map(|_| client())).await;
        (done.into_inner(), began.elapsed())
    }

    /// Conversations that were closed long ago, each once.
    async fn conversations(&self, most: usize) -> Vec<String> {
        let (mut ids, mut path) = (Vec::new(), "/conversations?view=closed&limit=50".to_owned());
        while ids.len() < most {
            let answer = self.request(0, &path, None).send().await.expect("a list");
            let next =
                answer.headers().get("link").and_then(|link| link.to_str().ok()?.split(['<', '>']).nth(1));
            let next = next.and_then(|next| Some(next.split_once("/api/v1")?.1.to_owned()));
            let listed: Vec<Value> = answer.json().await.expect("JSON");
            ids.extend(listed.iter().filter_map(|one| Some(one["id"].as_str()?.to_owned())));
            path = next.expect("there are enough");
        }
        ids.truncate(most);
        ids
    }

    /// Waits until no webhook comes any more.
    async fn settled(&self, hooks: &Counted) {
        let mut seen = usize::MAX;
        while std::mem::replace(&mut seen, hooks.so_far()) != seen {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }

    /// From the first to the last that the relay takes. Webhooks tell of each meanwhile.
    async fn leaves(&self, relay: &Counted, hooks: &Counted, count: usize) -> (usize, Duration) {
        let before = relay.so_far();
        while relay.so_far() == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (began, told) = (Instant::now(), hooks.so_far());
        while relay.so_far() < before + count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let took = began.elapsed();
        let webhooks = (hooks.so_far() - told) as f64 / took.as_secs_f64();
        println!("| {} | webhooks meanwhile | {webhooks:.0} | | |", self.nodes.len());
        (count, took)
    }
}
