//! What the directory knows of cells: which there are, which workspace lives in which, and which are on their way.
//! A cell is a database of workspaces; docs/decisions/cells.md says how a fleet of nodes finds them.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::store::directory::Directory;

/// The cell of an installation that has one database.
pub const MAIN: &str = "main";

#[derive(Clone, Debug)]
pub struct Cell {
    pub name: String,
    /// Where nodes that do not serve it send its requests and its mail.
    pub address: Option<String>,
    pub mail_address: Option<String>,
    /// Takes no new workspaces.
    pub draining: bool,
    pub workspaces: i64,
}

/// Where a move goes on. `Switch` is the first step that cannot be taken back once it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum MoveStep {
    /// Rows are copied, and changes follow.
    Copy,
    /// Both sides are compared, whole.
    Check,
    /// The fence closes, the rest follows, both sides are compared once more, and the directory names the new cell.
    Switch,
    /// The new cell opens.
    Open,
    /// The old rows go.
    Clean,
}

#[derive(Clone, Debug)]
pub struct Move {
    pub workspace: WorkspaceId,
    pub from: String,
    pub to: String,
    pub step: MoveStep,
    pub begun_at: DateTime<Utc>,
}

impl Move {
    /// Whether both are the same move, at whichever step.
    pub fn is(&self, other: &Self) -> bool {
        let of = |moving: &Self| (moving.workspace, moving.begun_at, moving.from.clone(), moving.to.clone());
        of(self) == of(other)
    }
}

/// What a command writes of its move, it writes only while that is there.
fn is_still_there(rows: u64) -> Result<()> {
    match rows {
        1 => Ok(()),
        _ => Err(Error::internal("The directory has no such move any more. See: rookery cells list")),
    }
}

impl Directory {
    /// All cells, by name, with how many workspaces each has.
    pub async fn cells(&self) -> Result<Vec<Cell>> {
        Ok(sqlx::query_as!(
            Cell,
            r#"select name, address, mail_address, draining,
                   (select count(*) from directory.workspaces where cell = name) as "workspaces!"
               from directory.cells order by name"#
        )
        .fetch_all(&self.pool)
        .await?)
    }

