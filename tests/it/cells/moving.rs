//! A workspace moves to another cell while it is used: what was acknowledged is there after it, whatever was killed on the
//! way; readers notice nothing, and writers are refused for a moment.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use rookery_upkeep::moves::{self, Sides};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::fleet::{Fleet, Serves, Tenant};
use super::load::{Load, Outside, conversation, ledger, settle};
use rookery_world::Reply;
use rookery_world::site::until;

/// What a move says at the beginning of each step.
const STEPS: [&str; 5] = ["copying", "comparing", "switching", "opening", "cleaning up"];

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
    let sink = Outside::sink().await;
    let relay = sink.relay();
    let settings = [&QUICK[..], &Outside::settings(&relay)].concat();
    let nodes = [
        fleet.serve("one", Serves::Both, &settings).await,
        fleet.serve("two", Serves::Both, &settings).await,
    ];
    let load = Load::begin(&fleet, &nodes, &tenant).await;
    let outside = Outside::begin(&fleet, &nodes[0], &tenant, sink).await;
    // Another command tries to give the first one's move up.
    let closed = moves_all_the_same(&fleet, &tenant, to, "switching", Befalls::GivenUp).await;
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
    let ended = outside.end().await;
    println!(
        "{} notes, {} replies; closed for {closed:?} s; writes refused {} times, {:?} at most; reads refused {} times",
        written.notes.len(),
        written.replies.len(),
        written.refused.times,
        written.refused.longest,
        reading.times
    );
    assert!(written.notes.len() > 20 && !written.replies.is_empty(), "there was a load");
    assert_eq!(reading.times, 0, "readers notice nothing");
    ledger(&fleet, &tenant, &written).await;
    let settled = settle(&fleet, &nodes[0], &tenant, &ended).await;
    println!("{settled:?}");
    assert!(settled.mails > 10 && settled.events > 10 && settled.files > 1, "there was a load: {settled:?}");
    assert_eq!(settled.twice, [""; 0], "nothing left or was heard twice");
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

/// What befalls a command at a step.
#[derive(Clone, Copy, Debug)]
enum Befalls {
    /// It is killed so many milliseconds later, and run again.
    Killed(u64),
    /// Another is begun that does the same.
    Again,
    /// Another is begun that gives the move up.
    GivenUp,
}

/// A move to its end, whatever befalls it at this step. Gives for how long it was closed.
async fn moves_all_the_same(fleet: &Fleet, tenant: &Tenant, to: &str, step: &str, what: Befalls) -> Vec<f64> {
    let from = fleet.lives_in(tenant).await;
    let arguments = ["cells", "--json", "move", "--workspace", &tenant.id, "--to", to];
    if let Befalls::Killed(after) = what {
        return tokio::task::block_in_place(|| {
            let mut said = run_move(fleet, tenant, to, Some((step, after)));
            // Cleaned up to the end before it was killed, it has nothing left to do.
            let again = fleet.run(&arguments);
            let over = String::from_utf8_lossy(&again.stderr).contains("already");
            assert!(again.status.success() || over, "{again:?}");
            let text = String::from_utf8(again.stdout).unwrap();
            said.extend(
                text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON")),
            );
            closed_seconds(&said).into_iter().collect()
        });
    }
    let directory = fleet.directory().await;
    let mut first = fleet.begin(&arguments);
    let (mut said, mut second, mut stale) = (Vec::new(), None, None);
    for line in BufReader::new(first.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).expect("a line is JSON");
        if line["step"] == step {
            // One that has read the step and is slow to connect, and one that is not.
            stale = directory.move_of(tenant.workspace()).await.unwrap();
            let give_up = ["cells", "move", "--workspace", &tenant.id, "--abort"];
            second = Some(fleet.begin(if matches!(what, Befalls::GivenUp) { &give_up } else { &arguments }));
        }
        said.push(line);
    }
    tokio::task::block_in_place(|| {
        assert!(first.wait().unwrap().success(), "{said:?}");
        let ended = second.expect("the step was said").wait().unwrap();
        assert!(!ended.success(), "a second command has nothing to do");
    });
    if let Some(stale) = stale {
        let mut sides = Sides { from: fleet.side(&from).await, to: fleet.side(to).await };
        moves::give_up(&directory, &mut sides, &stale).await.expect_err("what was read before is over");
    }
    closed_seconds(&said).into_iter().collect()
}

/// The long one: `just fault-moves`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes long; just fault-moves"]
async fn twenty_moves_under_load_with_kills_second_commands_and_a_restore_lose_nothing_and_do_nothing_twice()
{
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let sink = Outside::sink().await;
    let relay = sink.relay();
    let settings = [&QUICK[..], &Outside::settings(&relay)].concat();
    let mut nodes = Vec::new();
    for name in ["one", "two"] {
        nodes.push(fleet.serve(name, Serves::Both, &settings).await);
    }
    let load = Load::begin(&fleet, &nodes, &tenant).await;
    let outside = Outside::begin(&fleet, &nodes[0], &tenant, sink).await;
    let (mut closed, mut restored) = (Vec::new(), String::new());
    for turn in 0..20 {
        let from = fleet.lives_in(&tenant).await;
        let to = if from == "main" { "west" } else { "main" };
        let began = Instant::now();
        if turn == 19 {
            fleet.back_up(&from, &tenant).await;
            restored.clone_from(&from);
        }
        let what = [Befalls::Killed(0), Befalls::Again, Befalls::GivenUp, Befalls::Killed(300)][turn / 5];
        let step = STEPS[turn % 5];
        closed.extend(moves_all_the_same(&fleet, &tenant, to, step, what).await);
        assert_eq!(fleet.lives_in(&tenant).await, to);
        assert_eq!(fleet.rows(&from, &tenant).await, 0);
        println!("move {turn}: {step} {what:?}, {:.1} s in all", began.elapsed().as_secs_f64());
    }
    let (written, reading) = load.end().await;
    let ended = outside.end().await;
    // The old cell comes back as it was before the last move, with everything that was in hand there.
    for mut node in nodes {
        node.terminate();
        node.ended().await;
    }
    fleet.restore(&restored).await;
    let node = fleet.serve("three", Serves::Both, &settings).await;
    // Longer than the leases that came back.
    tokio::time::sleep(Duration::from_secs(40)).await;
    closed.sort_by(f64::total_cmp);
    ledger(&fleet, &tenant, &written).await;
    let settled = settle(&fleet, &node, &tenant, &ended).await;
    println!(
        "{} notes and {} replies acknowledged; {} mails, {} events, {} files; twice: {:?}; closed {closed:?} s; writes refused \
         {} times, at most {:.2} s in a row; reads refused {} times",
        written.notes.len(),
        written.replies.len(),
        settled.mails,
        settled.events,
        settled.files,
        settled.twice,
        written.refused.times,
        written.refused.longest.as_secs_f64(),
        reading.times
    );
    assert_eq!(reading.times, 0, "readers notice nothing");
    assert_eq!(settled.twice, [""; 0], "nothing left or was heard twice");
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
