//! What models may cost: so much a month, so many calls a day. The worst case of a call is taken before it is made and put
//! right after; both are one row's lock, so however many nodes ask at once, the limit holds. A node that dies in between
//! has spent the worst case.

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::settings;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;
use rookery_base::zone::Zone;
use rookery_core::workspace::notices::{self, NoticeWords};

const AT_ONCE: i64 = 1_000;
/// Calls by day that are kept.
const KEPT: TimeDelta = TimeDelta::days(40);

/// What was taken for a call, until it is known what it cost.
#[derive(Clone, Copy, Debug)]
pub struct SpendReservation {
    month: NaiveDate,
    pub worst: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Somebody said stop.
    Stopped,
    /// The month's money, or the day's calls, are used up.
    Money,
    Calls,
}

/// Takes the worst case of a call from the month, and the call from the day.
pub async fn take(
    app: &App,
    workspace: WorkspaceId,
    worst: i64,
) -> Result<std::result::Result<SpendReservation, NotTaken>> {
    take_up_to(app, workspace, worst, None).await
}

/// The same where the operator, too, says how much it may be in a month.
pub async fn take_up_to(
    app: &App,
    workspace: WorkspaceId,
    worst: i64,
    most: Option<i64>,
) -> Result<std::result::Result<SpendReservation, NotTaken>> {
    let mut tx = app.begin(workspace).await?;
    let limits = settings::held(&mut tx).await?;
    if limits.is_stopped(app) {
        return Ok(Err(NotTaken::Stopped));
    }
    let now = tx.now();
    let limit = limits.monthly_limit.min(most.unwrap_or(i64::MAX));
    let day = Zone::load(&mut tx, workspace).await?.day(now);
    let month = month_of(day);
    let called = sqlx::query!(
        "insert into assistant_calls as day (workspace_id, day, calls) select $1, $2, 1 where $3 > 0
         on conflict (workspace_id, day) do update set calls = day.calls + 1 where day.calls < $3",
        workspace.0,
        day,
        limits.daily_calls
    )
    .execute(&mut *tx)
    .await?;
    if called.rows_affected() == 0 {
        drop(tx);
        return Ok(Err(NotTaken::Calls));
    }
    let taken = sqlx::query!(
        "insert into assistant_spend as month (workspace_id, month, spent, calls)
         select $1, $2, $3::bigint, 1 where $3::bigint <= $4::bigint
         on conflict (workspace_id, month) do update set spent = month.spent + $3, calls = month.calls + 1
             where month.spent + $3 <= $4 or $3 = 0",
        workspace.0,
        month,
        worst,
        // What costs nothing needs no limit.
        if worst == 0 { 0 } else { limit }
    )
    .execute(&mut *tx)
    .await?;
    if taken.rows_affected() == 0 {
        drop(tx);
        // Where nothing may be spent there is nothing to be told of.
        if limit > 0 {
            tell(app, workspace, month).await?;
        }
        return Ok(Err(NotTaken::Money));
    }
    tx.commit().await?;
    Ok(Ok(SpendReservation { month, worst }))
}

/// What it cost after all. A server that counts more than the worst case is believed: it is what it will ask for.
pub async fn settle(tx: &mut Tx<'_>, taken: SpendReservation, cost: i64) -> Result<i64> {
    let workspace = tx.workspace().0;
    let cost = cost.max(0);
    sqlx::query!(
        "update assistant_spend set spent = spent - $3 where workspace_id = $1 and month = $2",
        workspace,
        taken.month,
        taken.worst - cost
    )
    .execute(&mut **tx)
    .await?;
    Ok(cost)
}

/// Owners are told once a month that the limit is reached.
async fn tell(app: &App, workspace: WorkspaceId, month: NaiveDate) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let first = sqlx::query!(
        "update assistant_settings set told_month = $2 where workspace_id = $1 and told_month is distinct from $2",
        workspace.0,
        month
    )
    .execute(&mut *tx)
    .await?;
    if first.rows_affected() == 0 {
        return Ok(());
    }
    let owners = sqlx::query_scalar!(
        "select email from people where workspace_id = $1 and role = 'owner' and removed_at is null order by id",
        workspace.0
    )
    .fetch_all(&mut *tx)
    .await?;
    let (now, random) = (tx.now(), tx.frame().random.clone());
    let body = "The monthly limit for models is reached, so the assistants work by rules alone until the month ends, and \
                nothing is drafted. To let them go on, raise the limit under Settings, Assistants.\n";
    let words = NoticeWords { kind: "assistants-limit", subject: "The limit for models is reached", body };
    notices::write_to(&mut tx, workspace, now, &random, &owners, words).await?;
    tx.commit().await
}

/// A month's money, in millionths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Month {
    pub spent: i64,
    pub calls: i32,
    pub calls_today: i32,
    pub day: NaiveDate,
}

pub async fn this_month(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
) -> Result<Month> {
    let day = Zone::load(conn, workspace).await?.day(now);
    let row = sqlx::query!(
        r#"select coalesce((select spent from assistant_spend where workspace_id = $1 and month = $2), 0) as "spent!",
                  coalesce((select calls from assistant_spend where workspace_id = $1 and month = $2), 0) as "calls!",
                  coalesce((select calls from assistant_calls where workspace_id = $1 and day = $3), 0) as "today!""#,
        workspace.0,
        month_of(day),
        day
    )
    .fetch_one(conn)
    .await?;
    Ok(Month { spent: row.spent, calls: row.calls, calls_today: row.today, day })
}

fn month_of(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
}

pub async fn forget_calls(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "assistant_calls", "day", (now - KEPT).date_naive(), AT_ONCE)
}
