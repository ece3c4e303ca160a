//! Nodes are killed in the middle of handing mail to a relay: before the greeting, at EHLO, at RCPT, after the
//! final dot, and between the relay's 250 and the commit. The relays' ledger shows that no mail is lost, that a
//! second copy comes only from a node that died with the first in its hands, and that it is the same mail.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::faults::sends::seed;
use rookery_world::cluster::{Cluster, Settings};
use rookery_world::sink::{Does, Ledger, Sink, Step, Taken};
use rookery_world::site::{Node, Site};

const NODES: usize = 3;
const LEASE_SECONDS: u64 = 8;
const MORE_TRIES: usize = 6;
const ACCEPTED: &str = "Accepted";
/// Where a node is killed.
const MOMENTS: [Moment; 5] = [
    Moment::At(Step::Greeting),
    Moment::At(Step::Hello),
    Moment::At(Step::Recipient),
    Moment::At(Step::Dot),
    Moment::Accepted,
];

#[derive(Clone, Copy, Debug)]
enum Moment {
    At(Step),
    /// The relay has said 250, and nothing is written down yet.
    Accepted,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_mail_is_lost_and_a_repeat_is_the_same_mail_when_nodes_die_while_handing_over() {
    hand_over(MOMENTS.len()).await;
}

/// `just fault-smtp-sends`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn two_hundred_kills_while_handing_over() {
    hand_over(200).await;
}

struct Kill {
    node: usize,
    at: Instant,
}

async fn hand_over(kills_wanted: usize) {
    let cluster = Cluster::start(&Settings { durable: true, ..Settings::test() });
    let site = Site::on(&cluster).await;
    site.migrate();
    let (workspace, owner) = site.workspace();
    site.key(&workspace, &owner, "bot", "live");
    site.inbox(&workspace, "help@acme.test", "Help");
    site.admin(&["add-domain", "--workspace", &workspace, "--domain", "acme.test"]);
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    let (ledger, started) = (Ledger::default(), Instant::now());
    let mut sinks = Vec::new();
    let mut nodes = Vec::new();
    for number in 0..NODES {
        sinks.push(Sink::numbered(number, ledger.clone()).await);
        nodes.push(start(&site, &sinks[number], number).await);
    }
    // Some are always due while nodes are killed, so their time begins when the nodes have started.
    let messages = 600 + kills_wanted * 20;
    seed(&pool, "team", messages, 40 + kills_wanted * 3 / 2).await;
    let mut kills: Vec<Kill> = Vec::new();
    let mut by_moment = BTreeMap::new();
    // A few kills may miss their moment; a full run meets every one.
    let wanted = if kills_wanted > 20 { MOMENTS.len() } else { 2 };
    for round in 0..kills_wanted + MORE_TRIES {
        let victim = round % NODES;
        let moment = if round < kills_wanted {
            MOMENTS[round % MOMENTS.len()]
        } else if by_moment.get(ACCEPTED) == Some(&0) {
            // On a busy machine a kill may miss its moment: this one has to be seen, and enough of the others.
            Moment::Accepted
        } else if met(&by_moment) < wanted {
            MOMENTS[round % MOMENTS.len()]
        } else {
            break;
        };
        let (reached, lock) = wait_for(&pool, &sinks[victim], moment).await;
        nodes[victim].signal("-KILL");
        kills.push(Kill { node: victim, at: Instant::now() });
        drop(lock);
        *by_moment.entry(format!("{moment:?}")).or_insert(0) += usize::from(reached);
        sinks[victim].behaves();
        nodes[victim] = start(&site, &sinks[victim], victim).await;
    }
    all_sent(&pool, &nodes).await;
    let took = started.elapsed();
    for node in &nodes {
        node.terminate();
    }

    let taken = ledger.lock().unwrap().clone();
    let extra = judge(&pool, &taken, &kills, messages).await;
    println!(
        "{messages} mails in {:.1} s, {} kills, reached where wanted: {by_moment:?}, {extra} extra copies",
        took.as_secs_f64(),
        kills.len()
    );
    assert!(met(&by_moment) >= wanted, "kills came only at {by_moment:?}");
    assert!(extra > 0, "no kill came between handing over and writing down: the test shows nothing of it");
}

/// Moments at which a kill came.
fn met(by_moment: &BTreeMap<String, usize>) -> usize {
    by_moment.values().filter(|reached| **reached > 0).count()
}

