//! Finds whom the erasures of the list in the blob store mean, in a database that is older than they are. The list has no
//! addresses, so every address that stands in the database is hashed and compared: once for all that a workspace looks for.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::erasures::ask::PURPOSE;
use crate::erasures::{list, places};
use rookery_base::app::App;
use rookery_base::due::pass::PassProgress;
use rookery_base::error::Result;
use rookery_base::ids::{ErasureId, WorkspaceId};
use rookery_base::secrets::sealed;
use rookery_core::workspace::erased_addresses::Hasher;

/// Finds the addresses by their hashes. One that stands nowhere needs no more work.
pub async fn find(app: &App, workspace: WorkspaceId) -> Result<PassProgress> {
    let keys = app.config.needs_secret_key()?;
    let ids = looked_for(&mut *app.connection().await?, workspace).await?;
    let mut sought: HashMap<Vec<u8>, HashMap<[u8; 32], Option<String>>> = HashMap::new();
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        // As it was hashed then: the backup may be from before the workspace had its key.
        let entry = list::read(&app.blobs, workspace, id).await?;
        sought.entry(entry.sealed_key.clone()).or_default().insert(entry.hash, None);
        entries.push((id, entry));
    }
    for (sealed_key, hashes) in &mut sought {
        let hasher = Hasher::open(keys, workspace, sealed_key)?;
        places::each(&mut app.connection().await?, workspace, |_, address| {
            if let Some(meant) = hashes.get_mut(&hasher.hash(address)) {
                meant.get_or_insert_with(|| address.to_owned());
            }
        })
        .await?;
    }
    for (id, entry) in entries {
        let address = sought.get(&entry.sealed_key).and_then(|hashes| hashes.get(&entry.hash)?.as_deref());
        note(app, workspace, id, address).await?;
    }
    Ok(PassProgress::More)
}

async fn looked_for(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<ErasureId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ErasureId" from erasures where workspace_id = $1 and step = 'finding' and done_at is null"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

async fn note(app: &App, workspace: WorkspaceId, id: ErasureId, address: Option<&str>) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    match address {
        Some(address) => {
            let keys = app.config.needs_secret_key()?;
            let place = sealed::place(workspace, id);
            let sealed = sealed::seal(keys, &app.random, PURPOSE, &place, address.as_bytes())?;
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
            let now = tx.now();
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
    tx.commit().await
}
