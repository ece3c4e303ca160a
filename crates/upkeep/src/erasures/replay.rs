//! After an older backup came back: erasures that the list in the blob store has and the database does not are done again,
//! before the service serves.

use futures::{Stream, TryStreamExt};
use serde_json::json;

use crate::erasures::{list, work};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{ErasureId, WorkspaceId};
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::erased_addresses::name_of;

/// Erasures that are compared with the database at once.
const BATCH: usize = 1_000;

/// Does again what an older backup took back, to the end. Gives how many that were. One that was begun and cut off counts until
/// it is done, whoever began it; another node that starts at the moment does parts of the same, and waits for the end too.
pub async fn replay(app: &App) -> Result<usize> {
    replay_listed(app, list::all(&app.blobs)).await
}

/// The same for one workspace: it was fenced when the service began to serve.
pub async fn replay_of(app: &App, workspace: WorkspaceId) -> Result<usize> {
    replay_listed(app, list::all_of(&app.blobs, workspace)).await
}

async fn replay_listed(
    app: &App,
    listed: impl Stream<Item = Result<(WorkspaceId, ErasureId)>>,
) -> Result<usize> {
    let mut all = std::pin::pin!(listed.try_chunks(BATCH));
    let mut done = 0;
    while let Some(listed) = all.try_next().await.map_err(|cut| cut.1)? {
        let missing = missing(app, &listed).await?;
        for (workspace, id) in &missing {
            tracing::warn!(%workspace, %id, "an erasure is done again: the database is older than it");
            take_in(app, *workspace, *id).await?;
        }
        // All are there before the first looks for its address: one walk over a workspace finds them all.
        for (workspace, id) in &missing {
            work::to_the_end(app, *workspace, *id).await?;
        }
        done += missing.len();
    }
    Ok(done)
}

/// Those whose workspace is here and which the database does not know, or knows as one that is to be done again. One that was
/// under way in the database is not among them: the worker goes on with it, and a hold may stop it.
async fn missing(app: &App, listed: &[(WorkspaceId, ErasureId)]) -> Result<Vec<(WorkspaceId, ErasureId)>> {
    let (workspaces, ids): (Vec<i64>, Vec<i64>) =
        listed.iter().map(|(workspace, id)| (workspace.0, id.0)).unzip();
    let rows = sqlx::query!(
        r#"select t.workspace_id as "workspace!: WorkspaceId", t.id as "id!: ErasureId"
           from unnest($1::bigint[], $2::bigint[]) as t (workspace_id, id)
           join workspaces on workspaces.id = t.workspace_id
             and (fenced_at is null or fenced_at > clock_timestamp())
           where not exists (select from erasures e where e.workspace_id = t.workspace_id and e.id = t.id
                               and (e.done_at is not null or not e.replayed))"#,
        &workspaces,
        &ids
    )
    .fetch_all(&mut *app.connection().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.id)).collect())
}

/// One that is there already goes on where it is.
async fn take_in(app: &App, workspace: WorkspaceId, id: ErasureId) -> Result<()> {
    let entry = list::read(&app.blobs, workspace, id).await?;
    let mut tx = app.begin(workspace).await?;
    audit::adopt_key(&mut tx, &entry.sealed_key).await?;
    let now = tx.now();
    let taken_in = sqlx::query!(
        "insert into erasures (workspace_id, id, address_hash, asked_by, reason, created_at, step, replayed)
         values ($1, $2, $3, 'System', 'An older backup came back', $4, 'finding', true) on conflict do nothing",
        workspace.0,
        id.0,
        entry.hash.as_slice(),
        now
    )
    .execute(&mut *tx)
    .await?;
    if taken_in.rows_affected() == 0 {
        return Ok(());
    }
    let subject = Subject { id: &id, name: &name_of(&entry.hash) };
    audit::record(&mut tx, &By::System, Did::ErasureReplayed, subject, json!({})).await?;
    tx.commit().await
}
