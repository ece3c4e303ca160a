//! Sends again all that failed at a webhook since a time and was not delivered later (specification 6.1). The log has millions of
//! lines, so it is read in steps, each a transaction of its own: first the log from that time on, then what was found goes into
//! the queue. Asking while that is under way changes nothing.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::manage::{lock, wake};
use crate::redeliver::{LOG, needs_active};
use crate::webhook::{WebhookState, find, find_open};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::{WebhookId, WorkspaceId, lowest_at, made_at};
use rookery_base::store::db::Tx;
use rookery_core::events::event::Kind;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::plan;

/// The worker's loop.
pub const LOOP: &str = "send again what failed";

/// The part of the log that one statement reads: twice as much each time while there is little in it.
const WINDOW: TimeDelta = TimeDelta::minutes(10);
const LONGEST_WINDOW: TimeDelta = TimeDelta::hours(2);
const LITTLE: i64 = 500;
/// A step ends when it has read so many lines, or so many parts of the log.
const LINES: i64 = 10_000;
const WINDOWS: usize = 144;
/// Events that one step queues, or forgets.
const EVENTS: i64 = 1_000;

/// What to send again.
pub struct RedeliveryRequest {
    /// What ended in vain from this time on.
    pub since: DateTime<Utc>,
    /// Also what was not sent because the webhook was stopped.
    pub skipped: bool,
}

/// What became of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resending {
    Begun,
    /// Somebody asked before, and that is not done.
    WasUnderWay,
}

pub async fn ask(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    id: WebhookId,
    again: RedeliveryRequest,
) -> Result<Resending> {
    let mut tx = app.begin(workspace).await?;
    lock(&mut tx, workspace, id).await?;
    plan::plan_of(&mut tx, workspace).await?.needs_api()?;
    let webhook = find_open(&mut tx, workspace, by, id).await?;
    needs_active(&webhook)?;
    let now = tx.now();
    let begun = sqlx::query!(
        "insert into redeliveries (workspace_id, webhook_id, asked_at, skipped, read_to) values ($1, $2, $3, $4, $5)
         on conflict do nothing",
        workspace.0,
        id.0,
        now,
        again.skipped,
        lowest_at(again.since.max(now - LOG))
    )
    .execute(&mut *tx)
    .await?;
    if begun.rows_affected() == 0 {
        return Ok(Resending::WasUnderWay);
    }
    let data = json!({ "since": again.since, "skipped": again.skipped });
    let subject = Subject { id: &id, name: &webhook.called() };
    audit::record(&mut tx, by, Did::WebhookRedelivered, subject, data).await?;
    tx.commit().await?;
    Ok(Resending::Begun)
}

/// How many events are queued so far; nothing when nothing is under way.
pub async fn queued(conn: &mut PgConnection, workspace: WorkspaceId, id: WebhookId) -> Result<Option<i32>> {
    Ok(sqlx::query_scalar!(
        "select queued from redeliveries where workspace_id = $1 and webhook_id = $2",
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?)
}

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = due(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for (workspace, webhook) in due {
            let stepping = async {
                let mut tx = app.begin(workspace).await?;
                let progress = step(&mut tx, webhook).await?;
                tx.commit().await?;
                Ok(progress)
            };
            pass.turn(BackoffPiece::Row(workspace, webhook.0), stepping).await?;
        }
    }
}

/// Since when the oldest has been waiting.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(asked_at) from redeliveries").fetch_one(conn).await?)
}

async fn due(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<(WorkspaceId, WebhookId)>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", webhook_id as "webhook: WebhookId" from redeliveries
           where webhook_id not in (select unnest($1::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by asked_at limit 100"#,
        &aside.rows
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.webhook)).collect())
}

/// One that is under way.
struct Redelivery {
    webhook: WebhookId,
    asked_at: DateTime<Utc>,
    skipped: bool,
    read_to: i64,
}

