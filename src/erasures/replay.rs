//! After an older backup came back: erasures that the list in the blob store has and the database does not are done again,
//! before the service serves.

use futures::TryStreamExt;
use serde_json::json;

use crate::app::App;
use crate::erasures::{list, work};
use crate::error::Result;
use crate::ids::{ErasureId, WorkspaceId};
use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::erased_addresses::name_of;

/// Erasures that are compared with the database at once.
const BATCH: usize = 1_000;

/// Does again what an older backup took back. Gives how many that were.
pub async fn replay(app: &App) -> Result<usize> {
    let mut all = std::pin::pin!(list::all(&app.blobs).try_chunks(BATCH));
    let mut done = 0;
    while let Some(listed) = all.try_next().await.map_err(|cut| cut.1)? {
        for (workspace, id) in missing(app, &listed).await? {
            tracing::warn!(%workspace, %id, "an erasure is done again: the database is older than it");
            take_in(app, workspace, id).await?;
            work::to_the_end(app, workspace, id).await?;
            done += 1;
        }
    }
    Ok(done)
}

/// Those whose workspace is here and which the database does not know.
async fn missing(app: &App, listed: &[(WorkspaceId, ErasureId)]) -> Result<Vec<(WorkspaceId, ErasureId)>> {
    let (workspaces, ids): (Vec<i64>, Vec<i64>) =
        listed.iter().map(|(workspace, id)| (workspace.0, id.0)).unzip();
    let rows = sqlx::query!(
        r#"select t.workspace_id as "workspace!: WorkspaceId", t.id as "id!: ErasureId"
           from unnest($1::bigint[], $2::bigint[]) as t (workspace_id, id)
           join workspaces on workspaces.id = t.workspace_id and fenced_at is null
           where not exists (select from erasures e where e.workspace_id = t.workspace_id and e.id = t.id)"#,
        &workspaces,
        &ids
    )
    .fetch_all(&mut *app.connection().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.id)).collect())
}

async fn take_in(app: &App, workspace: WorkspaceId, id: ErasureId) -> Result<()> {
    let entry = list::read(&app.blobs, workspace, id).await?;
    let mut tx = app.begin(workspace).await?;
    audit::adopt_key(&mut tx, &entry.sealed_key).await?;
    let now = tx.now();
    sqlx::query!(
        "insert into erasures (workspace_id, id, address_hash, asked_by, reason, created_at, step, replayed)
         values ($1, $2, $3, 'System', 'An older backup came back', $4, 'finding', true) on conflict do nothing",
        workspace.0,
        id.0,
        entry.hash.as_slice(),
        now
    )
    .execute(&mut *tx)
    .await?;
    let subject = Subject { id: &id, name: &name_of(&entry.hash) };
    audit::record(&mut tx, &By::System, Did::ErasureReplayed, subject, json!({})).await?;
    tx.commit().await
}
