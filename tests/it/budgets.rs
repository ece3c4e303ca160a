//! What reads cost, in buffers, in a small workspace and in one six times its size: no list, filter, read or
//! count may grow with the workspace. `just bench-reads` asks the same of a million conversations.

#[path = "../../bench/buffers.rs"]
mod buffers;
#[path = "../../bench/due.rs"]
mod due;
#[path = "../../bench/load.rs"]
mod load;

use rookery::clock::Clock;
use sqlx::PgConnection;

use self::buffers::{Reader, reads};
use crate::world::story_of_one_role;

const SMALL: usize = 2_000;
const LARGE: usize = 12_000;
/// How much more a read may cost in the large workspace.
const MOST_GROWTH: f64 = 1.5;
/// A difference of a few pages is where rows happen to lie.
const CHANCE: i64 = 40;

#[tokio::test]
async fn reads_keep_their_budgets_and_do_not_grow_with_the_workspace() {
    story_of_one_role(async |world| {
        let sizes = [("large", LARGE), ("small", SMALL)];
        let loaded = load::load(&world.app, &sizes, false).await;
        let [large, small] = loaded.try_into().expect("two workspaces");
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let mut problems = Vec::new();
        for (in_large, in_small) in reads(&large).iter().zip(reads(&small)) {
            let (many, few) =
                (reader.cost(&large.key, in_large).await, reader.cost(&small.key, &in_small).await);
            let (name, budget) = (in_large.name, in_large.budget);
            println!("{name}: {} rows, {} and {} buffers of {budget}", many.rows, few.buffers, many.buffers);
            if many.rows != few.rows || many.rows == 0 {
                problems.push(format!(
                    "{name}: {} and {} rows cannot be compared; give the loader more of them",
                    few.rows, many.rows
                ));
            }
            if many.buffers > budget {
                problems.push(format!("{name}: {} buffers, more than its budget of {budget}", many.buffers));
            }
            if many.buffers as f64 >= few.buffers as f64 * MOST_GROWTH && many.buffers - few.buffers > CHANCE {
                problems.push(format!(
                    "{name}: {} buffers with {SMALL} conversations, {} with {LARGE}: it grows with the workspace",
                    few.buffers, many.buffers
                ));
            }
        }
        assert!(problems.is_empty(), "reads cost too much:\n  {}", problems.join("\n  "));
    })
    .await;
}

/// `just bench-claims` asks the same with two million that are due later.
#[tokio::test]
async fn a_claim_costs_the_same_however_many_messages_are_due_later() {
    story_of_one_role(async |world| {
        due::load(&world.app, 40_000, 250).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::system());
        let claim = async |conn: &mut PgConnection| due::claim(conn, world.now()).await;
        reader.explain(claim).await;
        let (taken, statements) = reader.explain(claim).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("a claim of {taken}: {buffers} buffers of {}", due::BUDGET);
        assert!(statements.iter().any(|statement| statement.uses_index("messages_due")));
        assert_eq!(taken, 100);
        assert!(buffers <= due::BUDGET, "{buffers} buffers");
    })
    .await;
}