    /// Adds a cell, or says anew where it is; one that was being drained takes workspaces again.
    pub async fn add_cell(
        &self,
        name: &str,
        address: Option<&str>,
        mail_address: Option<&str>,
    ) -> Result<()> {
        sqlx::query!(
            "insert into directory.cells (name, address, mail_address) values ($1, $2, $3)
             on conflict (name) do update
             set address = excluded.address, mail_address = excluded.mail_address, draining = false",
            name,
            address,
            mail_address
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// False when there is no such cell.
    pub async fn drain_cell(&self, name: &str) -> Result<bool> {
        let drained = sqlx::query!("update directory.cells set draining = true where name = $1", name)
            .execute(&self.pool)
            .await?;
        Ok(drained.rows_affected() == 1)
    }

    /// Where workspaces live, and where those cells are. One that nobody knows is left out.
    pub async fn cells_of(&self, workspaces: &[WorkspaceId]) -> Result<HashMap<WorkspaceId, Arc<Cell>>> {
        let ids: Vec<i64> = workspaces.iter().map(|workspace| workspace.0).collect();
        let rows = sqlx::query!(
            r#"select id as "id: WorkspaceId", name, address, mail_address, draining
               from directory.workspaces join directory.cells on name = cell where id = any($1)"#,
            &ids
        )
        .fetch_all(&self.pool)
        .await?;
        let cells = rows.into_iter().map(|row| {
            let cell = Cell {
                name: row.name,
                address: row.address,
                mail_address: row.mail_address,
                draining: row.draining,
                workspaces: 0,
            };
            (row.id, Arc::new(cell))
        });
        Ok(cells.collect())
    }

    /// Workspaces of a cell that are to leave it.
    pub async fn workspaces_of_cell(&self, cell: &str) -> Result<Vec<WorkspaceId>> {
        Ok(sqlx::query_scalar!(
            r#"select id as "id: WorkspaceId" from directory.workspaces where cell = $1 order by id"#,
            cell
        )
        .fetch_all(&self.pool)
        .await?)
    }

    /// Begins a move, or finds the one that is under way.
    pub async fn begin_move(
        &self,
        workspace: WorkspaceId,
        to: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Move>> {
        sqlx::query!(
            "insert into directory.moves (workspace_id, from_cell, to_cell, begun_at)
             select id, cell, $2, $3 from directory.workspaces where id = $1 and cell <> $2
             on conflict (workspace_id) do nothing",
            workspace.0,
            to,
            now
        )
        .execute(&self.pool)
        .await?;
        self.move_of(workspace).await
    }

    pub async fn move_of(&self, workspace: WorkspaceId) -> Result<Option<Move>> {
        Ok(sqlx::query_as!(
            Move,
            r#"select workspace_id as "workspace: WorkspaceId", from_cell as "from", to_cell as "to",
                   step as "step: MoveStep", begun_at
               from directory.moves where workspace_id = $1"#,
            workspace.0
        )
        .fetch_optional(&self.pool)
        .await?)
    }

    /// All that are under way, oldest first.
    pub async fn moves(&self) -> Result<Vec<Move>> {
        Ok(sqlx::query_as!(
            Move,
            r#"select workspace_id as "workspace: WorkspaceId", from_cell as "from", to_cell as "to",
                   step as "step: MoveStep", begun_at
               from directory.moves order by begun_at, workspace_id"#
        )
        .fetch_all(&self.pool)
        .await?)
    }

    /// The next command goes on from here.
    pub async fn move_reached(&self, moving: &Move, step: MoveStep) -> Result<()> {
        let reached = sqlx::query!(
            "update directory.moves set step = $3 where workspace_id = $1 and begun_at = $2",
            moving.workspace.0,
            moving.begun_at,
            step as MoveStep
        )
        .execute(&self.pool)
        .await?;
        is_still_there(reached.rows_affected())
    }

    /// From here on the workspace lives in its new cell. One statement: the place and the step are one commit, and both only
    /// when this very move is about to switch. The move's row is locked first: whoever gives it up meanwhile waits, or is waited
    /// for.
    pub async fn switch(&self, moving: &Move) -> Result<()> {
        let switched = sqlx::query!(
            "with switches as (
                 select workspace_id from directory.moves
                 where workspace_id = $1 and begun_at = $4 and step = 'switch' for update),
             placed as (
                 update directory.workspaces set cell = $2 from switches
                 where id = switches.workspace_id and cell = $3 returning id)
             update directory.moves set step = 'open' from placed where workspace_id = placed.id",
            moving.workspace.0,
            moving.to,
            moving.from,
            moving.begun_at
        )
        .execute(&self.pool)
        .await?;
        is_still_there(switched.rows_affected())
    }

    /// The move goes on from an earlier step, unless it has switched: a switch whose commit is still on its way either came first,
    /// or finds no move that is about to switch. False when it has switched.
    pub async fn set_back(&self, moving: &Move, to: MoveStep) -> Result<bool> {
        let again = sqlx::query!(
            "update directory.moves set step = $3
             where workspace_id = $1 and begun_at = $2 and step in ('copy', 'check', 'switch')",
            moving.workspace.0,
            moving.begun_at,
            to as MoveStep
        )
        .execute(&self.pool)
        .await?;
        Ok(again.rows_affected() == 1)
    }

    /// It is over, or was given up.
    pub async fn end_move(&self, moving: &Move) -> Result<()> {
        let ended = sqlx::query!(
            "delete from directory.moves where workspace_id = $1 and begun_at = $2",
            moving.workspace.0,
            moving.begun_at
        )
        .execute(&self.pool)
        .await?;
        is_still_there(ended.rows_affected())
    }
}
