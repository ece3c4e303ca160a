//! How often rules acted lately. A run is a row that is only added; whoever looks counts those of conversations that they
//! may see, up to a number.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::workspace::access::Actor;
use rookery_base::error::Result;
use rookery_base::ids::RuleId;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

/// What is shown and kept.
pub const SHOWN: TimeDelta = TimeDelta::days(7);
/// Where counting ends.
pub const MOST: i64 = 1_000;
const AT_ONCE: i64 = 1_000;

/// These rules acted on a conversation of this audience. One that was removed meanwhile is passed over.
pub async fn note(tx: &mut Tx<'_>, rules: &[RuleId], audience: i64) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into rule_runs (workspace_id, rule_id, audience, at)
         select $1, id, $3, $4
         from (select id from rules where workspace_id = $1 and id = any($2) order by id for key share) still_there",
        workspace,
        rules as &[RuleId],
        audience,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Runs of the last days by rule, as far as somebody may know of them.
pub async fn lately(
    conn: &mut PgConnection,
    who: &Actor,
    rules: &[RuleId],
    now: DateTime<Utc>,
) -> Result<HashMap<RuleId, i64>> {
    let rows = sqlx::query!(
        r#"select asked.id as "id!: RuleId", counted.n as "n!"
           from unnest($2::bigint[]) asked(id) cross join lateral (
               select count(*) as n from (
                   select from unnest($3::bigint[]) seen(audience) cross join lateral (
                       select from rule_runs
                       where workspace_id = $1 and rule_id = asked.id and audience = seen.audience and at > $4
                       limit $5) met limit $5) few) counted"#,
        who.workspace.0,
        rules as &[RuleId],
        &who.audiences(),
        now - SHOWN,
        MOST
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.n)).collect())
}

/// Forgets what is not shown any more.
pub async fn forget_runs(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "rule_runs", "at", now - SHOWN, AT_ONCE)
}
