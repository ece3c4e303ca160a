//! Turns events into deliveries: one for each webhook that hears of where it happened and wants its kind, and gives them
//! their numbers in the feed. Many events at a time, in the transaction that takes their notes. A webhook that is stopped gets a line in its log.

use chrono::TimeDelta;
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece, caught};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DeliveryId, Id, WorkspaceId};
use rookery_base::store::connection::DatabaseConnection;
use rookery_base::store::db::Across;
use rookery_core::events::take::{self, Notes, TakeLimits, take};
use rookery_core::events::{feed, outbox};

/// A webhook that had nothing to do is served before those that are in the midst of much.
const HEAD_START: TimeDelta = TimeDelta::seconds(1);

/// The worker's loop.
pub const LOOP: &str = "fan out events";

/// Works off every note there is, from the place this node remembers on. What comes meanwhile waits for the next look: a few
/// at a time would cost as much as many.
pub async fn run(app: &App, put_off: &Backoff) -> Result<()> {
    let done = async {
        let mut conn = app.connection().await?;
        let from = outbox::begin(app, &mut conn).await?;
        work_off(app, &mut conn, put_off, from).await?;
        outbox::advance(app, &mut conn, from).await
    };
    let done = done.await;
    // Another database may have taken its place.
    if done.as_ref().is_err_and(Error::is_outage) {
        app.outbox.forget();
    }
    done
}

/// The same from the oldest note on, when that is due: at the start, after an outage and now and then. It walks over all that is
/// gone and still stands in the index, and nobody waits for it.
pub async fn run_whole(app: &App, put_off: &Backoff) -> Result<()> {
    if !app.outbox.whole_is_due(app.clock.now()) {
        return Ok(());
    }
    let done = async {
        let mut conn = app.connection().await?;
        let mut tx = Across::begin(&mut conn).await?;
        let from = outbox::begin_whole(&mut tx).await?;
        tx.commit().await?;
        work_off(app, &mut conn, put_off, from).await?;
        outbox::end_whole(app, &mut conn, from).await
    };
    let done = done.await;
    if done.is_err() {
        app.outbox.forget();
    }
    done
}

async fn work_off(app: &App, conn: &mut DatabaseConnection, put_off: &Backoff, from: i64) -> Result<()> {
    let (mut after, mut idle, mut most) = (WorkspaceId(i64::MIN), false, take::MOST);
    while !app.stop.is_told() {
        let aside = put_off.aside(app.clock.now());
        let mut tx = Across::begin(conn).await?;
        let notes = take(&mut tx, TakeLimits { from, after, most }, &aside).await?;
        let Some(last) = notes.workspaces.iter().max() else {
            // Once around without a note: all are taken.
            if idle || after.0 == i64::MIN {
                return Ok(());
            }
            (after, idle) = (WorkspaceId(i64::MIN), true);
            continue;
        };
        let fanned_out = async {
            fan_out(&mut tx, app, &notes).await?;
            tx.commit().await
        };
        match (caught(fanned_out).await, &*notes.workspaces, &*notes.events) {
            (Ok(()), ..) if notes.all => return Ok(()),
            (Ok(()), ..) => {
                (after, idle, most) = (WorkspaceId(*last), false, take::MOST.min(2 * most));
            }
            (Err(error), ..) if error.is_outage() => return Err(error),
            (Err(error), [workspace], [event]) => {
                put_off.failed(BackoffPiece::Row(WorkspaceId(*workspace), *event), &error, app.clock.now());
                most = take::MOST;
            }
            // One of them is to blame: half as many at a time, until it stands alone.
            (Err(_), ..) => most = notes.events.len() as i64 / 2,
        }
    }
    Ok(())
}

async fn fan_out(conn: &mut PgConnection, app: &App, notes: &Notes) -> Result<()> {
    let now = app.clock.now();
    feed::append(conn, notes, now, &app.random).await?;
    let ids: Vec<i64> = notes.events.iter().map(|_| DeliveryId::mint(now, &app.random).0).collect();
    let lanes = sqlx::query!(
        r#"with heard as (
               select webhook.workspace_id, webhook.id as webhook_id, event.event_id, event.kind, webhook.run, event.id,
                      webhook.state = 'active' and workspace.plan <> 'free' as sends
               from unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[])
                        as event (workspace_id, event_id, kind, livemode, audience, id)
               join webhooks webhook
                   on webhook.workspace_id = event.workspace_id and webhook.livemode = event.livemode
                   and webhook.audience = event.audience and webhook.removed_at is null
                   and (webhook.kinds is null or event.kind = any(webhook.kinds))
                   -- Not what happened before there was a webhook: both ids begin with their time.
                   and event.event_id >= webhook.id >> 22 << 22
               join workspaces workspace on workspace.id = webhook.workspace_id
               -- Nobody hears a private inbox whose owner has left.
               join people maker
                   on maker.workspace_id = webhook.workspace_id and maker.id = webhook.maker_id
                   and (webhook.scope = 'team' or maker.removed_at is null)),
           queued as (
               insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run)
               select workspace_id, webhook_id, event_id, kind, $7, run from heard where sends
               on conflict do nothing),
           skipped as (
               insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
               select workspace_id, webhook_id, 'skipped', kind, id, event_id, '[]' from heard where not sends)
           select distinct workspace_id as "workspace_id!", webhook_id as "webhook_id!" from heard where sends"#,
        &notes.workspaces,
        &notes.events,
        &notes.kinds,
        &notes.livemodes,
        &notes.audiences,
        &ids,
        now
    )
    .fetch_all(&mut *conn)
    .await?;
    if lanes.is_empty() {
        return Ok(());
    }
    // After the deliveries are there, and always: whoever gives a lane back holds its row and looks once more,
    // so either they see these deliveries or this sees the lane free. Locked first and in order, by a statement
    // of its own: another that waited would look for the rows as they were before.
    let (workspaces, webhooks): (Vec<i64>, Vec<i64>) =
        lanes.into_iter().map(|lane| (lane.workspace_id, lane.webhook_id)).unzip();
    sqlx::query!(
        "select lane.lease from webhook_lanes lane
         join unnest($1::bigint[], $2::bigint[]) as told (workspace_id, webhook_id) using (workspace_id, webhook_id)
         order by lane.workspace_id, lane.webhook_id for no key update of lane",
        &workspaces,
        &webhooks
    )
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query!(
        "update webhook_lanes lane
         set next_due = case when lane.next_due <= $3 then lane.next_due else $4 end,
             none_before = least(lane.none_before, $3)
         from unnest($1::bigint[], $2::bigint[]) as told (workspace_id, webhook_id)
         where lane.workspace_id = told.workspace_id and lane.webhook_id = told.webhook_id",
        &workspaces,
        &webhooks,
        now,
        now - HEAD_START
    )
    .execute(conn)
    .await?;
    Ok(())
}
