//! Deliveries that a person asks for: a test event for one webhook, an event once more, and all that failed since a time
//! (specification 6.1). All go through the queue, so asking is done when the rows are written.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::app::App;
use crate::error::{Error, Result};
use crate::events::event::{Event, Kind, WebhookTest};
use crate::events::read;
use crate::events::record::{EventContext, record};
use crate::ids::{EventId, WebhookId, WorkspaceId, lowest_at, made_at};
use crate::store::db::Tx;
use crate::webhooks::manage::{lock, wake};
use crate::webhooks::webhook::{State, Webhook, find_open};
use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::plan;

pub const NOT_LOGGED: Error = Error::Missing("No such event in this webhook's log.");

/// How far back the log goes.
pub const LOG: TimeDelta = TimeDelta::days(30);
/// Of what failed, so much is sent again at a time.
pub const MOST_AT_ONCE: i64 = 10_000;
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

/// What to send again.
pub struct Again {
    /// What ended in vain from this time on.
    pub since: DateTime<Utc>,
    /// Also what was not sent because the webhook was stopped.
    pub skipped: bool,
}

/// Sends again what failed since a time and has not been delivered since, the oldest first and so much at once. Gives how
/// many events; when they are [`MOST_AT_ONCE`], there may be more.
pub async fn redeliver_failed(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    id: WebhookId,
    again: Again,
) -> Result<i64> {
    let mut tx = app.begin(workspace).await?;
    lock(&mut tx, workspace, id).await?;
    plan::plan_of(&mut tx, workspace).await?.needs_api()?;
    let webhook = find_open(&mut tx, workspace, by, id).await?;
    needs_active(&webhook)?;
    let now = tx.now();
    let oldest = now - LOG;
    let states: &[&str] = if again.skipped { &["failed", "skipped"] } else { &["failed"] };
    // All parts stand in the log's key. A set difference costs the same however the two sides are mixed.
    let queued = sqlx::query!(
        "insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run)
         select $1, $2, lost.event_id, lost.kind, $5, $6 from (
             select event_id, kind from delivery_log
             where workspace_id = $1 and webhook_id = $2 and state = any($3) and id >= $4 and event_id >= $7
             except
             select event_id, kind from delivery_log
             where workspace_id = $1 and webhook_id = $2 and state = 'delivered' and id >= $4
         ) lost
         where not exists (
             select from deliveries waiting where waiting.workspace_id = $1 and waiting.webhook_id = $2
               and waiting.event_id = lost.event_id)
         order by lost.event_id limit $8",
        workspace.0,
        id.0,
        states as &[&str],
        lowest_at(again.since.max(oldest)),
        now,
        webhook.run,
        lowest_at(oldest),
        MOST_AT_ONCE
    )
    .execute(&mut *tx)
    .await?
    .rows_affected() as i64;
    if queued > 0 {
        wake(&mut tx, workspace, id, now).await?;
        let data = json!({ "events": queued, "since": again.since, "skipped": again.skipped });
        let subject = Subject { id: &id, name: &webhook.called() };
        audit::record(&mut tx, by, Did::WebhookRedelivered, subject, data).await?;
    }
    tx.commit().await?;
    Ok(queued)
}

fn needs_active(webhook: &Webhook) -> Result<()> {
    match webhook.state {
        State::Active => Ok(()),
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
    match chosen || is_in_log(conn, workspace, webhook.id, &event.kind, id).await? {
        true => Ok(event.kind),
        false => Err(NOT_LOGGED),
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
