//! Deletes app-mail records that got no reply within 30 days (specification 8). Lookups ignore them from that
//! moment on, so the deletion may come late.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::app_mail::told;
use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::store::db::Tx;

const BATCH: i64 = 500;

/// Workspaces with records older than a time. Looks at the oldest 10,000 records, so it may not name all.
pub async fn stale(
    conn: &mut PgConnection,
    before: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct workspace_id as "id!: WorkspaceId" from (
               select workspace_id from app_mail
               where conversation_id is null and recorded_at <= $1
                 and workspace_id not in (select unnest($2::bigint[]))
                 and workspace_id not in (select id from workspaces where fenced_at is not null)
               order by recorded_at limit 10000) oldest"#,
        before,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// When the oldest unanswered record was made.
pub async fn oldest(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(recorded_at) from app_mail where conversation_id is null")
        .fetch_one(conn)
        .await?)
}

/// Forgets a batch. True when there may be more.
pub async fn forget(tx: &mut Tx<'_>, before: DateTime<Utc>) -> Result<bool> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "delete from app_mail where ctid = any(array(
             select ctid from app_mail
             where workspace_id = $1 and conversation_id is null and recorded_at <= $2
             limit $3 for update skip locked))",
        workspace,
        before,
        BATCH
    )
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() as i64 == BATCH)
}

/// Forgets what was sent to somebody who is erased, a batch at a time. True when there may be more.
pub async fn erase(tx: &mut Tx<'_>, address: &str) -> Result<bool> {
    told::erase(tx, address).await?;
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "delete from app_mail where ctid = any(array(
             select ctid from app_mail
             where workspace_id = $1 and exists (select from unnest(recipients) one where lower(one) = $2) limit $3))",
        workspace,
        address,
        BATCH
    )
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() as i64 == BATCH)
}

/// Forgets what these conversations answer, to whichever address of somebody it went.
pub async fn erase_answered(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<()> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = conversations.iter().map(|id| id.0).collect();
    sqlx::query!(
        "delete from app_mail where workspace_id = $1 and conversation_id = any($2)",
        workspace,
        &ids
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
