//! Writes down what came of many tries at once: the log, the next try, how each webhook is doing, and the lanes
//! given back. Only the holder of a lane's newest lease is heard; whoever comes later writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::attempt::Try;
use crate::claim::LaneKey;
use crate::health;
use crate::manage::stop;
use crate::schedule::{PATIENCE, delay};
use crate::webhook::{WebhookState, find};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DeliveryId, EventId, Id, WebhookId, WorkspaceId};
use rookery_base::store::db::Across;
use rookery_core::workspace::notices::{self, Notice};

pub struct FinishedTry {
    pub event: EventId,
    /// Tries so far, with this one.
    pub tries: usize,
    /// Whether the webhook answered well; nothing when it does not count.
    pub healthy: Option<bool>,
    pub outcome: AttemptResult,
}

pub enum AttemptResult {
    /// `again`: a failure is tried again, as long as tries are left.
    Tried { result: Try, again: bool },
    /// Not sent, because the webhook is stopped.
    Skipped,
}

/// With the time of the next try, if there is one.
type LaneResult<'a> = (&'a LaneKey, &'a FinishedTry, Option<DateTime<Utc>>);

/// How a webhook did in this batch.
#[derive(Default)]
struct Health {
    succeeded: bool,
    /// The first failure after the last success.
    failing_since: Option<DateTime<Utc>>,
    gone: bool,
    released: bool,
}

pub async fn write_results(app: &App, done: &[(LaneKey, FinishedTry)], released: &[LaneKey]) -> Result<()> {
    let mut lanes: BTreeMap<LaneKey, Health> = BTreeMap::new();
    for (lane, done) in done {
        lanes.entry(*lane).or_default().count(done);
    }
    for lane in released {
        lanes.entry(*lane).or_default().released = true;
    }
    if lanes.is_empty() {
        return Ok(());
    }
    let mut conn = app.connection().await?;
    let mut tx = Across::begin(&mut conn).await?;
    lanes = still_held(&mut tx, lanes).await?;
    let heard = done.iter().filter(|(lane, _)| lanes.contains_key(lane));
    let (again, over): (Vec<_>, Vec<_>) =
        heard.map(|(lane, done)| (lane, done, done.next(app))).partition(|(.., next)| next.is_some());
    finish(&mut tx, app, &over).await?;
    put_off(&mut tx, &again).await?;
    let now = app.clock.now();
    let tried = done.iter().filter(|(lane, _)| lanes.contains_key(lane));
    health::count(&mut tx, now, tried.filter_map(|(lane, done)| Some((*lane, done.delivered()?)))).await?;
    for (lane, failing_since) in give_back(&mut tx, &lanes, now).await? {
        let Some(health) = lanes.get(&lane) else { continue };
        let too_long =
            health.failing_since.is_some() && failing_since.is_some_and(|since| now - since >= PATIENCE);
        if health.gone {
            turn_off(&mut tx, app, lane, WebhookState::Off, now).await?;
        } else if too_long {
            turn_off(&mut tx, app, lane, WebhookState::Paused, now).await?;
        }
    }
    tx.commit().await
}

impl Health {
    fn count(&mut self, done: &FinishedTry) {
        let AttemptResult::Tried { result, .. } = &done.outcome else { return };
        self.gone |= result.is_gone();
        match done.healthy {
            Some(true) => (self.succeeded, self.failing_since) = (true, None),
            Some(false) => {
                self.failing_since.get_or_insert(result.ended);
            }
            None => {}
        }
    }
}

impl FinishedTry {
    /// Whether a try was answered well; nothing when there was none.
    fn delivered(&self) -> Option<bool> {
        match &self.outcome {
            AttemptResult::Tried { result, .. } => Some(result.is_delivered()),
            AttemptResult::Skipped => None,
        }
    }

    /// When it is tried again, if it is.
    fn next(&self, app: &App) -> Option<DateTime<Utc>> {
        match &self.outcome {
            AttemptResult::Tried { result, again: true } if !result.is_delivered() && !result.is_gone() => {
                delay(self.tries, &app.random).map(|delay| result.ended + delay)
            }
            _ => None,
        }
    }
}

