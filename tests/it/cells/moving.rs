//! A workspace moves to another cell while it is used: what was acknowledged is there after it, whatever was killed on the
//! way; readers notice nothing, and writers are refused for a moment.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tokio::task::JoinHandle;

use super::fleet::{Fleet, Serves, Tenant};
use crate::world::Reply;
use crate::world::site::{Node, until};

/// What a move says at the beginning of each step.
const STEPS: [&str; 5] = ["copying", "comparing", "switching", "opening", "cleaning up"];

/// Somebody who writes, reads and sends without a pause, and remembers what they were promised.
struct Load {
    stop: Arc<AtomicBool>,
    writers: Vec<JoinHandle<Written>>,
    readers: Vec<JoinHandle<Refused>>,
}

#[derive(Default)]
struct Written {
    notes: BTreeSet<String>,
    replies: BTreeSet<String>,
    refused: Refused,
}

#[derive(Default)]
struct Refused {
    times: usize,
    since: Option<Instant>,
    longest: Duration,
}

impl Refused {
    fn saw(&mut self, fine: bool) {
        match (fine, self.since) {
            (true, Some(since)) => {
                self.longest = self.longest.max(since.elapsed());
                self.since = None;
            }
            (false, None) => self.since = Some(Instant::now()),
            _ => {}
        }
        self.times += usize::from(!fine);
    }
}

