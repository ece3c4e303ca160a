//! Many clients on one conversation at once: nothing is lost, and the timeline tells what really happened.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};

use rookery_world::site::Site;
use rookery_world::{Mode, Reply, ToolAnswer, story_with};

const CLIENTS: usize = 64;
const A_MOMENT: Duration = Duration::from_secs(4);
const HALF_A_MINUTE: Duration = Duration::from_secs(30);
const UNLIMITED: &str = "10000000";

/// proves: GEN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_on_one_conversation_lose_nothing() {
    in_one_process(A_MOMENT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes half a minute: just hammer"]
async fn sixty_four_clients_lose_nothing_in_half_a_minute() {
    in_one_process(HALF_A_MINUTE).await;
}

/// proves: GEN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_on_two_nodes_lose_nothing() {
    on_two_nodes(A_MOMENT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes half a minute: just hammer"]
async fn sixty_four_clients_on_two_nodes_lose_nothing_in_half_a_minute() {
    on_two_nodes(HALF_A_MINUTE).await;
}

async fn in_one_process(time: Duration) {
    let settings = [("RATE_LIMIT_REQUESTS", UNLIMITED), ("DATABASE_CONNECTIONS", "10")];
    story_with(&settings, async |world| {
        let acme = world.workspace("Acme").await;
        let mut keys = Vec::new();
        for name in ["ash", "birch", "cedar"] {
            keys.push(acme.key(name, "read,write", Mode::Test).await);
        }
        let hammered = Hammered {
            http: world.http.clone(),
            addresses: vec![world.address.clone()],
            keys: keys.iter().map(|key| key.text.clone()).collect(),
            agents: keys.iter().map(|key| key.agent.to_string()).collect(),
            id: keys[0].simulate(json!({ "from": "ada@customer.test", "text": "Hello." })).await,
        };
        // The world's clock stands still, and all ids of one instant come from a small number.
        let clock = world.app.clock.clone();
        let ticking = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                clock.advance(chrono::TimeDelta::milliseconds(1));
            }
        });
        let told = hammered.by_all_clients(time).await;
        ticking.abort();
        hammered.check(&told, &world.app.pool).await;
    })
    .await;
}

async fn on_two_nodes(time: Duration) {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let made = ["ash", "birch", "cedar"].map(|name| site.key(&workspace, &owner, name, "test"));
    let settings = [("ROOKERY_RATE_LIMIT_REQUESTS", UNLIMITED)];
    let nodes = [site.serve("one", &settings).await, site.serve("two", &settings).await];
    let mail = json!({ "from": "ada@customer.test", "text": "Hello." });
    let inbound = format!("{}/api/v1/sandbox/inbound", nodes[0].address);
    let first = Reply::of(site.http.post(inbound).bearer_auth(&made[0].1).json(&mail)).await;
    let hammered = Hammered {
        http: site.http.clone(),
        addresses: nodes.iter().map(|node| node.address.clone()).collect(),
        keys: made.iter().map(|(_, key)| key.clone()).collect(),
        agents: made.iter().map(|(agent, _)| agent.clone()).collect(),
        id: first.json()["conversationId"].as_str().expect(&first.text).to_owned(),
    };
    let told = hammered.by_all_clients(time).await;
    let pool = sqlx::PgPool::connect(site.database.url()).await.expect("the database is there");
    hammered.check(&told, &pool).await;
    for node in &nodes {
        let log = node.log();
        let bad = log.lines().find(|line| line.contains("\"level\":\"ERROR\"") || line.contains("panicked"));
        assert_eq!(bad, None);
    }
}

/// One conversation and everything it is hammered with.
struct Hammered {
    http: reqwest::Client,
    addresses: Vec<String>,
    keys: Vec<String>,
    agents: Vec<String>,
    id: String,
}

/// What one client was told is done.
#[derive(Default)]
struct Told {
    notes: Vec<String>,
    /// Its own tags that must be there in the end; nobody else touches those.
    tags: BTreeSet<String>,
    calls: usize,
}

impl Hammered {
    async fn by_all_clients(&self, time: Duration) -> Vec<Told> {
        let until = Instant::now() + time;
        join_all((0..CLIENTS).map(|client| self.by_one(client, until))).await
    }

    async fn by_one(&self, client: usize, until: Instant) -> Told {
        let mut told = Told::default();
        // On a slow machine the time is up early: everyone does everything at least twice.
        while Instant::now() < until || told.calls < 8 {
            let round = told.calls;
            match (client + round) % 4 {
                0 => {
                    let note = format!("Client {client}, round {round}.");
                    self.call(client, "notes", "add_note", json!({ "body": note })).await;
                    told.notes.push(note);
                }
                1 => {
                    let status = ["open", "waiting", "closed"][(client * 7 + round) % 3];
                    self.call(client, "status", "set_status", json!({ "status": status })).await;
                }
                2 => {
                    let own = format!("own {client} {}", round / 4 % 2);
                    let shared = format!("Shared {}", (client + round) % 5);
                    let (mut add, mut remove) = (Vec::new(), Vec::new());
                    let gone = told.tags.remove(&own);
                    if gone { &mut remove } else { &mut add }.push(own.clone());
                    if client.is_multiple_of(2) { &mut remove } else { &mut add }.push(shared);
                    if !gone {
                        told.tags.insert(own);
                    }
                    let body = json!({ "add": add, "remove": remove });
                    self.call(client, "tags", "tag_conversation", body).await;
                }
                _ => {
                    let agent = format!("agent:{}", self.agents[round % self.agents.len()]);
                    let to = ["me", "none", &agent][(client + round) % 3];
                    self.call(client, "assign", "assign_conversation", json!({ "to": to })).await;
                }
            }
            told.calls += 1;
        }
        told
    }

