//! Changes a webhook: pauses and resumes it, replaces its secret, changes its address and what it hears of
//! (specification 6.1).
//!
//! What waits when a webhook stops is dropped from its queue into the log and is not sent by itself later: each
//! stop begins a new run, and a delivery belongs to the run it was made in. Lanes are locked before webhooks.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::create::{NewSecret, chosen};
use crate::secret::encrypt;
use crate::webhook::{NO_WEBHOOK, WebhookState, find, find_open};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{WebhookId, WorkspaceId};
use rookery_base::secrets::signed_requests::SharedSecret;
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};

/// Nothing is sent until somebody resumes it. Whoever runs the workspace can pause what others made.
pub async fn pause(app: &App, workspace: WorkspaceId, by: &By, id: WebhookId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    pause_in(&mut tx, by, id).await?;
    tx.commit().await
}

/// The same in a transaction that is open.
pub async fn pause_in(tx: &mut Tx<'_>, by: &By, id: WebhookId) -> Result<()> {
    let workspace = tx.workspace();
    let now = tx.now();
    lock(tx, workspace, id).await?;
    let webhook = match by {
        By::Agent { .. } => find_open(tx, workspace, by, id).await?,
        _ => find(tx, workspace, id).await?,
    };
    // One that is off stays off, and a pause of what is paused changes nothing.
    if stop(tx, workspace, id, WebhookState::Paused, now).await? {
        let subject = Subject { id: &id, name: &webhook.called() };
        audit::record(tx, by, Did::WebhookPaused, subject, json!({})).await?;
    }
    Ok(())
}

/// Sends again what happens from now on, and forgets the failures before. A private one only its maker resumes: it may be
/// paused because of who would hear it.
pub async fn resume(app: &App, workspace: WorkspaceId, by: &By, id: WebhookId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    resume_in(&mut tx, by, id).await?;
    tx.commit().await
}

/// The same in a transaction that is open.
pub async fn resume_in(tx: &mut Tx<'_>, by: &By, id: WebhookId) -> Result<()> {
    let workspace = tx.workspace();
    lock(tx, workspace, id).await?;
    let webhook = find_open(tx, workspace, by, id).await?;
    sqlx::query!(
        "with lane as (
             update webhook_lanes set failing_since = null where workspace_id = $1 and webhook_id = $2)
         update webhooks set state = 'active' where workspace_id = $1 and id = $2",
        workspace.0,
        id.0
    )
    .execute(&mut **tx)
    .await?;
    if webhook.state != WebhookState::Active {
        let subject = Subject { id: &id, name: &webhook.called() };
        let data = json!({ "was": webhook.state });
        audit::record(tx, by, Did::WebhookResumed, subject, data).await?;
    }
    Ok(())
}

/// A new secret. The old one signs too for a day; one that is older still is forgotten.
pub async fn rotate(app: &App, workspace: WorkspaceId, by: &By, id: WebhookId) -> Result<NewSecret> {
    let mut tx = app.begin(workspace).await?;
    let done = rotate_in(&mut tx, by, id).await?;
    tx.commit().await?;
    Ok(done)
}

/// The same in a transaction that is open.
pub async fn rotate_in(tx: &mut Tx<'_>, by: &By, id: WebhookId) -> Result<NewSecret> {
    let workspace = tx.workspace();
    let webhook = find_open(tx, workspace, by, id).await?;
    let secret = SharedSecret::new(&tx.frame().random);
    let sealed = encrypt(&secret, tx.frame().needs_keys()?, &tx.frame().random, workspace, id)?;
    let now = tx.now();
    let rotated = sqlx::query!(
        "update webhooks set old_secret = secret, secret = $3, rotated_at = $4
         where workspace_id = $1 and id = $2 and removed_at is null",
        workspace.0,
        id.0,
        sealed,
        now
    )
    .execute(&mut **tx)
    .await?;
    if rotated.rows_affected() == 0 {
        return Err(NO_WEBHOOK);
    }
    let subject = Subject { id: &id, name: &webhook.called() };
    audit::record(tx, by, Did::WebhookRotated, subject, json!({})).await?;
    Ok(NewSecret { webhook: id, secret: secret.text() })
}

