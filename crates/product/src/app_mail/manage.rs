//! Changes a connection to a sending service: pauses and resumes it, replaces the secret we made, takes the key that the
//! service signs with. Who may is the caller's question: the pages are for owners and admins.

use serde_json::json;

use crate::app_mail::connect::{NO_CONNECTION, find, seal_key};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{SendingServiceId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};

/// Reports are turned away until somebody resumes it; services try again for some hours.
pub async fn pause(app: &App, workspace: WorkspaceId, by: &By, id: SendingServiceId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let (found, now) = (find(&mut tx, workspace, id).await?, tx.now());
    let paused = sqlx::query!(
        "update sending_services set paused_at = $3
         where workspace_id = $1 and id = $2 and disconnected_at is null and paused_at is null",
        workspace.0,
        id.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    if paused.rows_affected() == 1 {
        let subject = Subject { id: &id, name: &found.name };
        audit::record(&mut tx, by, Did::ServicePaused, subject, json!({})).await?;
    }
    tx.commit().await
}

pub async fn resume(app: &App, workspace: WorkspaceId, by: &By, id: SendingServiceId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let found = find(&mut tx, workspace, id).await?;
    let resumed = sqlx::query!(
        "update sending_services set paused_at = null
         where workspace_id = $1 and id = $2 and disconnected_at is null and paused_at is not null",
        workspace.0,
        id.0
    )
    .execute(&mut *tx)
    .await?;
    if resumed.rows_affected() == 1 {
        let subject = Subject { id: &id, name: &found.name };
        audit::record(&mut tx, by, Did::ServiceResumed, subject, json!({})).await?;
    }
    tx.commit().await
}

/// A new secret, where we make it. The old one is good for a day; one that is older still is forgotten.
pub async fn rotate(app: &App, workspace: WorkspaceId, by: &By, id: SendingServiceId) -> Result<String> {
    let mut tx = app.begin(workspace).await?;
    let found = find(&mut tx, workspace, id).await?;
    if !found.provider.uses_our_secret() {
        return Err(Error::problem("secret", "is made by the service: enter its new key instead"));
    }
    let key = app.random.bytes::<32>();
    put(app, &mut tx, id, &key).await?;
    let subject = Subject { id: &id, name: &found.name };
    audit::record(&mut tx, by, Did::ServiceRotated, subject, json!({})).await?;
    tx.commit().await?;
    Ok(found.provider.secret_text(&key))
}

/// The key that the service signs with. The one before is good for another day.
pub async fn set_key(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    id: SendingServiceId,
    key: &str,
) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let found = find(&mut tx, workspace, id).await?;
    let key = found.provider.key(key)?;
    put(app, &mut tx, id, &key).await?;
    let subject = Subject { id: &id, name: &found.name };
    let data = json!({ "first": !found.has_key });
    audit::record(&mut tx, by, Did::ServiceKeySet, subject, data).await?;
    tx.commit().await
}

/// From now on only the newest secret or key is good.
pub async fn end_old_secret(app: &App, workspace: WorkspaceId, by: &By, id: SendingServiceId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let found = find(&mut tx, workspace, id).await?;
    let ended = sqlx::query!(
        "update sending_services set old_secret = null, rotated_at = null
         where workspace_id = $1 and id = $2 and old_secret is not null",
        workspace.0,
        id.0
    )
    .execute(&mut *tx)
    .await?;
    if ended.rows_affected() == 1 {
        let subject = Subject { id: &id, name: &found.name };
        audit::record(&mut tx, by, Did::ServiceOldSecretEnded, subject, json!({})).await?;
    }
    tx.commit().await
}

async fn put(app: &App, tx: &mut Tx<'_>, id: SendingServiceId, key: &[u8]) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let sealed = seal_key(app, workspace, id, key)?;
    let put = sqlx::query!(
        "update sending_services set old_secret = secret, secret = $3,
                rotated_at = case when secret is not null then $4::timestamptz end
         where workspace_id = $1 and id = $2 and disconnected_at is null",
        workspace.0,
        id.0,
        sealed,
        now
    )
    .execute(&mut **tx)
    .await?;
    if put.rows_affected() == 1 { Ok(()) } else { Err(NO_CONNECTION) }
}
