//! Three nodes work off due messages while one of them is killed every two seconds and PostgreSQL crashes
//! once. The sandbox's ledger shows what left: everything, at its time, nothing that was stopped, and a
//! repeat only where a node died between handing over and writing down.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::AssertSqlSafe;

use rookery_world::cluster::{Cluster, Settings};
use rookery_world::site::{Node, Site};

const NODES: usize = 3;
const KEYS: usize = 10;
const SETTINGS: &[(&str, &str)] = &[("ROOKERY_LEASE_SECONDS", "6"), ("ROOKERY_LOG", "warn")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_sent_early_or_sent_after_it_was_stopped_when_nodes_and_the_database_die() {
    work_off(600, 3).await;
}

/// `just fault-sends`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn twenty_thousand_sends_under_kills() {
    work_off(20_000, usize::MAX).await;
}

/// A message: its id, status and time, and when and under which names it left.
type Row = (i64, String, DateTime<Utc>, Vec<DateTime<Utc>>, Vec<String>);

async fn work_off(messages: usize, most_kills: usize) {
    let cluster = Cluster::start(&Settings { durable: true, ..Settings::test() });
    let site = Site::on(&cluster).await;
    site.migrate();
    let (workspace, owner) = site.workspace();
    let agents: Vec<String> =
        (0..KEYS).map(|n| site.key(&workspace, &owner, &format!("bot {n}"), "test").0).collect();
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    // Half are due at once, half over the next while; the last key's are due when the others are done.
    let spread = (messages / 100).clamp(8, 60);
    seed(&pool, "sandbox", messages, spread).await;
    // The keys whose messages are spread out the longest: one before anything leaves, however slow the machine, one meanwhile.
    let revoke = |agent: &str| site.admin(&["revoke-key", "--workspace", &workspace, "--agent", agent]);
    revoke(&agents[KEYS - 1]);

    let started = Instant::now();
    let mut nodes = Vec::new();
    for n in 0..NODES {
        nodes.push(site.serve(&format!("node {n}"), SETTINGS).await);
    }
    let (mut kills, mut crashed, mut revoked) = (0, false, false);
    let mut waiting = messages as i64;
    while waiting > 0 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        if kills < most_kills {
            let victim = kills % NODES;
            nodes[victim].signal("-KILL");
            kills += 1;
            nodes[victim] = again(&site, victim).await;
        }
        if !revoked {
            revoke(&agents[KEYS - 2]);
            revoked = true;
        }
        if !crashed && kills >= 2 {
            cluster.crash_and_restart();
            crashed = true;
        }
        let counted = "select count(*) from messages where status in ('scheduled', 'sending')";
        if let Ok(now) = sqlx::query_scalar(counted).fetch_one(&pool).await {
            waiting = now;
        }
        let log = || nodes.iter().map(Node::log).collect::<String>();
        assert!(started.elapsed() < Duration::from_secs(60 + messages as u64 / 20), "it hangs: {}", log());
    }
    let took = started.elapsed();

    let rows: Vec<Row> = sqlx::query_as(
        "select m.id, status, coalesce(sends_at, at),
             array(select at from sandbox_mail s where s.message_id = m.id),
             array(select rfc_message_id from sandbox_mail s where s.message_id = m.id)
         from messages m",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(rows.len(), messages);
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut repeats = 0;
    for (id, status, sends_at, left, names) in &rows {
        *outcomes.entry(status).or_default() += 1;
        match status.as_str() {
            "sent" => assert!(!left.is_empty(), "{id} says it was sent, but did not leave"),
            "draft" => assert!(left.is_empty(), "{id} was stopped, and left"),
            other => panic!("{id} ended as {other}"),
        }
        assert!(left.iter().all(|at| at >= sends_at), "{id} left before its time");
        assert!(names.windows(2).all(|two| two[0] == two[1]), "{id} left under two names");
        repeats += left.len().saturating_sub(1);
    }
    let told: i64 = sqlx::query_scalar(
        "select count(distinct body::json->'data'->>'message_id') from events where kind = 'message.sent'",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    let events: i64 = sqlx::query_scalar("select count(*) from events where kind = 'message.sent'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!((told, events), (outcomes["sent"] as i64, outcomes["sent"] as i64), "one event for each");
    println!(
        "{messages} messages in {:.1} s, {kills} kills, 1 crash of PostgreSQL: {outcomes:?}, {repeats} left twice",
        took.as_secs_f64()
    );
    assert!(outcomes["draft"] > 0, "nothing was stopped in time: the test shows nothing of it");
    // When PostgreSQL crashes, each node may be between handing over and writing down.
    assert!(repeats <= kills + NODES, "{repeats} repeats for {kills} kills");
}

async fn again(site: &Site, number: usize) -> Node {
    site.serve(&format!("node {number}"), SETTINGS).await
}

/// Conversations of an inbox of this kind with a scheduled message each, by the keys in turn. With several
/// keys, what the last two sent is due at the very end.
pub async fn seed(pool: &sqlx::PgPool, kind: &str, messages: usize, spread_seconds: usize) {
    let statement = format!(
        "insert into conversations (workspace_id, id, mailbox_id, audience, contact_email, subject, status,
             announced_turn, created_at, last_message_at, message_count, last_item)
         select m.workspace_id, 1000000 + n, m.id, m.audience, 'customer' || n || '@x.example', 'Case', 'open', 'ours',
             now(), now(), 1, 1
         from mailboxes m, generate_series(1, {messages}) n where kind = '{kind}';
         with agents as (
             select id, row_number() over (order by name) - 1 as number, count(*) over () as all from agents)
         insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at,
             due_at, from_email, text, rfc_message_id, author_type, author_id, sandbox)
         select c.workspace_id, c.id, c.id, c.mailbox_id, 1, now(), 'outbound', 'scheduled', due, due,
             m.address, 'Hello', c.id || '@acme.test', 'agent', agents.id, c.audience = -1
         from conversations c join agents on agents.number = c.id % agents.all
             join mailboxes m on m.workspace_id = c.workspace_id and m.id = c.mailbox_id,
             lateral (select date_trunc('milliseconds', now()) + case
                 when agents.all > 2 and agents.number >= agents.all - 2 then interval '1 second' * {spread_seconds}
                 when c.id % 2 = 0 then interval '0'
                 else random() * interval '1 second' * {spread_seconds} end as due) time"
    );
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}
