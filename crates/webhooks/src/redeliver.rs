//! Deliveries that a person asks for: a test event for one webhook, and an event once more (specification 6.1). Both go through
//! the queue, so asking is done when the rows are written. All that failed is `redeliver_failed`.

use chrono::TimeDelta;
use serde_json::json;
use sqlx::PgConnection;

use crate::manage::{lock, wake};
use crate::webhook::{Webhook, WebhookState, find_open};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{EventId, WebhookId, WorkspaceId, lowest_at, made_at};
use rookery_base::store::db::Tx;
use rookery_core::events::event::{Event, Kind, WebhookTest};
use rookery_core::events::read;
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::plan;

pub const NOT_LOGGED: Error = Error::Missing("No such event in this webhook's log.");

/// How far back the log goes.
pub const LOG: TimeDelta = TimeDelta::days(30);
const TEST: &str = Kind::WebhookTest.name();

/// Sends `webhook.test` to this webhook alone. It is tried also while the webhook is stopped, then only once.
pub async fn send_test(app: &App, workspace: WorkspaceId, by: &By, id: WebhookId) -> Result<EventId> {
    let mut tx = app.begin(workspace).await?;
    let done = send_test_in(&mut tx, by, id).await?;
    tx.commit().await?;
    Ok(done)
}

/// The same in a transaction that is open.
pub async fn send_test_in(tx: &mut Tx<'_>, by: &By, id: WebhookId) -> Result<EventId> {
    let workspace = tx.workspace();
    lock(tx, workspace, id).await?;
    plan::plan_of(tx, workspace).await?.needs_api()?;
    let webhook = find_open(tx, workspace, by, id).await?;
    let place = EventContext {
        audience: webhook.audience,
        livemode: webhook.livemode,
        conversation: None,
        inbox: "",
    };
    let event = record(tx, place, &Event::WebhookTest(WebhookTest { endpoint_id: id })).await?;
    queue(tx, &webhook, event, TEST, true).await?;
    let (subject, data) = (Subject { id: &id, name: &webhook.called() }, json!({ "event": event }));
    audit::record(tx, by, Did::WebhookTested, subject, data).await?;
    Ok(event)
}

/// Sends an event of the log once more, with its id and its very bytes; a failure is retried as ever.
pub async fn redeliver(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    id: WebhookId,
    event: EventId,
) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    redeliver_in(&mut tx, by, id, event).await?;
    tx.commit().await
}

/// The same in a transaction that is open.
pub async fn redeliver_in(tx: &mut Tx<'_>, by: &By, id: WebhookId, event: EventId) -> Result<()> {
    let workspace = tx.workspace();
    lock(tx, workspace, id).await?;
    plan::plan_of(tx, workspace).await?.needs_api()?;
    let webhook = find_open(tx, workspace, by, id).await?;
    let kind = logged(tx, workspace, &webhook, event).await?;
    needs_active(&webhook)?;
    queue(tx, &webhook, event, &kind, false).await?;
    let (subject, data) = (Subject { id: &id, name: &webhook.called() }, json!({ "event": event }));
    audit::record(tx, by, Did::WebhookRedelivered, subject, data).await
}

/// Whether something can be sent to it.
pub fn needs_active(webhook: &Webhook) -> Result<()> {
    match webhook.state {
        WebhookState::Active => Ok(()),
        _ => Err(Error::Forbidden("The webhook is stopped. Resume it first.".into())),
    }
}

/// The kind of an event that this webhook's log has, or would have if it was not busy delivering it.
async fn logged(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: &Webhook,
    id: EventId,
) -> Result<String> {
    let event = read::find(conn, workspace, id).await?.ok_or(NOT_LOGGED)?;
    let heard = event.livemode == webhook.livemode && event.audience == webhook.audience;
    let chosen = match event.kind.as_str() {
        // A test names the webhook it was for.
        TEST => event.body.contains(&format!(r#""endpoint_id":"{}""#, webhook.id)),
        kind => webhook.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|chosen| chosen == kind)),
    };
    let was_there = made_at(id.0) >= webhook.created_at;
    if !heard || !was_there {
        return Err(NOT_LOGGED);
    }
    // What it hears of may have been another choice then.
    if chosen || is_in_log(conn, workspace, webhook.id, &event.kind, id).await? {
        Ok(event.kind)
    } else {
        Err(NOT_LOGGED)
    }
}

async fn is_in_log(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: WebhookId,
    kind: &str,
    event: EventId,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from deliveries where workspace_id = $1 and webhook_id = $2 and event_id = $4)
             or exists (
               select from delivery_log
               where workspace_id = $1 and webhook_id = $2 and state in ('delivered', 'failed', 'skipped')
                 and kind = $3 and id >= $5 and event_id = $4) as "there!""#,
        workspace.0,
        webhook.0,
        kind,
        event.0,
        lowest_at(made_at(event.0))
    )
    .fetch_one(conn)
    .await?)
}

async fn queue(tx: &mut Tx<'_>, webhook: &Webhook, event: EventId, kind: &str, asked: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    if made_at(event.0) < now - LOG {
        return Err(NOT_LOGGED);
    }
    sqlx::query!(
        "insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run, asked)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (workspace_id, webhook_id, event_id)
             do update set due_at = excluded.due_at, run = excluded.run",
        workspace.0,
        webhook.id.0,
        event.0,
        kind,
        now,
        webhook.run,
        asked
    )
    .execute(&mut **tx)
    .await?;
    wake(tx, workspace, webhook.id, now).await
}
