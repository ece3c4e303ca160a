//! Deletes app-mail records that got no reply within 30 days (specification 8). Lookups ignore them from that
//! moment on, so the deletion may come late.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::db::Tx;
use crate::error::Result;
use crate::ids::WorkspaceId;

/// Workspaces with records older than a time. Looks at the oldest 10,000 records, so it may not name all.
pub async fn stale(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct workspace_id as "id!: WorkspaceId" from (
               select workspace_id from app_mail where conversation_id is null and recorded_at <= $1
               order by recorded_at limit 10000) oldest"#,
        before
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

pub async fn forget(tx: &mut Tx<'_>, before: DateTime<Utc>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from app_mail where ctid = any(array(
             select ctid from app_mail
             where workspace_id = $1 and conversation_id is null and recorded_at <= $2
             limit 500 for update skip locked))",
        workspace,
        before
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
