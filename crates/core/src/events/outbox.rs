//! Where a node begins to read the outbox. While a backup's snapshot is open, notes that are gone stay in the index, and whoever
//! begins at its beginning walks over millions of them for each event (docs/performance.md).
//!
//! A note carries the generation it was written in: so many numbers of transactions, in PostgreSQL's order. Once every transaction
//! of a generation has ended and none of its notes is left, none can come. Nobody's clock has a say in that.

use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::due::mark::BEGINNING;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Across;

/// A look at the whole may walk over tens of millions of notes that are gone.
const WHOLE_PATIENCE: &str = "300s";

/// Where the next look begins. What was there before this node knew anything is left to the look at the whole, so that what
/// happens now need not wait for it.
pub async fn begin(app: &App, conn: &mut PgConnection) -> Result<i64> {
    if app.outbox.place() == BEGINNING {
        app.outbox.advance(BEGINNING, settled(conn).await?);
    }
    Ok(app.outbox.place())
}

/// After a look from there on: the next one begins where something is left, or can still come.
pub async fn advance(app: &App, conn: &mut PgConnection, from: i64) -> Result<()> {
    let oldest = oldest_open(conn, from).await?;
    if oldest < from {
        // Transactions are counted from an earlier number: this is another database, or an older state of it.
        app.outbox.forget();
    } else {
        app.outbox.advance(from, oldest);
    }
    Ok(())
}

/// Where a look at the whole begins: at the oldest note there is.
pub async fn begin_whole(tx: &mut Across<'_>) -> Result<i64> {
    sqlx::query_scalar!("select set_config('statement_timeout', $1, true)", WHOLE_PATIENCE)
        .fetch_one(&mut **tx)
        .await?;
    oldest_open(tx, BEGINNING).await
}

/// After a look at the whole.
pub async fn end_whole(app: &App, conn: &mut PgConnection, from: i64) -> Result<()> {
    app.outbox.set(oldest_open(conn, from).await?);
    Ok(())
}

/// The oldest generation that has a note or can still get one, from this one on. One statement, so one snapshot: what is not
/// visible in it and is of an earlier generation is gone for good. A note that somebody is just taking counts as there, because
/// it comes back if they fail. Those of a fenced workspace do not count: they get a new generation when it opens.
async fn oldest_open(conn: &mut PgConnection, from: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select least(
               pg_snapshot_xmin(pg_current_snapshot())::text::bigint >> 10,
               (select generation from unfanned_events
                where generation >= $1
                  and workspace_id <> all (array(select id from workspaces where fenced_at is not null))
                order by generation limit 1)) as "oldest!""#,
        from
    )
    .fetch_one(conn)
    .await?)
}

/// The oldest generation that transactions can still write in.
async fn settled(conn: &mut PgConnection) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select pg_snapshot_xmin(pg_current_snapshot())::text::bigint >> 10 as "settled!""#
    )
    .fetch_one(conn)
    .await?)
}

/// Gives the notes of a fenced workspace the generation of now: they may have come with it from another database, where
/// transactions are counted otherwise. To be run in the transaction that opens it.
pub fn written_anew(workspace: WorkspaceId) -> String {
    format!("update unfanned_events set generation = default where workspace_id = {}", workspace.0)
}