/// Locks the lanes that these leases still hold, in order. A workspace that nobody claims from any more, because it is about to
/// move, still lets in what came of earlier claims.
async fn still_held(
    conn: &mut PgConnection,
    mut lanes: BTreeMap<LaneKey, Health>,
) -> Result<BTreeMap<LaneKey, Health>> {
    let (workspaces, webhooks, leases) = columns(lanes.keys());
    let held = sqlx::query!(
        r#"with entered as materialized (
               select workspace_id from (select distinct unnest($1::bigint[]) as workspace_id order by 1) each_one
               where enter_to_finish(workspace_id))
           select lane.workspace_id as "workspace: WorkspaceId", lane.webhook_id as "webhook: WebhookId", lane.lease
           from unnest($1::bigint[], $2::bigint[], $3::integer[]) as held (workspace_id, webhook_id, lease)
           join entered using (workspace_id)
           join webhook_lanes lane using (workspace_id, webhook_id, lease)
           order by lane.workspace_id, lane.webhook_id for no key update of lane"#,
        &workspaces,
        &webhooks,
        &leases
    )
    .fetch_all(conn)
    .await?;
    let held: BTreeSet<LaneKey> = held
        .into_iter()
        .map(|row| LaneKey { workspace: row.workspace, webhook: row.webhook, lease: row.lease })
        .collect();
    lanes.retain(|lane, _| held.contains(lane));
    Ok(lanes)
}

