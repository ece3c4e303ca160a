//! Workspaces whose rows stand in a cell that the directory does not name: the cell was restored from before they moved. They
//! live elsewhere, so here nothing of them may be claimed, sent, changed or removed: they are fenced before the node serves
//! and from time to time, with a time of their own, and opened again when the directory names this cell after all.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use tokio::time::timeout;

use crate::erasures::replay;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Across;
use rookery_core::events::outbox;

/// The worker's loop.
pub const LOOP: &str = "fence what lives elsewhere";

/// Workspaces that are looked at together.
const BATCH: i64 = 10_000;
/// How long the directory may take while a workspace's lock is held.
const PATIENCE: Duration = Duration::from_secs(2);

/// A workspace whose rows stand here, and the cell that the directory names.
pub struct Stray {
    pub workspace: WorkspaceId,
    pub home: String,
}

/// What a cell has of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStanding {
    /// People can write to it there.
    is_open: bool,
    /// Grows with every move, and goes along.
    moved: i64,
}

impl CellStanding {
    /// Whether the workspace is used here, and has all that it had there.
    pub fn replaces(self, other: Self) -> bool {
        self.is_open && self.moved >= other.moved
    }
}

/// What is to be done about a workspace here.
enum Wrong {
    LivesElsewhere,
    LivesHere,
}

/// Gives how many were fenced. In an installation that is no fleet everything lives here.
pub async fn fence(app: &App) -> Result<usize> {
    if app.config.cell.is_none() {
        return Ok(0);
    }
    let (mut after, mut fenced) = (WorkspaceId(i64::MIN), 0);
    loop {
        let some = unfenced(&mut *app.connection().await?, after).await?;
        let Some((last, _)) = some.last() else { return Ok(fenced) };
        after = *last;
        let ids: Vec<WorkspaceId> = some.iter().map(|(workspace, _)| *workspace).collect();
        let homes = app.directory.cells_of(&ids).await?;
        for (workspace, is_stray) in some {
            let lives_here = homes.get(&workspace).map(|cell| cell.name == app.config.cell());
            if lives_here == Some(is_stray) {
                fenced += usize::from(put_right(app, workspace).await?);
            }
        }
    }
}

/// All that stand here and live elsewhere, but for those that are on their way.
pub async fn all(app: &App) -> Result<Vec<Stray>> {
    let here = sqlx::query_scalar!(r#"select id as "id: WorkspaceId" from workspaces order by id"#)
        .fetch_all(&mut *app.connection().await?)
        .await?;
    let moving: HashSet<_> =
        app.directory.moves().await?.into_iter().map(|moving| moving.workspace).collect();
    let mut strays = Vec::new();
    for some in here.chunks(BATCH as usize) {
        let homes = app.directory.cells_of(some).await?;
        for workspace in some.iter().filter(|workspace| !moving.contains(*workspace)) {
            let home = homes.get(workspace).filter(|home| home.name != app.config.cell());
            strays.extend(home.map(|home| Stray { workspace: *workspace, home: home.name.clone() }));
        }
    }
    Ok(strays)
}

/// What a cell has of these workspaces. One that it has nothing of is left out.
pub async fn standing(
    conn: &mut PgConnection,
    workspaces: &[WorkspaceId],
) -> Result<HashMap<WorkspaceId, CellStanding>> {
    let ids: Vec<i64> = workspaces.iter().map(|workspace| workspace.0).collect();
    let rows = sqlx::query!(
        r#"select id as "id: WorkspaceId", coalesce(mark, 0) as "moved!",
                  fenced_at is null or fenced_at > clock_timestamp() as "is_open!"
           from workspaces left join move_marks on workspace_id = id where id = any($1)"#,
        &ids
    )
    .fetch_all(conn)
    .await?;
    let standing =
        rows.into_iter().map(|row| (row.id, CellStanding { is_open: row.is_open, moved: row.moved }));
    Ok(standing.collect())
}

/// All that the directory names this cell for and that are not here.
pub async fn missing(app: &App) -> Result<Vec<WorkspaceId>> {
    let home: Vec<i64> = app
        .directory
        .workspaces_of_cell(app.config.cell())
        .await?
        .iter()
        .map(|workspace| workspace.0)
        .collect();
    Ok(sqlx::query_scalar!(
        r#"select id as "id!: WorkspaceId" from unnest($1::bigint[]) as t (id)
           where not exists (select from workspaces where workspaces.id = t.id) order by id"#,
        &home
    )
    .fetch_all(&mut *app.connection().await?)
    .await?)
}

/// All that live here and are fenced although nobody moves them: the cell came back from a backup that was made during a move.
/// Nothing of them is sent, or they cannot be written to at all.
pub async fn fenced_for_nothing(app: &App) -> Result<Vec<WorkspaceId>> {
    let before = fenced(&mut *app.connection().await?).await?;
    if before.is_empty() {
        return Ok(before);
    }
    let moving = app.directory.moves().await?;
    let homes = app.directory.cells_of(&before).await?;
    // One whose move has just ended is open by now.
    let still = fenced(&mut *app.connection().await?).await?;
    let is_moving = |workspace: &WorkspaceId| moving.iter().any(|moving| moving.workspace == *workspace);
    let lives_here =
        |workspace: &WorkspaceId| homes.get(workspace).is_none_or(|home| home.name == app.config.cell());
    let for_nothing =
        |workspace: &WorkspaceId| still.contains(workspace) && lives_here(workspace) && !is_moving(workspace);
    Ok(before.into_iter().filter(for_nothing).collect())
}

async fn fenced(conn: &mut PgConnection) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "id: WorkspaceId" from workspaces
           where fenced_at is not null and fenced_at <> '-infinity' order by id"#
    )
    .fetch_all(conn)
    .await?)
}

