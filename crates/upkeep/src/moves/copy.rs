//! The copy: a publication of one workspace's rows at the old cell, a subscription at the new one. PostgreSQL does the
//! work, so a command that is killed takes nothing with it.
//!
//! At the new cell the workspace is fenced before its first row is there: nothing of it is claimed, sent or changed.

use std::time::Duration;

use sqlx::Row;

use super::clean;
use super::side::Side;
use super::tell::Tell;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::directory::Directory;

const LOOK: Duration = Duration::from_millis(200);
/// Errors of the copy after which somebody has to look.
const MOST_ERRORS: i64 = 5;

fn name(workspace: WorkspaceId) -> String {
    format!("rookery_move_{}", workspace.0)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Safe to repeat: what is there already is left alone.
pub async fn begin(
    directory: &Directory,
    from: &mut Side,
    to: &mut Side,
    workspace: WorkspaceId,
) -> Result<()> {
    let (name, id) = (name(workspace), workspace.0);
    if !from.is_so(&format!("exists (select from pg_publication where pubname = '{name}')")).await? {
        let tables = from.tables().await?;
        let tables = tables.iter().filter(|table| !table.unlogged);
        let rows: Vec<String> =
            tables.map(|table| format!("{} where (workspace_id = {id})", table.name)).collect();
        let rows = rows.join(", ");
        from.run(format!(
            "create publication {name} for table {rows} with (publish_via_partition_root = true)"
        ))
        .await?;
    }
    if !from.is_so(&format!("exists (select from pg_replication_slots where slot_name = '{name}')")).await? {
        from.run(format!("select pg_create_logical_replication_slot('{name}', 'pgoutput')")).await?;
    }
    if to
        .is_so(&format!(
            "exists (select from pg_subscription where subname = '{name}' and {})",
            IN_THIS_DATABASE
        ))
        .await?
    {
        return Ok(());
    }
    // What an earlier copy left would be in the way of this one.
    clean::clean(directory, to, from, workspace).await?;
    let row: String = sqlx::query_scalar("select to_jsonb(w)::text from workspaces w where id = $1")
        .bind(id)
        .fetch_one(from.conn())
        .await?;
    sqlx::query(
        "insert into workspaces select (jsonb_populate_record(null::workspaces,
             $1::jsonb || jsonb_build_object('fenced_at', clock_timestamp()))).*",
    )
    .bind(row)
    .execute(to.conn())
    .await?;
    // The slot was made apart, so that both cells may be databases of one server.
    let source = quoted(&from.url.0);
    to.run(format!(
        "create subscription {name} connection {source} publication {name}
         with (create_slot = false, slot_name = '{name}', copy_data = true)"
    ))
    .await?;
    Ok(())
}

const IN_THIS_DATABASE: &str = "subdbid = (select oid from pg_database where datname = current_database())";

/// Until every table is there and follows.
pub async fn wait(to: &mut Side, workspace: WorkspaceId, tell: &dyn Tell) -> Result<()> {
    let name = name(workspace);
    loop {
        let row = sqlx::query(
            "select count(*) filter (where srsubstate = 'r'), count(*),
                    coalesce((select sum(tuples_processed)::bigint from pg_stat_progress_copy
                              where datname = current_database()), 0),
                    coalesce((select apply_error_count + sync_error_count from pg_stat_subscription_stats
                              where subname = $1), 0)
             from pg_subscription_rel join pg_subscription on oid = srsubid
             where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())",
        )
        .bind(&name)
        .fetch_one(to.conn())
        .await?;
        let (ready, all): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        tell.copied(ready, all, row.try_get(2)?);
        if ready == all && all > 0 {
            return Ok(());
        }
        if row.try_get::<i64, _>(3)? >= MOST_ERRORS {
            return Err(Error::internal(format!(
                "PostgreSQL cannot copy into the cell {}: its log says why. Fix that and run this again, or give up with \
                 --abort.",
                to.cell
            )));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What replication does not carry: the workspace's own row, and tables that are in no log. Behind a closed fence.
pub async fn rest(from: &mut Side, to: &mut Side, workspace: WorkspaceId) -> Result<()> {
    let id = workspace.0;
    let row: String =
        sqlx::query_scalar("select (to_jsonb(w) - 'fenced_at')::text from workspaces w where id = $1")
            .bind(id)
            .fetch_one(from.conn())
            .await?;
    let columns: Vec<String> = sqlx::query_scalar(
        "select format('%I', attname) from pg_attribute where attrelid = 'workspaces'::regclass and attnum > 0
           and not attisdropped and attgenerated = '' and attname not in ('id', 'fenced_at') order by attnum",
    )
    .fetch_all(to.conn())
    .await?;
    let set: Vec<String> = columns.iter().map(|column| format!("{column} = given.{column}")).collect();
    let statement = format!(
        "update workspaces set {} from jsonb_populate_record(null::workspaces, $1::jsonb) given where workspaces.id = $2",
        set.join(", ")
    );
    sqlx::query(sqlx::AssertSqlSafe(statement)).bind(row).bind(id).execute(to.conn()).await?;
    for table in from.tables().await?.into_iter().filter(|table| table.unlogged) {
        let table = table.name;
        let rows: String = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text from {table} t where workspace_id = $1"
        )))
        .bind(id)
        .fetch_one(from.conn())
        .await?;
        to.run(format!("delete from {table} where workspace_id = {id}")).await?;
        sqlx::query(sqlx::AssertSqlSafe(format!(
            "insert into {table} select * from jsonb_populate_recordset(null::{table}, $1::jsonb)"
        )))
        .bind(rows)
        .execute(to.conn())
        .await?;
    }
    Ok(())
}

/// Whether the copy of a table may still be about to make its slot. PostgreSQL waits there for every transaction of the old cell's
/// server. Where the new cell is on the same server, one that drops the subscription is among them, and waits for the slot:
/// neither would ever end.
async fn begins_a_table(from: &mut Side, to: &mut Side, name: &str) -> Result<bool> {
    let workers =
        format!("from pg_stat_subscription where subname = '{name}' and pid is not null and relid is");
    if to.is_so(&format!("exists (select {workers} null)")).await? {
        return Ok(true);
    }
    let copying = to.number(format!("select count(*) {workers} not null")).await?;
    let id =
        to.number(format!("select max(oid)::bigint from pg_subscription where subname = '{name}'")).await?;
    let ready = "count(*) from pg_replication_slots where confirmed_flush_lsn is not null";
    Ok(copying > from.number(format!("select {ready} and slot_name like 'pg\\_{id}\\_sync\\_%'")).await?)
}

/// Nothing follows any more. Before this is done no row of the old cell may go, or it would go at the new one too.
pub async fn end(from: &mut Side, to: &mut Side, workspace: WorkspaceId) -> Result<()> {
    let name = name(workspace);
    let subscribed =
        format!("exists (select from pg_subscription where subname = '{name}' and {IN_THIS_DATABASE})");
    if to.is_so(&subscribed).await? {
        to.run(format!("alter subscription {name} disable")).await?;
        while begins_a_table(from, to, &name).await? {
            tokio::time::sleep(LOOK).await;
        }
        // Takes its slots at the old cell with it, also those of tables that were still being copied.
        to.run(format!("drop subscription {name}")).await?;
    }
    // One that never came to a subscription.
    let slot = format!("exists (select from pg_replication_slots where slot_name = '{name}')");
    if from.is_so(&slot).await? {
        from.run(format!("select pg_drop_replication_slot('{name}')")).await?;
    }
    from.run(format!("drop publication if exists {name}")).await?;
    Ok(())
}