async fn start(site: &Site, sink: &Sink, number: usize) -> Node {
    let relay = sink.relay();
    let lease = LEASE_SECONDS.to_string();
    let settings = [
        ("ROOKERY_LEASE_SECONDS", lease.as_str()),
        ("ROOKERY_LOG", "error"),
        ("ROOKERY_RELAY", relay.as_str()),
    ];
    site.serve(&format!("node {number}"), &settings).await
}

/// Waits until the node behind this sink is at the moment; false when it had nothing to do for a while. What
/// is locked for it stays locked until the node is dead.
async fn wait_for(
    pool: &sqlx::PgPool,
    sink: &Sink,
    moment: Moment,
) -> (bool, Option<sqlx::Transaction<'static, sqlx::Postgres>>) {
    // Shorter than the rest of a lease after a handover: else another node would rightly take over.
    let patience = Duration::from_millis(1_500);
    let Moment::At(step) = moment else {
        // Nobody can write anything down while conversations are locked; the relay goes on accepting.
        #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
        let mut tx = pool.begin().await.unwrap();
        sqlx::query("lock table conversations in share row exclusive mode").execute(&mut *tx).await.unwrap();
        let (before, began) = (taken_by(sink), Instant::now());
        while taken_by(sink) == before && began.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // Time for the 250 to arrive.
        tokio::time::sleep(Duration::from_millis(20)).await;
        return (taken_by(sink) > before, Some(tx));
    };
    sink.does(step, Does::Hangs);
    (sink.hangs(patience).await, None)
}

fn taken_by(sink: &Sink) -> usize {
    sink.taken().iter().filter(|taken| taken.sink == sink.number()).count()
}

async fn all_sent(pool: &sqlx::PgPool, nodes: &[Node]) {
    let began = Instant::now();
    loop {
        let waiting: i64 =
            sqlx::query_scalar("select count(*) from messages where status in ('scheduled', 'sending')")
                .fetch_one(pool)
                .await
                .unwrap();
        if waiting == 0 {
            return;
        }
        let log = || nodes.iter().map(Node::log).collect::<String>();
        // What failed with "later" waits a minute.
        assert!(began.elapsed() < Duration::from_secs(150), "{waiting} still wait: {}", log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Every message is at a relay; a repeat is the same bytes, and its first copy was in the hands of a node that
/// died, or did nothing for the rest of its lease, before the second came. Gives the number of repeats.
async fn judge(pool: &sqlx::PgPool, ledger: &[Taken], kills: &[Kill], messages: usize) -> usize {
    let mut copies: BTreeMap<String, Vec<&Taken>> = BTreeMap::new();
    for taken in ledger {
        copies.entry(taken.field("Message-ID").unwrap()).or_default().push(taken);
    }
    let sent: Vec<(String, String)> =
        sqlx::query_as("select '<' || rfc_message_id || '>', status from messages")
            .fetch_all(pool)
            .await
            .unwrap();
    assert_eq!(sent.len(), messages);
    for (id, status) in &sent {
        assert_eq!(status, "sent", "{id}");
        assert!(copies.contains_key(id), "{id} says it was sent, and is at no relay");
    }
    assert_eq!(copies.len(), messages, "something left that nobody wrote");
    for (id, copies) in &copies {
        for two in copies.windows(2) {
            assert!(two[0].raw == two[1].raw && two[0].from == two[1].from, "{id} left in two forms");
            let died = |kill: &Kill| kill.node == two[0].sink && (two[0].at..two[1].at).contains(&kill.at);
            // On a machine that is very busy a node may not come to write for so long that it counts as dead. When
            // the relay accepts a mail, a third of the lease is left at least.
            let overdue = two[1].at - two[0].at >= Duration::from_secs(LEASE_SECONDS) / 3;
            assert!(overdue || kills.iter().any(died), "{id} left twice, and no node died in between");
        }
        assert!(copies[0].raw.starts_with("DKIM-Signature:"));
    }
    let (told, events): (i64, i64) = sqlx::query_as(
        "select count(distinct body::json->'data'->>'message_id'), count(*) from events where kind = 'message.sent'",
    )
    .fetch_one(pool)
    .await
    .unwrap();
    assert_eq!((told, events), (messages as i64, messages as i64), "one event for each");
    ledger.len() - messages
}