/// An error when the directory names another cell, or does not say in time: the workspace is held meanwhile. For what cannot be
/// taken back.
pub async fn lives_here(app: &App, workspace: WorkspaceId) -> Result<()> {
    match wrong_now(app, workspace).await? {
        Some(Wrong::LivesElsewhere) => Err(Error::internal("the directory says that it lives elsewhere")),
        _ => Ok(()),
    }
}

/// Within a moment, or not at all.
async fn wrong_now(app: &App, workspace: WorkspaceId) -> Result<Option<Wrong>> {
    let asked = timeout(PATIENCE, wrong(app, workspace)).await;
    asked.map_err(|_| Error::internal("the directory does not answer in time"))?
}

async fn wrong(app: &App, workspace: WorkspaceId) -> Result<Option<Wrong>> {
    if app.config.cell.is_none() {
        return Ok(None);
    }
    // One that the directory does not know lives nowhere else.
    let homes = app.directory.cells_of(&[workspace]).await?;
    Ok(homes
        .get(&workspace)
        .map(|home| if home.name == app.config.cell() { Wrong::LivesHere } else { Wrong::LivesElsewhere }))
}

/// Those that can be written to, and those that were fenced here: by id, each with whether it was.
async fn unfenced(conn: &mut PgConnection, after: WorkspaceId) -> Result<Vec<(WorkspaceId, bool)>> {
    let rows = sqlx::query!(
        r#"select id as "id: WorkspaceId", coalesce(fenced_at = '-infinity', false) as "is_stray!" from workspaces
           where id > $1 and (fenced_at is null or fenced_at = '-infinity' or fenced_at > clock_timestamp())
           order by id limit $2"#,
        after.0,
        BATCH
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.is_stray)).collect())
}

/// Fences or opens one. The directory is asked behind the workspace's lock, without which no move opens it in its new cell: so
/// nothing that has just come is closed. Requests of the workspace wait meanwhile, so neither the lock nor the directory is
/// waited for long; the next look finds it again. True when it was fenced.
async fn put_right(app: &App, workspace: WorkspaceId) -> Result<bool> {
    let mut conn = app.connection().await?;
    let mut tx = Across::begin(&mut conn).await?;
    sqlx::query!("set local lock_timeout = '2s'").execute(&mut *tx).await?;
    sqlx::query!("select pg_advisory_xact_lock($1)", workspace.0).execute(&mut *tx).await?;
    let mut opened = false;
    let fenced = match wrong_now(app, workspace).await? {
        Some(Wrong::LivesElsewhere) => {
            sqlx::query!(
                "update workspaces set fenced_at = '-infinity'
                 where id = $1 and (fenced_at is null or fenced_at > clock_timestamp())",
                workspace.0
            )
            .execute(&mut *tx)
            .await?
            .rows_affected()
                == 1
        }
        Some(Wrong::LivesHere) => {
            sqlx::query!(
                "update workspaces set fenced_at = null where id = $1 and fenced_at = '-infinity'",
                workspace.0
            )
            .execute(&mut *tx)
            .await?;
            sqlx::raw_sql(AssertSqlSafe(outbox::written_anew(workspace))).execute(&mut *tx).await?;
            opened = true;
            false
        }
        None => false,
    };
    tx.commit().await?;
    drop(conn);
    // What was erased since its rows were backed up was not looked for while it was fenced.
    if opened && let Err(error) = replay::replay_of(app, workspace).await {
        tracing::error!(%error, %workspace, "what was erased could not be erased again: the workspace stays fenced until it is");
        close_again(app, workspace).await?;
    }
    if fenced {
        tracing::error!(%workspace, cell = app.config.cell(),
            "rows of a workspace that lives in another cell are here, as after a restore: it is fenced here");
    }
    Ok(fenced)
}

/// The next look opens it again.
async fn close_again(app: &App, workspace: WorkspaceId) -> Result<()> {
    sqlx::query!(
        "update workspaces set fenced_at = '-infinity' where id = $1 and fenced_at is null",
        workspace.0
    )
    .execute(&mut *app.connection().await?)
    .await?;
    Ok(())
}
