//! Removes the rows of a workspace from a cell that it does not live in: the old cell after a move, the new one after a
//! move that was given up. In batches, so that nobody waits long and vacuum keeps up. The directory is asked before each
//! table: where it says that the workspace lives, nothing is removed. Nor does anything go that the other cell has not: it may
//! be the directory that was restored, and then these rows are the only ones.

use sqlx::Row;

use super::side::Side;
use super::strays;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::directory::Directory;

const BATCH: u32 = 10_000;

/// `home` is the cell that has the workspace.
pub async fn clean(
    directory: &Directory,
    side: &mut Side,
    home: &mut Side,
    workspace: WorkspaceId,
) -> Result<()> {
    let id = workspace.0;
    lives_elsewhere(directory, side, workspace).await?;
    is_replaced(side, home, workspace).await?;
    // Rows that go here must not go elsewhere too.
    if side.is_so(&format!("exists (select from pg_publication where pubname = 'rookery_move_{id}')")).await?
    {
        return Err(Error::internal(format!(
            "The rows in the cell {} are still being copied from, so they stay. Run this again.",
            side.cell
        )));
    }
    // Everything of the workspace goes, so nothing is left that a trigger or a foreign key would look after.
    side.run("set session_replication_role = replica").await?;
    let done = clean_tables(directory, side, workspace).await;
    side.run("set session_replication_role = origin").await?;
    done
}

async fn is_replaced(side: &mut Side, home: &mut Side, workspace: WorkspaceId) -> Result<()> {
    let (here, there) = (
        strays::standing(side.conn(), &[workspace]).await?.remove(&workspace),
        strays::standing(home.conn(), &[workspace]).await?.remove(&workspace),
    );
    if here.is_none_or(|here| there.is_some_and(|there| there.replaces(here))) {
        return Ok(());
    }
    Err(Error::internal(format!(
        "{workspace} should live in the cell {}, which does not have it as it is in the cell {}. Nothing is removed. \
         See what to do: rookery doctor",
        home.cell, side.cell
    )))
}

async fn lives_elsewhere(directory: &Directory, side: &Side, workspace: WorkspaceId) -> Result<()> {
    match directory.cells_of(&[workspace]).await?.get(&workspace) {
        Some(home) if home.name != side.cell => Ok(()),
        _ => Err(Error::internal(format!(
            "The directory does not say that {workspace} lives elsewhere than in the cell {}, so nothing of it is removed there.",
            side.cell
        ))),
    }
}

async fn clean_tables(directory: &Directory, side: &mut Side, workspace: WorkspaceId) -> Result<()> {
    let id = workspace.0;
    // Whoever still comes to it finds it closed.
    side.run(format!(
        "update workspaces set fenced_at = clock_timestamp() where id = {id} and (fenced_at is null or fenced_at > clock_timestamp())"
    ))
    .await?;
    let rows = sqlx::query(
        "select format('%I', relname) from pg_class c
         where relnamespace = current_schema()::regnamespace and relkind = 'r'
           and exists (select from pg_attribute where attrelid = c.oid and attname = 'workspace_id') order by relname",
    )
    .fetch_all(side.conn())
    .await?;
    for row in rows {
        lives_elsewhere(directory, side, workspace).await?;
        let table: String = row.try_get(0)?;
        let statement = format!(
            "delete from {table} where ctid = any (array(
                 select ctid from {table} where workspace_id = {id} limit {BATCH}))"
        );
        while side.run(&*statement).await? > 0 {}
    }
    side.run(format!("delete from workspaces where id = {id}")).await?;
    Ok(())
}
