//! How webhooks do, counted by the hour as results are written: tries that were answered well and tries in vain. So a
//! picture of the last day costs a few rows, however much was delivered.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::claim::LaneKey;
use rookery_base::error::Result;
use rookery_base::ids::{WebhookId, WorkspaceId};
use rookery_base::store::forget::forget;

/// Hours of the picture.
pub const HOURS: usize = 24;
const KEPT: TimeDelta = TimeDelta::hours(48);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hour {
    pub delivered: i64,
    pub failed: i64,
}

/// The last day, oldest hour first; the present hour is the last.
pub type HealthDay = [Hour; HOURS];

/// Counts tries: for each whether it was delivered. The caller holds the lanes.
pub async fn count(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    tries: impl Iterator<Item = (LaneKey, bool)>,
) -> Result<()> {
    let mut counted: BTreeMap<LaneKey, (i32, i32)> = BTreeMap::new();
    for (lane, delivered) in tries {
        let (good, bad) = counted.entry(lane).or_default();
        *(if delivered { good } else { bad }) += 1;
    }
    if counted.is_empty() {
        return Ok(());
    }
    let workspaces: Vec<i64> = counted.keys().map(|lane| lane.workspace.0).collect();
    let webhooks: Vec<i64> = counted.keys().map(|lane| lane.webhook.0).collect();
    let (delivered, failed): (Vec<i32>, Vec<i32>) = counted.into_values().unzip();
    sqlx::query!(
        "insert into webhook_hours as told (workspace_id, webhook_id, hour, delivered, failed)
         select workspace_id, webhook_id, $5, delivered, failed
         from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[])
             as tried (workspace_id, webhook_id, delivered, failed)
         on conflict (workspace_id, webhook_id, hour) do update
             set delivered = told.delivered + excluded.delivered, failed = told.failed + excluded.failed",
        &workspaces,
        &webhooks,
        &delivered,
        &failed,
        hour_of(now)
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The last day of every webhook that tried anything.
pub async fn last_day(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
) -> Result<HashMap<WebhookId, HealthDay>> {
    let first = hour_of(now) - TimeDelta::hours(HOURS as i64 - 1);
    let rows = sqlx::query!(
        r#"select webhook_id as "webhook: WebhookId", hour, delivered, failed from webhook_hours
           where workspace_id = $1 and hour >= $2"#,
        workspace.0,
        first
    )
    .fetch_all(conn)
    .await?;
    let mut days: HashMap<WebhookId, HealthDay> = HashMap::new();
    for row in rows {
        let day = days.entry(row.webhook).or_default();
        if let Some(hour) = day.get_mut((row.hour - first).num_hours() as usize) {
            *hour = Hour { delivered: row.delivered.into(), failed: row.failed.into() };
        }
    }
    Ok(days)
}

pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "webhook_hours", "hour", now - KEPT, 1000)
}

fn hour_of(now: DateTime<Utc>) -> DateTime<Utc> {
    now.duration_trunc(TimeDelta::hours(1)).unwrap_or(now)
}