/// Does a bounded part of it. Another node may have it in hand.
async fn step(tx: &mut Tx<'_>, webhook: WebhookId) -> Result<PassProgress> {
    let workspace = tx.workspace();
    let found = sqlx::query_as!(
        Redelivery,
        r#"select webhook_id as "webhook: WebhookId", asked_at, skipped, read_to from redeliveries
           where workspace_id = $1 and webhook_id = $2 for update skip locked"#,
        workspace.0,
        webhook.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(one) = found else { return Ok(PassProgress::Done) };
    // What happened at the moment of asking counts.
    let end = lowest_at(one.asked_at + TimeDelta::milliseconds(1));
    if find(tx, workspace, webhook).await?.state != WebhookState::Active {
        forget(tx, &one).await
    } else if one.read_to < end {
        read(tx, &one, end).await
    } else {
        queue(tx, &one).await
    }
}

/// Reads some of the log.
async fn read(tx: &mut Tx<'_>, one: &Redelivery, end: i64) -> Result<PassProgress> {
    let (mut lines, mut read_to, mut window) = (0, one.read_to, WINDOW);
    for _ in 0..WINDOWS {
        if lines >= LINES || read_to >= end {
            break;
        }
        let until = lowest_at(made_at(read_to) + window).min(end);
        let seen = read_window(tx, one, read_to, until).await?;
        (lines, read_to) = (lines + seen, until);
        window = if seen < LITTLE { LONGEST_WINDOW.min(window * 2) } else { WINDOW };
    }
    let workspace = tx.workspace();
    sqlx::query!(
        "update redeliveries set read_to = $3 where workspace_id = $1 and webhook_id = $2",
        workspace.0,
        one.webhook.0,
        read_to
    )
    .execute(&mut **tx)
    .await?;
    Ok(PassProgress::More)
}

/// Notes what failed in a part of the log, and takes back what was delivered in it. Gives how many lines that were. The log's key
/// has state and kind before the number, so both are named.
async fn read_window(tx: &mut Tx<'_>, one: &Redelivery, from: i64, until: i64) -> Result<i64> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let states: &[&str] =
        if one.skipped { &["delivered", "failed", "skipped"] } else { &["delivered", "failed"] };
    Ok(sqlx::query_scalar!(
        r#"with seen as materialized (
               select state, kind, id, event_id from delivery_log
               where workspace_id = $1 and webhook_id = $2 and state = any($3) and kind = any($4)
                 and id >= $5 and id < $6),
           delivered as materialized (
               select event_id, max(id) as id from seen where state = 'delivered' group by event_id),
           lost as materialized (
               select distinct event_id, kind from seen
               where state <> 'delivered' and event_id >= $7
                 and not exists (select from delivered later where later.event_id = seen.event_id and later.id > seen.id)),
           gone as (
               delete from failed_events known using delivered
               where known.workspace_id = $1 and known.webhook_id = $2 and known.event_id = delivered.event_id
                 and known.event_id not in (select event_id from lost)),
           noted as (
               insert into failed_events (workspace_id, webhook_id, event_id, kind)
               select $1, $2, event_id, kind from lost on conflict do nothing)
           select count(*) as "lines!" from seen"#,
        workspace.0,
        one.webhook.0,
        states as &[&str],
        Kind::NAMES as &[&str],
        from,
        until,
        lowest_at(now - LOG)
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Queues some of what was found, the oldest first. What waits in the queue already is not queued anew.
async fn queue(tx: &mut Tx<'_>, one: &Redelivery) -> Result<PassProgress> {
    let (workspace, now) = (tx.workspace(), tx.now());
    lock(tx, workspace, one.webhook).await?;
    let taken = sqlx::query_scalar!(
        r#"with few as (
               delete from failed_events where ctid = any(array(
                   select ctid from failed_events where workspace_id = $1 and webhook_id = $2 order by event_id limit $4))
               returning event_id, kind),
           queued as (
               insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run)
               select $1, $2, event_id, kind, $3, run
               from few join webhooks on workspace_id = $1 and id = $2
               on conflict do nothing returning event_id),
           counted as (
               update redeliveries set queued = queued + (select count(*) from queued)
               where workspace_id = $1 and webhook_id = $2)
           select count(*) as "taken!" from few"#,
        workspace.0,
        one.webhook.0,
        now,
        EVENTS
    )
    .fetch_one(&mut **tx)
    .await?;
    wake(tx, workspace, one.webhook, now).await?;
    ended(tx, one, taken).await
}

/// Nothing is sent to a webhook that is stopped.
async fn forget(tx: &mut Tx<'_>, one: &Redelivery) -> Result<PassProgress> {
    let workspace = tx.workspace();
    let gone = sqlx::query!(
        "delete from failed_events where ctid = any(array(
             select ctid from failed_events where workspace_id = $1 and webhook_id = $2 limit $3))",
        workspace.0,
        one.webhook.0,
        EVENTS
    )
    .execute(&mut **tx)
    .await?;
    ended(tx, one, gone.rows_affected() as i64).await
}

/// It is done when a step took fewer events than it could.
async fn ended(tx: &mut Tx<'_>, one: &Redelivery, taken: i64) -> Result<PassProgress> {
    if taken == EVENTS {
        return Ok(PassProgress::More);
    }
    let workspace = tx.workspace();
    sqlx::query!(
        "delete from redeliveries where workspace_id = $1 and webhook_id = $2",
        workspace.0,
        one.webhook.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(PassProgress::Done)
}
