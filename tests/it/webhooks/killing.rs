//! A node is killed between the POST and the commit, again and again, while changes are committed and taken
//! back. Every committed event arrives at least once, with one id and one body; nothing else does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::random::Random;
use rookery_core::events::event::{Event, ScoutHeld};
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::SANDBOX;
use tokio::sync::Mutex;

use rookery_world::site::{Node, SECRET_KEY, Site};

pub const LOCAL: (&str, &str) = ("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8");
const WEBHOOKS: usize = 5;

/// proves: WH-29, WH-30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_committed_event_arrives_and_no_other_when_nodes_die_between_post_and_commit() {
    kill_nodes(3).await;
}

/// `just fault-webhooks`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn two_hundred_kills() {
    kill_nodes(200).await;
}

/// Bodies by webhook and event.
type Arrived = BTreeMap<(String, String), Vec<Bytes>>;

/// What arrived: the bodies of each event at each webhook. Every so many requests it kills the sender, in turn
/// before its answer, with it, and a moment after it.
#[derive(Clone, Default)]
struct Killer {
    arrived: Arc<Mutex<Arrived>>,
    requests: Arc<AtomicUsize>,
    /// The process to kill, or 0.
    victim: Arc<AtomicU32>,
    kills: Arc<AtomicUsize>,
}

impl Killer {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(receive).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/")
    }

    fn kill(&self) {
        let victim = self.victim.swap(0, Ordering::SeqCst);
        if victim != 0 {
            let killed = std::process::Command::new("kill").args(["-KILL", &victim.to_string()]).status();
            assert!(killed.unwrap().success());
            self.kills.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn receive(State(killer): State<Killer>, uri: Uri, headers: HeaderMap, body: Bytes) {
    let key = (uri.path().to_owned(), headers["webhook-id"].to_str().unwrap().to_owned());
    killer.arrived.lock().await.entry(key).or_default().push(body);
    let number = killer.requests.fetch_add(1, Ordering::SeqCst);
    if number % 7 != 6 {
        return;
    }
    match number % 3 {
        0 => killer.kill(),
        later => {
            // The answer is on its way; what came of it is not written yet.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(5 * later as u64)).await;
                killer.kill();
            });
        }
    }
}

async fn kill_nodes(kills: usize) {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let killer = Killer::default();
    let url = killer.start().await;
    for number in 0..WEBHOOKS {
        let url = format!("{url}{number}");
        let arguments = [
            "admin",
            "create-webhook",
            "--workspace",
            &workspace,
            "--maker",
            &owner,
            "--url",
            &url,
            "--mode",
            "test",
            "--scope",
            "team",
        ];
        assert!(site.command(&arguments).env(LOCAL.0, LOCAL.1).status().unwrap().success());
    }
    let app = app(&site);
    let workspace: WorkspaceId = workspace.parse().unwrap();
    // Short leases, so that what a dead node held is soon taken over.
    let settings = [
        LOCAL,
        ("ROOKERY_LEASE_SECONDS", "2"),
        ("ROOKERY_WEBHOOK_ANSWER_SECONDS", "1"),
        ("ROOKERY_LOG", "warn"),
    ];
    let mut node = site.serve("node", &settings).await;
    killer.victim.store(node.id(), Ordering::SeqCst);
    let (mut committed, mut taken_back) = (BTreeMap::new(), BTreeSet::new());
    let started = Instant::now();
    while killer.kills.load(Ordering::SeqCst) < kills {
        for number in 0..10 {
            let (id, body, tx) = change(&app, workspace).await;
            // Every third is taken back.
            match number % 3 {
                0 => _ = taken_back.insert(id),
                _ => {
                    tx.commit().await.unwrap();
                    committed.insert(id, body);
                }
            }
        }
        // A node that dies every few seconds delivers little: what waits at the end must not be hours of work.
        tokio::time::sleep(Duration::from_millis(200)).await;
        if killer.victim.load(Ordering::SeqCst) == 0 {
            assert_eq!(node.ended().await, None, "it was killed: {}", node.log());
            node = site.serve("node", &settings).await;
            killer.victim.store(node.id(), Ordering::SeqCst);
        }
        assert!(started.elapsed() < Duration::from_secs(60 + 10 * kills as u64), "{}", node.log());
    }
    killer.victim.store(0, Ordering::SeqCst);
    finish(&site, &app, &settings, &mut node).await;

    let arrived = killer.arrived.lock().await;
    let mut repeats = 0;
    for number in 0..WEBHOOKS {
        for (id, body) in &committed {
            let bodies = arrived.get(&(format!("/{number}"), id.clone()));
            let bodies = bodies.unwrap_or_else(|| panic!("{id} never arrived at {number}"));
            assert!(bodies.iter().all(|arrived| arrived == body.as_bytes()), "{id} has two bodies");
            repeats += bodies.len() - 1;
        }
    }
    assert_eq!(arrived.len(), committed.len() * WEBHOOKS, "something arrived that was never committed");
    assert!(taken_back.iter().all(|id| !committed.contains_key(id)) && !taken_back.is_empty());
    println!(
        "{} events for {WEBHOOKS} webhooks, {} taken back, {} kills in {:.0} s: all arrived, {repeats} of them again",
        committed.len(),
        taken_back.len(),
        killer.kills.load(Ordering::SeqCst),
        started.elapsed().as_secs_f64()
    );
}

/// Lets the last node work until nothing waits.
async fn finish(site: &Site, app: &App, settings: &[(&str, &str)], node: &mut Node) {
    tokio::time::sleep(Duration::from_millis(100)).await;
    *node = site.serve("last", settings).await;
    let (mut least, mut since) = (i64::MAX, Instant::now());
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "select (select count(*) from unfanned_events) + (select count(*) from deliveries)",
        )
        .fetch_one(&app.pool)
        .await
        .unwrap();
        if waiting == 0 {
            return;
        }
        if waiting < least {
            (least, since) = (waiting, Instant::now());
        }
        assert!(since.elapsed() < Duration::from_secs(60), "{waiting} wait: {}", node.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub fn app(site: &Site) -> App {
    let given = [("ROOKERY_DATABASE_URL", site.database.url()), ("ROOKERY_SECRET_KEY", SECRET_KEY)];
    let blobs = format!("file://{}", site.folder.join("blobs").display());
    let given = given.into_iter().chain([("ROOKERY_BLOBS", blobs.as_str())]);
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    App::new(Config::load(None, given).unwrap(), Clock::system(), Random::system()).unwrap()
}

/// A change that is not committed yet: its event's id and body.
pub async fn change(
    app: &App,
    workspace: WorkspaceId,
) -> (String, String, rookery_base::store::db::Tx<'static>) {
    let mut tx = app.begin(workspace).await.unwrap();
    let held =
        Event::ScoutHeld(ScoutHeld { conversation_id: ConversationId(app.random.number() as i64 >> 1) });
    let place = EventContext { audience: SANDBOX, livemode: false, conversation: None, inbox: "Sandbox" };
    let id = record(&mut tx, place, &held).await.unwrap();
    let body: String = sqlx::query_scalar("select body from events where workspace_id = $1 and id = $2")
        .bind(workspace)
        .bind(id)
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    (id.to_string(), body, tx)
}
