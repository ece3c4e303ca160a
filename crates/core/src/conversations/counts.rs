//! Folds count changes into counts. Until then readers add both, so a count is right at any time; folding
//! only keeps the sum short. What is open is written down by week too: the last fold of a week is what reports tell of it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;

/// Workspaces that have changes to fold, at most 1000.
pub async fn unfolded(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"with recursive step as (
               (select workspace_id from count_changes order by workspace_id limit 1)
               union all
               select (select workspace_id from count_changes where workspace_id > step.workspace_id
                       order by workspace_id limit 1)
               from step where step.workspace_id is not null)
           select workspace_id as "id!: WorkspaceId" from step
           where workspace_id is not null and workspace_id not in (select unnest($1::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           limit 1000"#,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Since when the oldest change has been waiting; when very many workspaces have some, of some of them.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "with recursive first (workspace_id, at) as (
             (select workspace_id, at from count_changes order by workspace_id, at limit 1)
             union all
             select change.workspace_id, change.at from first cross join lateral (
                 select workspace_id, at from count_changes where count_changes.workspace_id > first.workspace_id
                 order by workspace_id, at limit 1) change)
         select min(at) from (select at from first limit 64) few"
    )
    .fetch_one(conn)
    .await?)
}

/// Folds a batch of one workspace's changes.
pub async fn fold(tx: &mut Tx<'_>) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let week = Zone::load(tx, workspace).await?.week(now);
    sqlx::query!(
        "with taken as (
             delete from count_changes where ctid = any(array(
                 select ctid from count_changes where workspace_id = $1 limit 10000 for update skip locked))
             returning what, subject_id, audience, change),
         folded as (
             insert into counts (workspace_id, what, subject_id, audience, n)
             select $1, what, subject_id, audience, sum(change) from taken
             group by what, subject_id, audience
             order by what, subject_id, audience
             on conflict (workspace_id, what, subject_id, audience) do update set n = counts.n + excluded.n
             returning what, subject_id, audience, n)
         insert into report_counts (workspace_id, mailbox_id, what, week, shard, n)
         select $1, subject_id, 'open', $2, 0, folded.n
         from folded
         join mailboxes on mailboxes.workspace_id = $1 and mailboxes.id = subject_id and mailboxes.audience = folded.audience
         where what = 'open' and mailboxes.kind <> 'sandbox'
         on conflict (workspace_id, mailbox_id, what, week, shard) do update set n = excluded.n",
        workspace.0,
        week
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
