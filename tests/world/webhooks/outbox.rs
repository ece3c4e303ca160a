//! Generations of the notes of events, begun when a story says so, and a snapshot that is held as a backup holds one.

use std::time::Duration;

use sqlx::{Connection, PgConnection};

use crate::World;

/// More transactions than a generation has.
pub const NEXT_GENERATION: &str =
    "do $$ begin for n in 1..1100 loop perform pg_current_xact_id(); commit; end loop; end $$";

/// All that was written so far is of an earlier generation than what is written from now on. Transactions of other stories on
/// this server have a number too, and are waited for.
pub async fn begin_generation(world: &World) {
    world.sql(NEXT_GENERATION).await;
    let now = world.scalar("select pg_current_xact_id()::text::bigint").await;
    for _ in 0..1500 {
        if world.scalar("select pg_snapshot_xmin(pg_current_snapshot())::text::bigint").await > now {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a transaction has been open for half a minute");
}

/// A snapshot that stays open for as long as the connection, as a backup's does.
pub async fn held_snapshot(world: &World) -> PgConnection {
    let mut conn = PgConnection::connect(world.database.url()).await.expect("a connection");
    let begin = "begin isolation level repeatable read read only; select count(*) from workspaces";
    sqlx::raw_sql(begin).execute(&mut conn).await.expect("a snapshot");
    conn
}