async fn conversation(fleet: &Fleet, node: &Node, key: &str) -> String {
    let mail = json!({ "from": "carla@customer.test", "subject": "Order", "text": "Hello" });
    let request = fleet.site.http.post(format!("{}/api/v1/sandbox/inbound", node.address));
    let answer = Reply::of(request.bearer_auth(key).json(&mail)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["conversationId"].as_str().unwrap().to_owned()
}

impl Load {
    /// On every node: one who writes notes and replies that leave, one who reads.
    async fn begin(fleet: &Fleet, nodes: &[Node], tenant: &Tenant) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for (number, node) in nodes.iter().enumerate() {
            let conversation = conversation(fleet, node, &tenant.test).await;
            let at = format!("{}/api/v1/conversations/{conversation}", node.address);
            let (http, key, ended) = (fleet.site.http.clone(), tenant.test.clone(), stop.clone());
            let address = at.clone();
            writers.push(tokio::spawn(async move {
                let mut written = Written::default();
                for turn in 0.. {
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                    let words = format!("note {number} {turn}");
                    let note = http.post(format!("{address}/notes")).bearer_auth(&key);
                    let done = Reply::try_of(note.json(&json!({ "body": words }))).await;
                    let fine = done.is_ok_and(|answer| answer.status == 201);
                    written.refused.saw(fine);
                    if fine {
                        written.notes.insert(words);
                    }
                    if turn % 5 == 0 {
                        let reply = http.post(format!("{address}/replies")).bearer_auth(&key);
                        let reply = reply.json(&json!({ "body": format!("reply {turn}"), "send": true }));
                        if let Ok(answer) = Reply::try_of(reply).await
                            && answer.status == 201
                        {
                            written.replies.insert(answer.json()["messageId"].as_str().unwrap().to_owned());
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                written
            }));
            let (http, key, ended) = (fleet.site.http.clone(), tenant.test.clone(), stop.clone());
            readers.push(tokio::spawn(async move {
                let mut refused = Refused::default();
                while !ended.load(Ordering::Relaxed) {
                    let read = Reply::try_of(http.get(&at).bearer_auth(&key)).await;
                    refused.saw(read.is_ok_and(|answer| answer.status == 200));
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                refused
            }));
        }
        Self { stop, writers, readers }
    }

    async fn end(self) -> (Written, Refused) {
        self.stop.store(true, Ordering::Relaxed);
        let (mut all, mut reading) = (Written::default(), Refused::default());
        for writer in self.writers {
            let written = writer.await.expect("a writer ends");
            all.notes.extend(written.notes);
            all.replies.extend(written.replies);
            all.refused.times += written.refused.times;
            all.refused.longest = all.refused.longest.max(written.refused.longest);
        }
        for reader in self.readers {
            let refused = reader.await.expect("a reader ends");
            reading.times += refused.times;
            reading.longest = reading.longest.max(refused.longest);
        }
        (all, reading)
    }
}

/// What was promised is there, each once; what was to leave has left, each once.
async fn ledger(fleet: &Fleet, tenant: &Tenant, written: &Written) {
    let pool = fleet.pool(&fleet.lives_in(tenant).await).await;
    let id = tenant.number();
    let notes = format!("select body from notes where workspace_id = {id} and body like 'note %'");
    let notes: Vec<String> = sqlx::query_scalar(AssertSqlSafe(notes)).fetch_all(&pool).await.unwrap();
    let kept: BTreeSet<String> = notes.iter().cloned().collect();
    assert_eq!(kept.len(), notes.len(), "a note is there twice");
    let lost: Vec<&String> = written.notes.difference(&kept).collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");

    let unsent = format!(
        "select count(*) from messages where workspace_id = {id} and direction = 'outbound' and status <> 'sent'"
    );
    for _ in 0..300 {
        if sqlx::query_scalar::<_, i64>(AssertSqlSafe(unsent.clone())).fetch_one(&pool).await.unwrap() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let sent: Vec<(i64, i64)> = sqlx::query_as(AssertSqlSafe(format!(
        "select m.id, (select count(*) from sandbox_mail s where s.workspace_id = m.workspace_id and s.message_id = m.id)
         from messages m where workspace_id = {id} and direction = 'outbound'"
    )))
    .fetch_all(&pool)
    .await
    .unwrap();
    let promised: BTreeSet<i64> =
        written.replies.iter().map(|text| text.parse::<rookery::ids::MessageId>().unwrap().0).collect();
    let there: BTreeSet<i64> = sent.iter().map(|(message, _)| *message).collect();
    assert!(promised.is_subset(&there), "a reply was promised and is not there");
    let wrong: Vec<_> = sent.iter().filter(|(_, times)| *times != 1).collect();
    assert!(wrong.is_empty(), "message and how often it left: {wrong:?}");
    let drifted: i64 = sqlx::query_scalar(AssertSqlSafe(format!(
        "select count(*) from (select mailbox_id, audience, count(*) as n from conversations
             where workspace_id = {id} and view = 'open' group by 1, 2) counted
         join counts on workspace_id = {id} and what = 'open' and subject_id = mailbox_id
              and counts.audience = counted.audience
         where counts.n + coalesce((select sum(c.change) from count_changes c where c.workspace_id = {id} and c.what = 'open'
              and c.subject_id = mailbox_id and c.audience = counted.audience), 0) <> counted.n"
    )))
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(drifted, 0, "counts have moved twice or not at all");
}

/// Runs a move. It is killed when it says this step, so many milliseconds later; else it must end well.
fn run_move(fleet: &Fleet, tenant: &Tenant, to: &str, killed: Option<(&str, u64)>) -> Vec<Value> {
    let mut child = fleet.begin(&["cells", "--json", "move", "--workspace", &tenant.id, "--to", to]);
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).expect("a line is JSON");
        if let Some((step, after)) = killed
            && line["step"] == step
        {
            std::thread::sleep(Duration::from_millis(after));
            child.kill().unwrap();
        }
        said.push(line);
    }
    let ended = child.wait().unwrap();
    if killed.is_none() {
        assert!(ended.success(), "{said:?}");
    }
    said
}

fn closed_seconds(said: &[Value]) -> Option<f64> {
    said.iter().find_map(|line| line["closedSeconds"].as_f64())
}

const QUICK: [(&str, &str); 2] =
    [("ROOKERY_SANDBOX_UNDO_WINDOW_SECONDS", "1"), ("ROOKERY_LEASE_SECONDS", "30")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_moves_there_and_back_under_load_and_nothing_is_lost_or_done_twice() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let from = fleet.lives_in(&tenant).await;
    let to = if from == "main" { "west" } else { "main" };
    let nodes =
        [fleet.serve("one", Serves::Both, &QUICK).await, fleet.serve("two", Serves::Both, &QUICK).await];
    let load = Load::begin(&fleet, &nodes, &tenant).await;
    let said = tokio::task::block_in_place(|| run_move(&fleet, &tenant, to, None));
    assert_eq!(fleet.lives_in(&tenant).await, to);
    assert_eq!(fleet.rows(&from, &tenant).await, 0, "nothing is left in the old cell");
    // Killed at one step on the way back, and run again.
    tokio::task::block_in_place(|| {
        run_move(&fleet, &tenant, &from, Some(("switching", 50)));
        run_move(&fleet, &tenant, &from, None)
    });
    assert_eq!(fleet.lives_in(&tenant).await, from);
    assert_eq!(fleet.rows(to, &tenant).await, 0, "nothing is left in the old cell");
    let (written, reading) = load.end().await;
    println!(
        "{} notes, {} replies; closed for {:?} s; writes refused {} times, {:?} at most; reads refused {} times",
        written.notes.len(),
        written.replies.len(),
        closed_seconds(&said),
        written.refused.times,
        written.refused.longest,
        reading.times
    );
    assert!(written.notes.len() > 20 && !written.replies.is_empty(), "there was a load");
    assert_eq!(reading.times, 0, "readers notice nothing");
    ledger(&fleet, &tenant, &written).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_given_up_leaves_everything_as_it_was() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let from = fleet.lives_in(&tenant).await;
    let to = if from == "main" { "west" } else { "main" };
    let node = fleet.serve("one", Serves::Both, &QUICK).await;
    let conversation = conversation(&fleet, &node, &tenant.test).await;
    for (step, after) in [("copying", 300), ("comparing", 0), ("switching", 0)] {
        tokio::task::block_in_place(|| run_move(&fleet, &tenant, to, Some((step, after))));
        if step == "copying" {
            refuses_to_migrate(&fleet).await;
        }
        let given_up = fleet.run(&["cells", "move", "--workspace", &tenant.id, "--abort"]);
        let said = String::from_utf8_lossy(&given_up.stdout).into_owned();
        assert!(given_up.status.success() && said.contains("stays in the cell"), "{step}: {given_up:?}");
        assert_eq!(fleet.lives_in(&tenant).await, from);
        assert_eq!(fleet.rows(to, &tenant).await, 0, "{step}: nothing stays where it did not go");
        let pool = fleet.pool(&from).await;
        let left: i64 = sqlx::query_scalar(
            "select (select count(*) from pg_publication) + (select count(*) from pg_replication_slots
                where database = current_database())",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        assert_eq!(left, 0, "{step}: nothing copies any more");
        let note =
            fleet.site.http.post(format!("{}/api/v1/conversations/{conversation}/notes", node.address));
        let note = Reply::of(note.bearer_auth(&tenant.test).json(&json!({ "body": step }))).await;
        assert_eq!(note.status, 201, "{}", note.text);
    }
    let given_up = fleet.run(&["cells", "move", "--workspace", &tenant.id, "--abort"]);
    assert!(!given_up.status.success(), "there is nothing to give up");
}

/// A newer version comes in the middle of a move.
async fn refuses_to_migrate(fleet: &Fleet) {
    let pool = fleet.pool("main").await;
    let newest = "from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)";
    let forget = format!("create table put_aside as select * {newest}; delete {newest}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(forget)).execute(&pool).await.unwrap();
    let refused = fleet.run(&["migrate"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("is on its way to another cell"), "{refused:?}");
    let back = "insert into _sqlx_migrations select * from put_aside; drop table put_aside";
    sqlx::raw_sql(back).execute(&pool).await.unwrap();
    let done = fleet.run(&["migrate"]);
    assert!(done.status.success(), "there is nothing to migrate: {done:?}");
}

/// The long one: `just fault-moves`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes long; just fault-moves"]
async fn twenty_moves_under_load_with_a_kill_at_every_step_lose_nothing() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let mut nodes = Vec::new();
    for name in ["one", "two"] {
        nodes.push(fleet.serve(name, Serves::Both, &QUICK).await);
    }
    let load = Load::begin(&fleet, &nodes, &tenant).await;
    let mut closed = Vec::new();
    for turn in 0..20 {
        let from = fleet.lives_in(&tenant).await;
        let to = if from == "main" { "west" } else { "main" };
        let began = Instant::now();
        // Every step four times, each time a little later in it.
        let (step, after) = (STEPS[turn % 5], (turn / 5 * 150) as u64);
        tokio::task::block_in_place(|| {
            let said = run_move(&fleet, &tenant, to, Some((step, after)));
            closed.extend(closed_seconds(&said));
            // Cleaned up to the end before it was killed, it has nothing left to do.
            let again = fleet.run(&["cells", "--json", "move", "--workspace", &tenant.id, "--to", to]);
            let said = String::from_utf8(again.stdout.clone()).unwrap();
            closed.extend(
                said.lines()
                    .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["closedSeconds"].as_f64()),
            );
            let over = String::from_utf8_lossy(&again.stderr).contains("already");
            assert!(again.status.success() || over, "{again:?}");
        });
        assert_eq!(fleet.lives_in(&tenant).await, to);
        assert_eq!(fleet.rows(&from, &tenant).await, 0);
        println!("move {turn}: killed {step} +{after} ms, {:.1} s in all", began.elapsed().as_secs_f64());
    }
    let (written, reading) = load.end().await;
    closed.sort_by(f64::total_cmp);
    println!(
        "{} notes and {} replies acknowledged; closed {:?} s; writes refused {} times, at most {:.2} s in a row; \
         reads refused {} times",
        written.notes.len(),
        written.replies.len(),
        closed,
        written.refused.times,
        written.refused.longest.as_secs_f64(),
        reading.times
    );
    assert_eq!(reading.times, 0, "readers notice nothing");
    ledger(&fleet, &tenant, &written).await;
}

/// Both were begun by somebody who died: the export under a lease, the erasure at its first conversation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_and_an_erasure_in_hand_are_finished_in_the_new_cell() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let from = fleet.lives_in(&tenant).await;
    let (to, serves) = if from == "main" { ("west", Serves::West) } else { ("main", Serves::Main) };
    let node = fleet.serve("one", Serves::Both, &[]).await;
    conversation(&fleet, &node, &tenant.test).await;
    drop(node);

    let old = fleet.pool(&from).await;
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut holding = old.begin().await.unwrap();
    sqlx::raw_sql("select from conversations for update").execute(&mut *holding).await.unwrap();
    let mut erasing = fleet.begin(&[
        "admin",
        "erase-contact",
        "--workspace",
        &tenant.id,
        "--person",
        &tenant.owner,
        "--address",
        "carla@customer.test",
    ]);
    let waits = "select exists (select from pg_stat_activity where datname = current_database()
                                  and wait_event_type = 'Lock' and query like '%conversations%')";
    until(&old, waits).await;
    erasing.kill().unwrap();
    erasing.wait().unwrap();
    drop(holding);
    let export = format!(
        "insert into exports (workspace_id, id, person_id, is_contact, created_at, due_at, claim, tries)
         select workspace_id, 7, id, false, now(), now() + interval '3 seconds', 1, 1 from people where workspace_id = {}",
        tenant.number()
    );
    sqlx::raw_sql(AssertSqlSafe(export)).execute(&old).await.unwrap();

    tokio::task::block_in_place(|| run_move(&fleet, &tenant, to, None));
    let new = fleet.pool(to).await;
    let left = "select (select count(*) from erasures where done_at is null)
                     + (select count(*) from exports where made_at is null)";
    assert_eq!(sqlx::query_scalar::<_, i64>(left).fetch_one(&new).await.unwrap(), 2, "both came along");
    let _node = fleet.serve("two", serves, &[]).await;
    until(
        &new,
        "select not exists (select from erasures where done_at is null)
            and not exists (select from exports where made_at is null)",
    )
    .await;
    let theirs =
        sqlx::query_scalar::<_, i64>("select count(*) from conversations where contact_email like 'carla@%'");
    assert_eq!(theirs.fetch_one(&new).await.unwrap(), 0);
    assert_eq!(fleet.rows(&from, &tenant).await, 0);
}
