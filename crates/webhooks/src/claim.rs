//! Claims webhooks that have something due, and reads some of it. A claim is a lease on the webhook's lane: for
//! its time nobody else delivers there, so deliveries themselves are not written before they are done.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use url::Url;

use crate::secret::{decrypt, still_signs};
use crate::webhook::WebhookState;
use rookery_base::app::App;
use rookery_base::due::backoff::Aside;
use rookery_base::due::lease::Lease;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{EventId, WebhookId, WorkspaceId};
use rookery_base::secrets::signed_requests::SharedSecret;
use rookery_base::store::db::Across;

/// A turn begins no try after this.
pub const TURN: Duration = Duration::from_secs(2);
/// The longest that it takes to claim, or to write down what came of a turn: to get a connection and an answer (db.rs).
const LONGEST_WRITE: TimeDelta = TimeDelta::seconds(10);
/// Lanes of one claim, and deliveries of all of them together. Few lanes get more each; when very many have
/// something due, each gets little, so that all have had a turn soon.
const LANES: i64 = 250;
const ROWS: i64 = 1000;

/// A webhook that this process delivers to for a while.
pub struct Lane {
    pub key: LaneKey,
    pub lease: Lease,
    /// Nothing when what is stored of it cannot be used: its tries fail, and it is paused like any that fails.
    pub target: Option<Target>,
    pub state: WebhookState,
    pub in_plan: bool,
    pub run: i32,
    /// Nothing that waits is due before this.
    none_before: DateTime<Utc>,
    pub rows: Vec<WaitingDelivery>,
}

/// Where a webhook's requests go, and what signs them.
pub struct Target {
    pub url: Url,
    pub secrets: Vec<SharedSecret>,
}

/// Which lane, and the number of the claim that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneKey {
    pub workspace: WorkspaceId,
    pub webhook: WebhookId,
    pub lease: i32,
}

/// A delivery that is due.
pub struct WaitingDelivery {
    pub event: EventId,
    pub run: i32,
    pub asked: bool,
    pub tries: usize,
    /// None when the event is past its days.
    pub body: Option<String>,
}

pub async fn claim(app: &App, most: usize, aside: &Aside) -> Result<Vec<Lane>> {
    let lease = lease_of_a_turn(app)?;
    let mut conn = app.connection().await?;
    let mut tx = Across::begin(&mut conn).await?;
    let mut lanes = take(&mut tx, app, lease, LANES.min(most as i64), aside).await?;
    if !lanes.is_empty() {
        read_rows(&mut tx, &mut lanes, lease.began).await?;
    }
    tx.commit().await?;
    Ok(lanes)
}

/// When the next webhook should be looked at, or should have been, of those that nobody holds.
pub async fn next(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        r#"select next_due as "next_due!" from webhook_lanes
           where next_due is not null and (leased_until is null or leased_until <= $1)
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by next_due limit 1"#,
        now
    )
    .fetch_optional(conn)
    .await?)
}

/// Room for the name's lookup, for the tries that begin within a turn's time, and for writing, whatever the settings.
fn lease_of_a_turn(app: &App) -> Result<Lease> {
    let time = app.config.webhook_time();
    let turn = TimeDelta::from_std(time + TURN + time).map_err(Error::internal)?;
    Ok(Lease::covering(app.clock.now(), turn, app.config.handover().min(LONGEST_WRITE)))
}

