//! Finds whom an erasure of the list in the blob store means, in a database that is older than it. The list has no
//! addresses, so every address that stands in the database is hashed and compared.

use crate::app::App;
use crate::due::pass::Progress;
use crate::erasures::ask::PURPOSE;
use crate::erasures::{list, places};
use crate::error::Result;
use crate::ids::{ErasureId, WorkspaceId};
use crate::secrets::sealed;
use crate::workspace::erased_addresses::Hasher;

/// Finds the address by its hash. One that stands nowhere needs no more work.
pub async fn find(app: &App, workspace: WorkspaceId, id: ErasureId) -> Result<Progress> {
    let keys = app.config.needs_secret_key()?;
    // As it was hashed then: the backup may be from before the workspace had its key.
    let entry = list::read(&app.blobs, workspace, id).await?;
    let hasher = Hasher::open(keys, workspace, &entry.sealed_key)?;
    let mut found = None;
    places::each(&mut *app.connection().await?, workspace, |_, address| {
        if found.is_none() && hasher.hash(address) == entry.hash {
            found = Some(address.to_owned());
        }
    })
    .await?;
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    match &found {
        Some(address) => {
            let sealed =
                sealed::seal(keys, &app.random, PURPOSE, &sealed::place(workspace, id), address.as_bytes())?;
            sqlx::query!(
                "update erasures set address = $3, step = 'conversations'
                 where workspace_id = $1 and id = $2 and step = 'finding'",
                workspace.0,
                id.0,
                sealed
            )
            .execute(&mut *tx)
            .await?;
        }
        None => {
            sqlx::query!(
                "update erasures set step = 'done', done_at = $3 where workspace_id = $1 and id = $2 and step = 'finding'",
                workspace.0,
                id.0,
                now
            )
            .execute(&mut *tx)
            .await?;
        }
    }
    tx.commit().await?;
    Ok(if found.is_some() { Progress::More } else { Progress::Done })
}
