//! Kill -9 at every named step of a write that has a key: before its first question, between what it does and what it
//! remembers, before COMMIT, and between COMMIT and its answer. Many clients repeat on two nodes until they are answered.
//! Nothing is done twice, nothing that was answered is missing, and every answer to a request is the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;
use sqlx::PgPool;

use rookery_world::Reply;
use rookery_world::cluster::cluster;
use rookery_world::mail::gate::{Gate, Known, Step};
use rookery_world::site::{Node, Site};

const KEYED: Known =
    Known { looks: "sealed from answered_requests", writes: "insert into answered_requests" };
const STEPS: [Step; 4] = [Step::Begun, Step::Writing, Step::Written, Step::Committed];
/// A node that was killed holds its share of the limits until the window is over, so windows are short.
const SETTINGS: [(&str, &str); 4] = [
    ("ROOKERY_RATE_LIMIT_REQUESTS", "10000000"),
    ("ROOKERY_RATE_LIMIT_WINDOW_SECONDS", "1"),
    ("ROOKERY_SANDBOX_INBOUND_LIMIT", "10000000"),
    ("ROOKERY_DATABASE_CONNECTIONS", "20"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_are_repeated_over_kills_are_done_once() {
    repeated(300, 16, 8).await;
}

/// `just repeat-writes`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: just repeat-writes"]
async fn ten_thousand_writes_that_are_repeated_over_kills_are_done_once() {
    repeated(10_000, 64, 40).await;
}

struct Repeated {
    http: reqwest::Client,
    addresses: Mutex<[String; 2]>,
    key: String,
    conversations: Vec<String>,
    next: AtomicUsize,
    /// There were as many writes and kills as there should be.
    enough: AtomicBool,
    /// Requests that were not answered, and answers that were earlier ones.
    tries: AtomicUsize,
    replays: AtomicUsize,
}

impl Repeated {
    fn request(&self, number: usize, node: usize) -> reqwest::RequestBuilder {
        let address = self.addresses.lock().unwrap()[node].clone();
        let id = &self.conversations[number % self.conversations.len()];
        let (body, name) = (json!({ "body": format!("write {number}") }), format!("key {number}"));
        let api = format!("{address}/api/v1");
        let request = match number % 4 {
            0 => self.http.post(format!("{api}/conversations/{id}/notes")).json(&body),
            1 => self.http.post(format!("{api}/conversations/{id}/replies")).json(&body),
            2 => {
                let mail = json!({ "from": "ada@customer.test", "text": format!("write {number}") });
                self.http.post(format!("{api}/sandbox/inbound")).json(&mail)
            }
            _ => {
                let arguments = json!({ "id": id, "body": format!("write {number}") });
                let meta = json!({ "rookery/idempotencyKey": name });
                let params = json!({ "name": "add_note", "arguments": arguments, "_meta": meta });
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                self.http.post(format!("{address}/mcp")).json(&call)
            }
        };
        request.bearer_auth(&self.key).header("Idempotency-Key", name).timeout(Duration::from_secs(10))
    }

    /// What it was answered with, and whether that was an earlier answer. Nothing when it has to be asked for again.
    async fn ask(&self, number: usize, node: usize) -> Option<(String, bool)> {
        let reply = Reply::try_of(self.request(number, node)).await.ok()?;
        match reply.status {
            201 => Some((reply.text.clone(), reply.header("idempotency-replayed").is_some())),
            200 => {
                let result = reply.json()["result"].clone();
                if result["isError"] == true {
                    assert!([429, 500].iter().any(|code| result["_meta"]["status"] == *code), "{result}");
                    return None;
                }
                let text = result["content"][0]["text"].as_str().expect(&reply.text).to_owned();
                Some((text, result["_meta"]["rookery/idempotencyReplayed"] == true))
            }
            429 | 500 | 503 => None,
            _ => panic!("write {number}: {} {}", reply.status, reply.text),
        }
    }

    /// One client: takes the next write and repeats it until it is answered, and one in three once more elsewhere.
    async fn client(&self) {
        loop {
            if self.enough.load(Ordering::SeqCst) {
                return;
            }
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            // Every fifth has a twin that comes at the same moment by the other node.
            let twin = number.is_multiple_of(5).then(|| self.until_answered(number, 1));
            let (first, twin) = tokio::join!(self.until_answered(number, 0), async {
                match twin {
                    Some(twin) => Some(twin.await),
                    None => None,
                }
            });
            assert!(twin.is_none_or(|twin| twin == first), "write {number} has two answers");
            if number.is_multiple_of(3)
                && let Some((again, replayed)) = self.ask(number, number % 2).await
            {
                assert!(replayed && again == first, "write {number} was answered otherwise");
            }
        }
    }

    async fn until_answered(&self, number: usize, first: usize) -> String {
        let started = Instant::now();
        for attempt in number + first.. {
            if let Some((answer, replayed)) = self.ask(number, attempt % 2).await {
                self.replays.fetch_add(usize::from(replayed), Ordering::SeqCst);
                return answer;
            }
            self.tries.fetch_add(1, Ordering::SeqCst);
            assert!(started.elapsed() < Duration::from_secs(120), "write {number} is never answered");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        unreachable!()
    }
}

async fn repeated(least: usize, clients: usize, kills: usize) {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let gate = Gate::knowing(KEYED, cluster().port()).await;
    let gated = gate.url(site.database.name());
    let through = [&SETTINGS[..], &[("ROOKERY_DATABASE_URL", &*gated)]].concat();
    let mut killed = site.serve("killed", &through).await;
    let steady = site.serve("steady", &SETTINGS).await;
    let mut conversations = Vec::new();
    for number in 0..8 {
        let mail = json!({ "from": format!("ada{number}@customer.test"), "text": "Hello." });
        let inbound = format!("{}/api/v1/sandbox/inbound", steady.address);
        let reply = Reply::of(site.http.post(inbound).bearer_auth(&key).json(&mail)).await;
        conversations.push(reply.json()["conversationId"].as_str().expect(&reply.text).to_owned());
    }
    let repeated = Arc::new(Repeated {
        http: reqwest::Client::new(),
        addresses: Mutex::new([killed.address.clone(), steady.address.clone()]),
        key,
        conversations,
        next: AtomicUsize::new(0),
        enough: AtomicBool::new(false),
        tries: AtomicUsize::new(0),
        replays: AtomicUsize::new(0),
    });
    let started = Instant::now();
    let all = tokio::spawn({
        let repeated = repeated.clone();
        async move {
            let clients = (0..clients).map(|_| {
                let repeated = repeated.clone();
                tokio::spawn(async move { repeated.client().await })
            });
            for client in join_all(clients).await {
                client.unwrap();
            }
        }
    });
    let mut killed_at: BTreeMap<String, usize> = BTreeMap::new();
    for kill in 0.. {
        if kill >= kills && repeated.next.load(Ordering::SeqCst) >= least {
            break;
        }
        let step = STEPS[kill % STEPS.len()];
        gate.stop_at(step, kill * 7 % 11);
        assert!(gate.reached().await, "nobody came to {step:?}: {}", killed.log());
        tokio::time::sleep(Duration::from_millis(kill as u64 * 13 % 60)).await;
        killed.kill();
        gate.cut();
        *killed_at.entry(format!("{step:?}")).or_default() += 1;
        killed = site.serve("killed", &through).await;
        repeated.addresses.lock().unwrap()[0] = killed.address.clone();
    }
    repeated.enough.store(true, Ordering::SeqCst);
    all.await.unwrap();
    drop(killed);
    let many = repeated.next.load(Ordering::SeqCst);
    let (tries, replays) = (repeated.tries.load(Ordering::SeqCst), repeated.replays.load(Ordering::SeqCst));
    println!(
        "{many} writes of {clients} clients in {:.0?}: killed {killed_at:?}, {tries} tries without an answer, {replays} answers that were given before",
        started.elapsed()
    );
    assert_eq!(killed_at.len(), STEPS.len(), "{killed_at:?}");
    assert!(tries > 0 && replays > 0);
    each_once(&pool, many).await;
    assert_no_faults(&steady);
}

/// Every write is there, and no write twice.
async fn each_once(pool: &PgPool, many: usize) {
    let written: Vec<(String, i64)> = sqlx::query_as(
        "select body, count(*) from (
             select body from notes
             union all select text from messages where text like 'write %') all_of_them (body)
         group by 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    let twice: Vec<_> = written.iter().filter(|(_, count)| *count != 1).collect();
    assert!(twice.is_empty(), "done more than once: {twice:?}");
    assert_eq!(written.len(), many);
    let kept: i64 =
        sqlx::query_scalar("select count(*) from answered_requests").fetch_one(pool).await.unwrap();
    assert_eq!(kept, many as i64, "one answer for each");
}

/// What a node logs of its own faults, but for a twin that waited for one that was stopped at the gate.
fn assert_no_faults(node: &Node) {
    let log = node.log();
    let faults = log.lines().filter(|line| line.contains("panicked") || line.contains("a key ends without"));
    assert_eq!(faults.count(), 0);
}
