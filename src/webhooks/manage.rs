//! Changes a webhook: pauses and resumes it, and replaces its secret (specification 6.1).
//!
//! What waits when a webhook stops is dropped from its queue into the log and is not sent by itself later: each
//! stop begins a new run, and a delivery belongs to the run it was made in. Lanes are locked before webhooks.

use sqlx::PgConnection;

use crate::app::App;
use crate::error::Result;
use crate::ids::{WebhookId, WorkspaceId};
use crate::secrets::signed_requests::Secret;
use crate::webhooks::create::NewSecret;
use crate::webhooks::secret::encrypt;
use crate::webhooks::webhook::{NO_WEBHOOK, State};

/// Nothing is sent until somebody resumes it.
pub async fn pause(app: &App, workspace: WorkspaceId, id: WebhookId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    lock(&mut tx, workspace, id).await?;
    // One that is off stays off, and a pause of what is paused changes nothing.
    stop(&mut tx, workspace, id, State::Paused, now).await?;
    tx.commit().await
}

/// Sends again what happens from now on, and forgets the failures before.
pub async fn resume(app: &App, workspace: WorkspaceId, id: WebhookId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    lock(&mut tx, workspace, id).await?;
    sqlx::query!(
        "with lane as (
             update webhook_lanes set failing_since = null where workspace_id = $1 and webhook_id = $2)
         update webhooks set state = 'active' where workspace_id = $1 and id = $2",
        workspace.0,
        id.0
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}

/// A new secret. The old one signs too for a day; one that is older still is forgotten.
pub async fn rotate(app: &App, workspace: WorkspaceId, id: WebhookId) -> Result<NewSecret> {
    let mut tx = app.begin(workspace).await?;
    let secret = Secret::new(&app.random);
    let sealed = encrypt(&secret, app.config.needs_secret_key()?, &app.random, workspace, id)?;
    let now = tx.now();
    let rotated = sqlx::query!(
        "update webhooks set old_secret = secret, secret = $3, rotated_at = $4 where workspace_id = $1 and id = $2",
        workspace.0,
        id.0,
        sealed,
        now
    )
    .execute(&mut *tx)
    .await?;
    if rotated.rows_affected() == 0 {
        return Err(NO_WEBHOOK);
    }
    tx.commit().await?;
    Ok(NewSecret { webhook: id, secret: secret.text() })
}

/// Stops an active webhook, and turns off one that is paused. False when it was stopped like that already.
/// The caller holds the lane.
pub async fn stop(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: WebhookId,
    state: State,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<bool> {
    let stopped = sqlx::query!(
        "update webhooks set state = $3, run = run + 1
         where workspace_id = $1 and id = $2 and (state = 'active' or (state = 'paused' and $3 = 'off'))",
        workspace.0,
        id.0,
        state.as_str()
    )
    .execute(&mut *conn)
    .await?;
    if stopped.rows_affected() == 0 {
        return Ok(false);
    }
    // Somebody should look at what waits.
    sqlx::query!(
        "update webhook_lanes set next_due = least(next_due, $3) where workspace_id = $1 and webhook_id = $2",
        workspace.0,
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(true)
}

pub async fn lock(conn: &mut PgConnection, workspace: WorkspaceId, id: WebhookId) -> Result<()> {
    let lane = sqlx::query!(
        "select lease from webhook_lanes where workspace_id = $1 and webhook_id = $2 for no key update",
        workspace.0,
        id.0
    );
    lane.fetch_optional(conn).await?.map(|_| ()).ok_or(NO_WEBHOOK)
}
