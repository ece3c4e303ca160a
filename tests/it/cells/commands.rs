//! Several commands for one workspace at the same moment: one moves it, and the others change nothing, however old what they
//! know of the move is.

use std::time::Duration;

use rookery_base::clock::Clock;
use rookery_base::store::cells::MoveStep;
use rookery_upkeep::moves::compare::Compared;
use rookery_upkeep::moves::{self, Sides, Tell};

use sqlx::AssertSqlSafe;

use super::fleet::{Fleet, Tenant};
use rookery_world::site::until;

struct Silent;

impl Tell for Silent {
    fn step(&self, _: MoveStep) {}
    fn copied(&self, _: i64, _: i64, _: i64) {}
    fn compared(&self, _: &Compared) {}
    fn was_closed(&self, _: Duration) {}
}

async fn sides(fleet: &Fleet, from: &str, to: &str) -> Sides {
    Sides { from: fleet.side(from).await, to: fleet.side(to).await }
}

async fn lives_whole(fleet: &Fleet, tenant: &Tenant, cell: &str, rows: i64) {
    assert_eq!(fleet.lives_in(tenant).await, cell);
    // A move leaves its mark.
    assert!(fleet.rows(cell, tenant).await >= rows, "rows are gone");
    let open = "select fenced_at is null from workspaces where id = $1";
    let open = sqlx::query_scalar::<_, bool>(open).bind(tenant.number());
    assert!(open.fetch_one(&fleet.pool(cell).await).await.unwrap(), "it is closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_read_its_step_before_another_ended_the_move_changes_nothing() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let (from, directory) = (fleet.lives_in(&tenant).await, fleet.directory().await);
    let to = if from == "main" { "west" } else { "main" };
    let rows = fleet.rows(&from, &tenant).await;
    // As a second command reads it, whose connections are slow.
    let stale = directory.begin_move(tenant.workspace(), to, Clock::system().now()).await.unwrap().unwrap();
    let moved =
        tokio::task::block_in_place(|| fleet.run(&["cells", "move", "--workspace", &tenant.id, "--to", to]));
    assert!(moved.status.success(), "{moved:?}");
    lives_whole(&fleet, &tenant, to, rows).await;

    let given_up = moves::give_up(&directory, &mut sides(&fleet, &from, to).await, &stale).await;
    assert!(given_up.is_err_and(|error| error.to_string().contains("ended this move already")));
    lives_whole(&fleet, &tenant, to, rows).await;
    let went_on = moves::go_on(&directory, &mut sides(&fleet, &from, to).await, &stale, &Silent).await;
    assert!(went_on.is_err_and(|error| error.to_string().contains("ended this move already")));
    lives_whole(&fleet, &tenant, to, rows).await;
    // Not one row goes from where it lives, whoever asks.
    let (mut side, mut home) = (fleet.side(to).await, fleet.side(&from).await);
    let cleaned = moves::clean_stray(&directory, &mut side, &mut home, tenant.workspace()).await;
    assert!(cleaned.is_err_and(|error| error.to_string().contains("nothing of it is removed")));
    lives_whole(&fleet, &tenant, to, rows).await;

    // Nor does a later move hear it, which goes the other way.
    let back = directory.begin_move(tenant.workspace(), &from, Clock::system().now()).await.unwrap().unwrap();
    for step in [MoveStep::Check, MoveStep::Clean] {
        assert!(directory.move_reached(&stale, step).await.is_err());
    }
    assert!(directory.switch(&stale).await.is_err() && directory.end_move(&stale).await.is_err());
    let still = directory.move_of(tenant.workspace()).await.unwrap().unwrap();
    assert!(still.is(&back) && still.step == MoveStep::Copy, "{still:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_one_command_moves_a_workspace_another_waits_and_then_is_refused() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let (from, directory) = (fleet.lives_in(&tenant).await, fleet.directory().await);
    let to = if from == "main" { "west" } else { "main" };
    let moving = directory.begin_move(tenant.workspace(), to, Clock::system().now()).await.unwrap().unwrap();
    // The lock of the new cell is enough.
    let mut side = fleet.side(to).await;
    side.is_nobody_elses(tenant.workspace()).await.unwrap();
    let refused = moves::give_up(&directory, &mut sides(&fleet, &from, to).await, &moving).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("Another command is moving")));
    drop(side);
    moves::give_up(&directory, &mut sides(&fleet, &from, to).await, &moving).await.unwrap();
    assert!(directory.move_of(tenant.workspace()).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_is_drained_while_others_move_out_of_it_too() {
    let fleet = Fleet::new().await;
    let tenants = ["Acme", "Birch", "Cedar", "Dogwood"].map(|name| fleet.workspace(name));
    let mut there = Vec::new();
    for tenant in &tenants {
        if fleet.lives_in(tenant).await == "west" {
            there.push(tenant);
        }
    }
    let [first, last] = there[..] else { panic!("two live in west") };
    tokio::task::block_in_place(|| {
        // Both commands begin with the same workspaces, from both ends.
        let mut other = fleet.begin(&["cells", "move", "--workspace", &last.id, "--to", "main"]);
        let drained = fleet.run(&["cells", "drain", "west"]);
        other.wait().unwrap();
        // Whom the other command was moving may have stayed for this one.
        if !drained.status.success() {
            let again = fleet.run(&["cells", "drain", "west"]);
            assert!(again.status.success(), "{drained:?} {again:?}");
        }
    });
    for tenant in [first, last] {
        lives_whole(&fleet, tenant, "main", 1).await;
        assert_eq!(fleet.rows("west", tenant).await, 0);
    }
    assert!(fleet.directory().await.moves().await.unwrap().is_empty());
}

/// The command that switched is gone, and its locks with it, while its commit still hangs in the directory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_whose_commit_hangs_and_a_move_that_is_given_up_are_one_after_the_other() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let (from, directory) = (fleet.lives_in(&tenant).await, fleet.directory().await);
    let to = if from == "main" { "west" } else { "main" };
    let moving = directory.begin_move(tenant.workspace(), to, Clock::system().now()).await.unwrap().unwrap();
    directory.move_reached(&moving, MoveStep::Switch).await.unwrap();
    let main = fleet.pool("main").await;
    let held = format!("select from directory.workspaces where id = {} for update", tenant.number());
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut hanging = main.begin().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(held)).execute(&mut *hanging).await.unwrap();
    let mut both = sides(&fleet, &from, to).await;
    let waits = "select count(*) = 2 from pg_stat_activity where datname = current_database()
                   and wait_event_type = 'Lock' and query like '%directory.%'";
    let (switched, given_up, ()) = futures::join!(
        directory.switch(&moving),
        async {
            let one = "select exists (select from pg_stat_activity where datname = current_database()
                         and wait_event_type = 'Lock' and query like '%directory.workspaces%')";
            until(&main, one).await;
            moves::give_up(&directory, &mut both, &moving).await
        },
        async {
            until(&main, waits).await;
            hanging.rollback().await.unwrap();
        }
    );
    switched.unwrap();
    assert!(given_up.is_err_and(|error| error.to_string().contains("lives in its new cell already")));
    assert_eq!(fleet.lives_in(&tenant).await, to, "there is one answer, and nothing was removed");
    assert!(fleet.rows(&from, &tenant).await > 0);

    // The other way round: a switch that waits behind who gives the move up finds nothing to switch.
    let before = format!(
        "update directory.workspaces set cell = '{from}' where id = {};
         update directory.moves set step = 'switch'",
        tenant.number()
    );
    fleet.run_sql("main", before).await;
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut giving_up = main.begin().await.unwrap();
    sqlx::raw_sql("update directory.moves set step = 'copy'").execute(&mut *giving_up).await.unwrap();
    let (switched, ()) = futures::join!(directory.switch(&moving), async {
        let waits = "select exists (select from pg_stat_activity where datname = current_database()
                       and wait_event_type = 'Lock' and query like '%directory.moves%')";
        until(&main, waits).await;
        giving_up.commit().await.unwrap();
    });
    assert!(switched.is_err());
    assert_eq!(fleet.lives_in(&tenant).await, from);
}
