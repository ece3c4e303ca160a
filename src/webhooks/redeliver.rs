//! Deliveries that a person asks for: a test event for one webhook, and an event once more (specification 6.1).
//! Both go through the queue, so asking is done when the row is written.

use chrono::TimeDelta;
use sqlx::PgConnection;

use crate::app::App;
use crate::error::{Error, Result};
use crate::events::event::{Event, Kind, WebhookTest};
use crate::events::read;
use crate::events::record::{EventContext, record};
use crate::ids::{EventId, WebhookId, WorkspaceId, made_at};
use crate::store::db::Tx;
use crate::webhooks::manage::lock;
use crate::webhooks::webhook::{State, Webhook, find};
use crate::workspace::plan;

/// How far back the log goes.
const LOG: TimeDelta = TimeDelta::days(30);
const TEST: &str = Kind::WebhookTest.name();

/// Sends `webhook.test` to this webhook alone. It is tried also while the webhook is stopped, then only once.
pub async fn send_test(app: &App, workspace: WorkspaceId, id: WebhookId) -> Result<EventId> {
    let mut tx = app.begin(workspace).await?;
    lock(&mut tx, workspace, id).await?;
    plan::plan_of(&mut tx, workspace).await?.needs_api()?;
    let webhook = find(&mut tx, workspace, id).await?;
    let place = EventContext {
        audience: webhook.audience,
        livemode: webhook.livemode,
        conversation: None,
        inbox: "",
    };
    let event = record(&mut tx, place, &Event::WebhookTest(WebhookTest { endpoint_id: id })).await?;
    queue(&mut tx, &webhook, event, TEST, true).await?;
    tx.commit().await?;
    Ok(event)
}

/// Sends an event of the log once more, with its id and its very bytes; a failure is retried as ever.
pub async fn redeliver(app: &App, workspace: WorkspaceId, id: WebhookId, event: EventId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    lock(&mut tx, workspace, id).await?;
    plan::plan_of(&mut tx, workspace).await?.needs_api()?;
    let webhook = find(&mut tx, workspace, id).await?;
    let kind = logged(&mut tx, workspace, &webhook, event).await?;
    if webhook.state != State::Active {
        return Err(Error::Forbidden("The webhook is stopped. Resume it first.".into()));
    }
    queue(&mut tx, &webhook, event, &kind, false).await?;
    tx.commit().await
}

/// The kind of an event that this webhook's log has, or would have if it was not busy delivering it.
async fn logged(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: &Webhook,
    id: EventId,
) -> Result<String> {
    let missing = || Error::Missing("No such event in this webhook's log.");
    let event = read::find(conn, workspace, id).await?.ok_or_else(missing)?;
    let heard = event.livemode == webhook.livemode && event.audience == webhook.audience;
    let chosen = match event.kind.as_str() {
        // A test names the webhook it was for.
        TEST => event.body.contains(&format!(r#""endpoint_id":"{}""#, webhook.id)),
        kind => webhook.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|chosen| chosen == kind)),
    };
    let was_there = made_at(id.0) >= webhook.created_at;
    if heard && chosen && was_there { Ok(event.kind) } else { Err(missing()) }
}

async fn queue(tx: &mut Tx<'_>, webhook: &Webhook, event: EventId, kind: &str, asked: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    if made_at(event.0) < now - LOG {
        return Err(Error::Missing("No such event in this webhook's log."));
    }
    sqlx::query!(
        "with queued as (
             insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run, asked)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (workspace_id, webhook_id, event_id)
                 do update set due_at = excluded.due_at, run = excluded.run)
         update webhook_lanes set next_due = least(next_due, $5) where workspace_id = $1 and webhook_id = $2",
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
    Ok(())
}
