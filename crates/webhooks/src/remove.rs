//! Removes a webhook for good: it hears nothing more, its address and secrets are forgotten at once, and nobody is shown
//! it again.
//!
//! What waits is dropped as for any webhook that is stopped; the row itself goes when its log has gone.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::manage::{lock, stop};
use crate::webhook::{WebhookState, find};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{WebhookId, WorkspaceId};
use rookery_base::store::forget::forget;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};

/// Longer than the log.
const KEPT: TimeDelta = TimeDelta::days(31);

/// Also another person's private one: whoever runs the workspace can always stop what leaves it.
pub async fn remove(app: &App, workspace: WorkspaceId, by: &By, id: WebhookId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    lock(&mut tx, workspace, id).await?;
    let webhook = find(&mut tx, workspace, id).await?;
    end(&mut tx, workspace, id, now).await?;
    let data = json!({ "livemode": webhook.livemode, "scope": webhook.scope });
    audit::record(&mut tx, by, Did::WebhookRemoved, Subject { id: &id, name: &webhook.called() }, data)
        .await?;
    tx.commit().await
}

/// Without an entry in the audit log, which is the caller's. The caller holds the lane.
pub async fn end(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: WebhookId,
    now: DateTime<Utc>,
) -> Result<()> {
    stop(conn, workspace, id, WebhookState::Off, now).await?;
    sqlx::query!(
        "update webhooks set removed_at = $3, url = '', secret = '', old_secret = null, rotated_at = null
         where workspace_id = $1 and id = $2",
        workspace.0,
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "webhooks", "removed_at", now - KEPT, 100)
}
