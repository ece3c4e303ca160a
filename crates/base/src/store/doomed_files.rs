//! Files whose rows are gone. The transaction that takes the row away writes the file's name here, so that no crash leaves
//! bytes behind that nothing names; removing one that is gone already is no error.

use std::ops::Range;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::app::App;
use crate::due::backoff::{Aside, Backoff, BackoffPiece};
use crate::due::pass::{Pass, PassProgress};
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::store::db::Tx;

/// The worker's loop.
pub const LOOP: &str = "remove files";

const AT_ONCE: i64 = 200;

pub async fn doom(tx: &mut Tx<'_>, blobs: &[String]) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into doomed_files (workspace_id, blob, since) select $1, blob, $3 from unnest($2::text[]) as t (blob)
         on conflict do nothing",
        workspace,
        blobs,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let waiting = waiting(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&waiting) {
            return Ok(());
        }
        for workspace in waiting {
            let removing = async {
                Ok(if remove(app, workspace).await? { PassProgress::More } else { PassProgress::Done })
            };
            pass.turn(BackoffPiece::Workspace(workspace), removing).await?;
        }
    }
}

pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(since) from doomed_files").fetch_one(conn).await?)
}

async fn waiting(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct workspace_id as "workspace!: WorkspaceId" from (
               select workspace_id from doomed_files
               where workspace_id not in (select unnest($1::bigint[]))
                 and workspace_id not in (select id from workspaces where fenced_at is not null)
               order by since limit 1000) oldest"#,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Removes a batch of a workspace's. True when there may be more.
pub async fn remove(app: &App, workspace: WorkspaceId) -> Result<bool> {
    let blobs = sqlx::query_scalar!(
        "select blob from doomed_files where workspace_id = $1 order by blob limit $2",
        workspace.0,
        AT_ONCE
    )
    .fetch_all(&mut *app.connection().await?)
    .await?;
    if blobs.is_empty() {
        return Ok(false);
    }
    app.blobs.remove(&blobs).await?;
    let mut tx = app.begin(workspace).await?;
    sqlx::query!("delete from doomed_files where workspace_id = $1 and blob = any($2)", workspace.0, &blobs)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(blobs.len() as i64 == AT_ONCE)
}

/// Which of these are still waiting to be removed: for the sweep, which would only do the same.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    _: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select blob from doomed_files where workspace_id = $1 and blob in (select unnest($2::text[]))",
        workspace.0,
        blobs
    )
    .fetch_all(conn)
    .await?)
}