async fn take(
    conn: &mut PgConnection,
    app: &App,
    lease: Lease,
    most: i64,
    aside: &Aside,
) -> Result<Vec<Lane>> {
    let now = lease.began;
    let rows = sqlx::query!(
        r#"with due as materialized (
               select lane.ctid, lane.workspace_id from webhook_lanes lane
               where next_due <= $1 and (leased_until is null or leased_until <= $1)
                 and workspace_id not in (select id from workspaces where fenced_at is not null)
                 and webhook_id not in (select unnest($4::bigint[]))
               order by next_due limit $2 for no key update of lane skip locked),
           entered as materialized (
               select workspace_id from (select distinct workspace_id from due) each_one
               where try_enter_workspace(workspace_id)),
           leased as (
               update webhook_lanes lane set lease = lane.lease + 1, leased_until = $3, next_due = $3
               from due join entered using (workspace_id) where lane.ctid = due.ctid
               returning lane.workspace_id, lane.webhook_id, lane.lease, lane.none_before)
           select leased.workspace_id as "workspace: WorkspaceId", leased.webhook_id as "webhook: WebhookId", lease,
                  none_before, url, state as "state: WebhookState", run, secret, old_secret, rotated_at, plan <> 'free' as "in_plan!",
                  removed_at is not null as "removed!"
           from leased
           join webhooks on webhooks.workspace_id = leased.workspace_id and webhooks.id = leased.webhook_id
           join workspaces on workspaces.id = leased.workspace_id"#,
        now,
        most,
        lease.ends,
        &aside.rows
    )
    .fetch_all(conn)
    .await?;
    let server_key = app.config.needs_secret_key()?;
    let mut lanes = Vec::with_capacity(rows.len());
    for row in rows {
        let key = LaneKey { workspace: row.workspace, webhook: row.webhook, lease: row.lease };
        let old = row.old_secret.zip(row.rotated_at).filter(|(_, rotated)| still_signs(*rotated, now));
        let stored = std::iter::once(row.secret).chain(old.map(|(old, _)| old));
        let secrets: Result<Vec<SharedSecret>> =
            stored.map(|stored| decrypt(&stored, server_key, key.workspace, key.webhook)).collect();
        let target = match (secrets, row.url.parse()) {
            (Ok(secrets), Ok(url)) => Some(Target { url, secrets }),
            // Nothing of it is left that could be used.
            _ if row.removed => None,
            (secrets, _) => {
                let error = secrets.err();
                tracing::error!(webhook = %key.webhook, ?error, "a webhook cannot be used");
                None
            }
        };
        let (state, in_plan, run, none_before) = (row.state, row.in_plan, row.run, row.none_before);
        lanes.push(Lane { key, lease, target, state, in_plan, run, none_before, rows: Vec::new() });
    }
    Ok(lanes)
}

async fn read_rows(conn: &mut PgConnection, lanes: &mut [Lane], now: DateTime<Utc>) -> Result<()> {
    let workspaces: Vec<i64> = lanes.iter().map(|lane| lane.key.workspace.0).collect();
    let webhooks: Vec<i64> = lanes.iter().map(|lane| lane.key.webhook.0).collect();
    // What waits at a stopped webhook is dropped, whenever it would have been due.
    let ever = now + TimeDelta::days(365);
    let until: Vec<_> =
        lanes.iter().map(|lane| if lane.state == WebhookState::Active { now } else { ever }).collect();
    let from: Vec<_> = lanes.iter().map(|lane| lane.none_before).collect();
    let each = ROWS / lanes.len() as i64;
    // The body by a subquery: a join may be planned as a pass over all events.
    let rows = sqlx::query!(
        r#"select number as "number!", due.event_id as "event!: EventId", due.run as "run!", due.asked as "asked!",
                  jsonb_array_length(due.tries) as "tries!",
                  (select body from events where events.workspace_id = lane.workspace_id and events.id = due.event_id)
           from unnest($1::bigint[], $2::bigint[], $5::timestamptz[], $3::timestamptz[]) with ordinality
                    as lane (workspace_id, webhook_id, since, until, number)
           cross join lateral (
               select event_id, run, asked, tries from deliveries
               where deliveries.workspace_id = lane.workspace_id and deliveries.webhook_id = lane.webhook_id
                 and due_at >= lane.since and due_at <= lane.until
               order by due_at limit $4) due"#,
        &workspaces,
        &webhooks,
        &until,
        each,
        &from
    )
    .fetch_all(conn)
    .await?;
    for row in rows {
        if let Some(lane) = lanes.get_mut((row.number - 1) as usize) {
            lane.rows.push(WaitingDelivery {
                event: row.event,
                run: row.run,
                asked: row.asked,
                tries: row.tries as usize,
                body: row.body,
            });
        }
    }
    Ok(())
}