/// From now on only the newest secret signs.
pub async fn end_old_secret(app: &App, workspace: WorkspaceId, by: &By, id: WebhookId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let webhook = find_open(&mut tx, workspace, by, id).await?;
    let ended = sqlx::query!(
        "update webhooks set old_secret = null, rotated_at = null
         where workspace_id = $1 and id = $2 and old_secret is not null",
        workspace.0,
        id.0
    )
    .execute(&mut *tx)
    .await?;
    if ended.rows_affected() == 1 {
        let subject = Subject { id: &id, name: &webhook.called() };
        audit::record(&mut tx, by, Did::WebhookOldSecretEnded, subject, json!({})).await?;
    }
    tx.commit().await
}

/// Another address, checked like the first. What waits goes there too; the failures of the old one are forgotten.
pub async fn change_address(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    id: WebhookId,
    url: &str,
) -> Result<()> {
    let url = app.outside.a_public_address("url", url).await?;
    let mut tx = app.begin(workspace).await?;
    lock(&mut tx, workspace, id).await?;
    let before = find_open(&mut tx, workspace, by, id).await?;
    if before.url == url.as_str() {
        return Ok(());
    }
    sqlx::query!(
        "with lane as (
             update webhook_lanes set failing_since = null where workspace_id = $1 and webhook_id = $2)
         update webhooks set url = $3 where workspace_id = $1 and id = $2",
        workspace.0,
        id.0,
        url.as_str()
    )
    .execute(&mut *tx)
    .await?;
    let after = find(&mut tx, workspace, id).await?;
    let data = json!({ "address": { "before": before.called(), "after": after.called() } });
    audit::record(&mut tx, by, Did::WebhookChanged, Subject { id: &id, name: &after.called() }, data).await?;
    tx.commit().await
}

/// Other kinds of event, from now on; none means all.
pub async fn change_events(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    id: WebhookId,
    kinds: &[String],
) -> Result<()> {
    let kinds = chosen(kinds)?;
    let mut tx = app.begin(workspace).await?;
    let webhook = find_open(&mut tx, workspace, by, id).await?;
    sqlx::query!(
        "update webhooks set kinds = $3 where workspace_id = $1 and id = $2 and removed_at is null",
        workspace.0,
        id.0,
        kinds.as_deref()
    )
    .execute(&mut *tx)
    .await?;
    let data = json!({ "events": { "before": webhook.kinds, "after": kinds } });
    audit::record(&mut tx, by, Did::WebhookChanged, Subject { id: &id, name: &webhook.called() }, data)
        .await?;
    tx.commit().await
}

/// Stops an active webhook, and turns off one that is paused. False when it was stopped like that already.
/// The caller holds the lane.
pub async fn stop(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: WebhookId,
    state: WebhookState,
    now: DateTime<Utc>,
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
    wake(conn, workspace, id, now).await?;
    Ok(true)
}

/// Whoever delivers should look at what waits, of which the newest is due at this time. The caller holds the lane.
pub async fn wake(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: WebhookId,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update webhook_lanes set next_due = least(next_due, $3), none_before = least(none_before, $3)
         where workspace_id = $1 and webhook_id = $2",
        workspace.0,
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn lock(conn: &mut PgConnection, workspace: WorkspaceId, id: WebhookId) -> Result<()> {
    let lane = sqlx::query!(
        "select lease from webhook_lanes where workspace_id = $1 and webhook_id = $2 for no key update",
        workspace.0,
        id.0
    );
    lane.fetch_optional(conn).await?.map(|_| ()).ok_or(NO_WEBHOOK)
}

/// Deliveries of test webhooks are tried so much earlier. Whoever holds a lane looks again before giving it back.
pub async fn sooner_in_sandbox(tx: &mut Tx<'_>, by: TimeDelta) -> Result<u64> {
    let (workspace, seconds) = (tx.workspace().0, by.num_seconds() as f64);
    sqlx::query!(
        "update webhook_lanes l set next_due = next_due - make_interval(secs => $2), none_before = '2000-01-01 00:00Z'
         from webhooks w
         where l.workspace_id = $1 and w.workspace_id = $1 and w.id = l.webhook_id and not w.livemode
           and next_due is not null",
        workspace,
        seconds
    )
    .execute(&mut **tx)
    .await?;
    let done = sqlx::query!(
        "update deliveries d set due_at = due_at - make_interval(secs => $2) from webhooks w
         where d.workspace_id = $1 and w.workspace_id = $1 and w.id = d.webhook_id and not w.livemode",
        workspace,
        seconds
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}
