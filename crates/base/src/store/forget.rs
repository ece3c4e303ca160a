//! Deleting what has had its time: some rows a statement, until none are left. A workspace that cannot be entered now
//! (it is fenced, or the directory holds it) keeps its rows for the next time.

/// `forget!(conn, "table", "its column with the end", before this, rows at once)`
#[macro_export]
macro_rules! forget {
    ($conn:expr, $table:literal, $ended:literal, $before:expr, $at_once:expr) => {{
        let (conn, before, at_once): (&mut sqlx::PgConnection, _, i64) = ($conn, $before, $at_once);
        loop {
            let forgotten = sqlx::query!(
                "with old as (select ctid, workspace_id from "
                    + $table
                    + " where "
                    + $ended
                    + " <= $1 and workspace_id <> all (array(select id from workspaces where fenced_at is not null))
                     order by "
                    + $ended
                    + " limit $2 for update skip locked),
                 entered as materialized (
                     select workspace_id from (select distinct workspace_id from old) those
                     where try_enter_workspace(workspace_id))
                 delete from "
                    + $table
                    + " as gone using old, entered
                 where gone.ctid = old.ctid and entered.workspace_id = old.workspace_id",
                before,
                at_once
            )
            .execute(&mut *conn)
            .await?;
            if (forgotten.rows_affected() as i64) < at_once {
                return Ok(());
            }
        }
    }};
}
pub use forget;