/// What is over moves from the queue to the log, with all its tries.
async fn finish(conn: &mut PgConnection, app: &App, over: &[LaneResult<'_>]) -> Result<()> {
    if over.is_empty() {
        return Ok(());
    }
    let now = app.clock.now();
    let (mut workspaces, mut webhooks, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ids, mut states, mut tries) = (Vec::new(), Vec::new(), Vec::new());
    for (lane, done, _) in over {
        let (state, json) = match &done.outcome {
            AttemptResult::Tried { result, .. } if result.is_delivered() => ("delivered", result.to_json()),
            AttemptResult::Tried { result, .. } => ("failed", result.to_json()),
            // What was tried before it was dropped has failed.
            AttemptResult::Skipped if done.tries > 0 => ("failed", "[]".to_owned()),
            AttemptResult::Skipped => ("skipped", "[]".to_owned()),
        };
        workspaces.push(lane.workspace.0);
        webhooks.push(lane.webhook.0);
        events.push(done.event.0);
        ids.push(DeliveryId::mint(now, &app.random).0);
        states.push(state.to_owned());
        tries.push(json);
    }
    sqlx::query!(
        "with ended as (
             delete from deliveries waiting
             using unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
                 as done (workspace_id, webhook_id, event_id, id, state, tries)
             where waiting.workspace_id = done.workspace_id and waiting.webhook_id = done.webhook_id
               and waiting.event_id = done.event_id
             returning waiting.workspace_id, waiting.webhook_id, done.state, waiting.kind, done.id, waiting.event_id,
                       waiting.tries || done.tries::jsonb as tries)
         insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
         select workspace_id, webhook_id, state, kind, id, event_id, tries from ended",
        &workspaces,
        &webhooks,
        &events,
        &ids,
        &states,
        &tries
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What failed and has tries left waits for the next.
async fn put_off(conn: &mut PgConnection, again: &[LaneResult<'_>]) -> Result<()> {
    let (mut workspaces, mut webhooks, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let (mut due, mut tries) = (Vec::new(), Vec::new());
    for (lane, done, next) in again {
        if let (AttemptResult::Tried { result, .. }, Some(next)) = (&done.outcome, next) {
            workspaces.push(lane.workspace.0);
            webhooks.push(lane.webhook.0);
            events.push(done.event.0);
            due.push(*next);
            tries.push(result.to_json());
        }
    }
    if events.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "update deliveries waiting set tries = waiting.tries || done.tries::jsonb, due_at = done.due_at, asked = false
         from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[])
             as done (workspace_id, webhook_id, event_id, due_at, tries)
         where waiting.workspace_id = done.workspace_id and waiting.webhook_id = done.webhook_id
           and waiting.event_id = done.event_id",
        &workspaces,
        &webhooks,
        &events,
        &due,
        &tries
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes each webhook's health and frees the lanes whose turn is over, until their next delivery is due. One
/// with more to do goes to the end of the queue, so that all take turns.
/// Gives since when each is failing. The lanes are locked, so no delivery can come that this does not see
/// and that does not see this.
async fn give_back(
    conn: &mut PgConnection,
    lanes: &BTreeMap<LaneKey, Health>,
    now: DateTime<Utc>,
) -> Result<Vec<(LaneKey, Option<DateTime<Utc>>)>> {
    let (workspaces, webhooks, leases) = columns(lanes.keys());
    let succeeded: Vec<bool> = lanes.values().map(|health| health.succeeded).collect();
    let since: Vec<Option<DateTime<Utc>>> = lanes.values().map(|health| health.failing_since).collect();
    let released: Vec<bool> = lanes.values().map(|health| health.released).collect();
    let rows = sqlx::query!(
        r#"update webhook_lanes lane set
               failing_since =
                   case when done.succeeded then done.since else coalesce(lane.failing_since, done.since) end,
               leased_until = case when done.released then null else lane.leased_until end,
               next_due = case when done.released then (
                   select case when webhook.state = 'active' then greatest(due_at, $7) else $7 end
                   from deliveries
                   where deliveries.workspace_id = lane.workspace_id and deliveries.webhook_id = lane.webhook_id
                     and due_at >= lane.none_before
                   order by due_at limit 1) else lane.next_due end,
               none_before = case when done.released then least(coalesce((
                   select due_at from deliveries
                   where deliveries.workspace_id = lane.workspace_id and deliveries.webhook_id = lane.webhook_id
                     and due_at >= lane.none_before
                   order by due_at limit 1), $7), $7 - interval '1 minute') else lane.none_before end
           from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::boolean[], $5::timestamptz[], $6::boolean[])
                    as done (workspace_id, webhook_id, lease, succeeded, since, released)
           join webhooks webhook on webhook.workspace_id = done.workspace_id and webhook.id = done.webhook_id
           where lane.workspace_id = done.workspace_id and lane.webhook_id = done.webhook_id
             and (done.released or done.since is not null or (done.succeeded and lane.failing_since is not null))
           returning lane.workspace_id as "workspace: WorkspaceId", lane.webhook_id as "webhook: WebhookId",
                     lane.lease, lane.failing_since"#,
        &workspaces,
        &webhooks,
        &leases,
        &succeeded,
        &since as &[Option<DateTime<Utc>>],
        &released,
        now
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let lane = LaneKey { workspace: row.workspace, webhook: row.webhook, lease: row.lease };
            (lane, row.failing_since)
        })
        .collect())
}

/// Stops a webhook because of how its other side answers, and tells whoever looks after it, once.
async fn turn_off(
    conn: &mut PgConnection,
    app: &App,
    lane: LaneKey,
    state: WebhookState,
    now: DateTime<Utc>,
) -> Result<()> {
    let LaneKey { workspace, webhook, .. } = lane;
    if !stop(conn, workspace, webhook, state, now).await? {
        return Ok(());
    }
    let found = find(conn, workspace, webhook).await?;
    let host = found.host();
    let log = app.config.public_url.join(&format!("settings/webhooks/{webhook}")).map_err(Error::internal)?;
    let mode = if found.livemode { "live" } else { "test" };
    let (kind, subject, what) = match state {
        WebhookState::Off => (
            "webhook-off",
            "A webhook was turned off",
            "its address answered 410, which means that it wants no more events",
        ),
        _ => ("webhook-paused", "A webhook was paused", "every delivery to it failed for a whole day"),
    };
    let body = format!(
        "The {mode} webhook {webhook} to {host} was {}: {what}.\n\nNothing is sent to it until someone resumes it. \
         Events of the last 30 days stay in its log and can be sent again from there:\n{log}\n",
        if state == WebhookState::Off { "turned off" } else { "paused" },
    );
    let notice = Notice { to: found.maker, kind, subject, body: &body };
    notices::write(conn, workspace, now, &app.random, notice).await
}

fn columns<'a>(lanes: impl Iterator<Item = &'a LaneKey>) -> (Vec<i64>, Vec<i64>, Vec<i32>) {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for lane in lanes {
        columns.0.push(lane.workspace.0);
        columns.1.push(lane.webhook.0);
        columns.2.push(lane.lease);
    }
    columns
}