    /// Every fourth client speaks MCP. Whatever is not done is a failure of the test.
    async fn call(&self, client: usize, path: &str, tool: &str, mut body: Value) {
        let address = &self.addresses[client % self.addresses.len()];
        let key = &self.keys[client % self.keys.len()];
        if !(client / 2).is_multiple_of(4) {
            let url = format!("{address}/api/v1/conversations/{}/{path}", self.id);
            let reply = Reply::of(self.http.post(url).bearer_auth(key).json(&body)).await;
            let wanted = if path == "notes" { 201 } else { 200 };
            assert_eq!((reply.status, reply.text.as_str()), (wanted, r#"{"ok":true}"#), "{path} {body}");
            return;
        }
        body["id"] = json!(self.id);
        let params = json!({ "name": tool, "arguments": body });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = self.http.post(format!("{address}/mcp")).bearer_auth(key).json(&message);
        let answer = ToolAnswer::of(&Reply::of(request).await);
        assert!(matches!(answer, ToolAnswer::Done { .. }), "{tool}: {answer:?}");
    }

    async fn check(&self, told: &[Told], pool: &sqlx::PgPool) {
        let url = format!("{}/api/v1/conversations/{}", self.addresses[0], self.id);
        let page = async |query: &str| {
            Reply::of(self.http.get(format!("{url}{query}")).bearer_auth(&self.keys[0])).await.json()
        };
        let read = page("").await;
        let items = |page: &Value| page["timeline"].as_array().expect("a timeline").clone();
        let (mut timeline, mut earlier) = (items(&read), read["earlier"].as_str().map(str::to_owned));
        while let Some(before) = earlier {
            let page = page(&format!("?before={before}")).await;
            timeline.splice(0..0, items(&page));
            earlier = page["earlier"].as_str().map(str::to_owned);
        }
        let timeline = &timeline;

        let wrote = timeline.iter().filter(|item| item["type"] == "note");
        let mut notes: Vec<_> = wrote.map(|note| note["body"].as_str().expect("a body").to_owned()).collect();
        let mut acknowledged: Vec<_> = told.iter().flat_map(|told| told.notes.clone()).collect();
        notes.sort();
        acknowledged.sort();
        assert_eq!(notes, acknowledged, "every note is there, once");

        let replayed = Replayed::of(timeline);
        assert_eq!(read["status"], replayed.status);
        assert_eq!(read["assignee"]["id"], replayed.assignee["id"]);
        let tags: BTreeSet<String> = serde_json::from_value(read["tags"].clone()).expect("tags");
        assert_eq!(tags, replayed.tags);
        let own: BTreeSet<String> = tags.into_iter().filter(|tag| tag.starts_with("own")).collect();
        assert_eq!(own, told.iter().flat_map(|told| told.tags.clone()).collect(), "no tag was lost");

        let turns = turns(pool).await;
        assert_eq!(turns.len(), 1 + replayed.statuses, "one turn.changed for each change, and the first");
        let mut turn = Value::Null;
        for data in turns {
            assert_eq!(data["previous"], turn, "{data}");
            assert_ne!(data["turn"], turn, "{data}");
            turn = data["turn"].clone();
        }
        let calls: usize = told.iter().map(|told| told.calls).sum();
        println!("{calls} calls, {} notes, {} status changes", notes.len(), replayed.statuses);
        assert!(replayed.statuses > 10 && replayed.assignments > 10 && replayed.tagged > 10);
    }
}

/// The state that a timeline leads to, told item by item.
struct Replayed {
    status: String,
    assignee: Value,
    tags: BTreeSet<String>,
    statuses: usize,
    assignments: usize,
    tagged: usize,
}

impl Replayed {
    fn of(timeline: &[Value]) -> Self {
        let (status, assignee, tags) = ("open".to_owned(), Value::Null, BTreeSet::new());
        let mut now = Self { status, assignee, tags, statuses: 0, assignments: 0, tagged: 0 };
        for item in timeline.iter().filter(|item| item["type"] == "event") {
            let data = &item["data"];
            match item["event"].as_str().expect("a name") {
                "status" => {
                    assert_eq!(data["from"], now.status, "{item}");
                    now.status = data["to"].as_str().expect("a status").to_owned();
                    now.statuses += 1;
                }
                "assigned" => {
                    assert_eq!(data["from"], now.assignee, "{item}");
                    now.assignee = data["to"].clone();
                    now.assignments += 1;
                }
                "tags" => {
                    for name in data["removed"].as_array().expect("a list") {
                        assert!(now.tags.remove(name.as_str().expect("a name")), "{item}");
                    }
                    for name in data["added"].as_array().expect("a list") {
                        assert!(now.tags.insert(name.as_str().expect("a name").to_owned()), "{item}");
                    }
                    now.tagged += 1;
                }
                other => panic!("nobody did this: {other}"),
            }
        }
        now
    }
}

/// The data of all `turn.changed` in the order of the changes: the event and the timeline's entry of a change
/// are written by one transaction, and the entries are numbered.
async fn turns(pool: &sqlx::PgPool) -> Vec<Value> {
    let bodies: Vec<String> = sqlx::query_scalar(
        "select body from events
         left join timeline_events told on told.xmin = events.xmin and told.event = 'status'
         where kind = 'turn.changed' order by told.item nulls first",
    )
    .fetch_all(pool)
    .await
    .expect("events can be read");
    let data = |body: &String| serde_json::from_str::<Value>(body).expect("JSON")["data"].clone();
    bodies.iter().map(data).collect()
}
