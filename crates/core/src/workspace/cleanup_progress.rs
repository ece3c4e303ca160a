//! Up to which day a workspace's files have been looked through for those that no row names, and up to which day
//! the raw form of its mail has been dropped. Kept with the workspace, so that each day is looked at once, by
//! whichever node comes first.

use chrono::NaiveDate;
use sqlx::PgConnection;

use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Tx;

/// Workspaces that have not been looked through up to a day, each with the last day that was.
pub async fn behind(
    conn: &mut PgConnection,
    day: NaiveDate,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, NaiveDate)>> {
    let rows = sqlx::query!(
        r#"select id as "id: WorkspaceId", coalesce(blobs_swept, (created_at at time zone 'UTC')::date - 1) as "day!"
           from workspaces
           where coalesce(blobs_swept, (created_at at time zone 'UTC')::date - 1) < $1 and fenced_at is null
             and id not in (select unnest($2::bigint[]))
           limit 100"#,
        day,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.day)).collect())
}

pub async fn note(tx: &mut Tx<'_>, day: NaiveDate) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("update workspaces set blobs_swept = $2 where id = $1", workspace, day)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Workspaces whose raw mail has not been dropped up to a day, each with the last day that was.
pub async fn behind_with_raw(
    conn: &mut PgConnection,
    day: NaiveDate,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, NaiveDate)>> {
    let rows = sqlx::query!(
        r#"select id as "id: WorkspaceId", coalesce(raw_dropped, (created_at at time zone 'UTC')::date - 1) as "day!"
           from workspaces
           where coalesce(raw_dropped, (created_at at time zone 'UTC')::date - 1) < $1 and fenced_at is null
             and id not in (select unnest($2::bigint[]))
           limit 100"#,
        day,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.day)).collect())
}

pub async fn note_raw(tx: &mut Tx<'_>, day: NaiveDate) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("update workspaces set raw_dropped = $2 where id = $1", workspace, day)
        .execute(&mut **tx)
        .await?;
    Ok(())
}
