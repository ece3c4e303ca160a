//! What erasures keep sealed, for `admin reseal`: addresses of those under way, and the workspaces' keys in the list of the
//! blob store, without which the list is worth nothing.

use futures::TryStreamExt;
use sqlx::PgConnection;

use crate::erasures::ask::PURPOSE;
use crate::erasures::list;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{ErasureId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;
use rookery_core::workspace::audit;

pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<ErasureId>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: ErasureId", address as "address!" from erasures
           where workspace_id = any($1) and address is not null"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, row.id, PURPOSE, row.address)).collect())
}

pub async fn replace(tx: &mut Tx<'_>, id: ErasureId, before: &[u8], anew: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update erasures set address = $4 where workspace_id = $1 and id = $2 and address = $3",
        workspace,
        id.0,
        before,
        anew
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

/// An entry of the list in the blob store, and with what it is sealed.
pub struct SealedErasure {
    pub workspace: WorkspaceId,
    pub id: ErasureId,
    /// Nothing when no key opens it, or the file cannot be read.
    pub key: Option<String>,
    pub anew: bool,
}

/// Looks at every entry of the list. With `moves`, one that an older key seals is written anew with the workspace's key as it
/// is sealed by now, when that is the same key.
pub async fn list(app: &App, keys: &KeyRing, moves: bool) -> Result<Vec<SealedErasure>> {
    let all: Vec<(WorkspaceId, ErasureId)> = list::all(&app.blobs).try_collect().await?;
    let mut looked = Vec::with_capacity(all.len());
    for (workspace, id) in all {
        let mut listed = SealedErasure { workspace, id, key: None, anew: false };
        // A store that does not answer is an error of all of them; a file that was cut off is one of its own.
        let entry = list::read(&app.blobs, workspace, id).await;
        let (place, purpose) = audit::sealed_as(workspace);
        let opened = match &entry {
            Ok(entry) => sealed::opened_by(keys, purpose, &place, &entry.sealed_key)?,
            Err(_) => None,
        };
        if let (Ok(entry), Some((key, opened))) = (&entry, opened) {
            let is_newest = sealed::key_named(&entry.sealed_key) == Some(keys.newest_id());
            listed.key = Some(key.to_owned());
            let now = audit::sealed_key(&mut *app.connection().await?, workspace).await?;
            let same = now.is_some_and(|now| {
                sealed::key_named(&now) == Some(keys.newest_id())
                    && audit::open_key(keys, workspace, &now).is_ok_and(|now| now == opened)
            });
            if moves && !is_newest && same {
                list::keep(app, workspace, id, &entry.hash).await?;
                (listed.key, listed.anew) = (Some(keys.newest_id().to_owned()), true);
            }
        }
        looked.push(listed);
    }
    Ok(looked)
}
