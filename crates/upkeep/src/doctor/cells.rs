//! Cells: each is served by this node or is where its requests and its mail can be sent on to; workspaces stand where the
//! directory says; and moves that nobody ended.
//! An installation with one database has one cell, which is here.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use crate::moves::strays::{self, Stray};
use rookery_base::app::App;
use rookery_base::cells::Cells;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::cells::Cell;
use rookery_base::store::db;

const PATIENCE: Duration = Duration::from_secs(5);
/// The move of a workspace of a million messages takes minutes.
const LONGEST: TimeDelta = TimeDelta::hours(1);

pub async fn inspect(app: &App) -> Vec<CheckRow> {
    vec![
        CheckRow::from_result("cells", "each is served here, or its nodes answer", cells(app).await),
        CheckRow::from_result(
            "places",
            "no workspace is in a cell where it does not live",
            places(app).await,
        ),
        CheckRow::from_result("moves", "none that was begun an hour ago", moves(app).await),
    ]
}

async fn cells(app: &App) -> Result<RowJudgement> {
    let (here, all) = (Cells::open(&app.config)?, app.directory.cells().await?);
    if all.len() > 1 && !here.in_fleet() {
        return Ok(wrong(
            format!("the directory has {} cells, and this node takes every workspace for its own", all.len()),
            "Say which cell `ROOKERY_DATABASE_URL` is: `ROOKERY_CELL` (see `rookery cells list`)",
        ));
    }
    for cell in &all {
        let problem = match here.served(&cell.name) {
            Some(app) => of_database(app, &cell.name).await,
            None => of_nodes(cell).await,
        };
        if let Some(problem) = problem {
            return Ok(problem);
        }
    }
    let served = all.iter().filter(|cell| here.served(&cell.name).is_some()).count();
    Ok(right(format!("{} of {} served here", served, all.len())))
}

/// After a cell came back from a backup it can have what has moved away since, and lack what has come. After the directory
/// did, it names cells that a workspace has left since: then the rows that seem to be in the wrong place are the only ones. So
/// all cells are looked at before anything is said to be out of date.
async fn places(app: &App) -> Result<RowJudgement> {
    let cells = Cells::open(&app.config)?;
    let (mut found, mut strays, mut missing, mut fenced) = (0, Vec::new(), Vec::new(), Vec::new());
    for app in cells.here() {
        let cell = app.config.cell();
        let here = match strays::all(app).await {
            // Another row says so.
            Err(error) if error.is_outage() => continue,
            here => here?,
        };
        for (home, some) in by_home(here) {
            if let Some(first) = not_there(&cells, app, &home, &some).await? {
                return Ok(wrong(
                    format!(
                        "the directory is older than its cells: it says that {first} lives in {home}, and only {cell} has it as it is now"
                    ),
                    format!(
                        "Clean nothing. Restore a newer directory, or say in it where each lives: in `directory.workspaces` the row with `id` {} has to have the `cell` '{cell}'",
                        first.0
                    ),
                ));
            }
            strays.extend(some.into_iter().map(|workspace| (cell, workspace)));
        }
        missing.extend(strays::missing(app).await?.into_iter().map(|workspace| (cell, workspace)));
        fenced.extend(strays::fenced_for_nothing(app).await?.into_iter().map(|workspace| (cell, workspace)));
        found += app.directory.workspaces_of_cell(cell).await?.len();
    }
    if let [(cell, first), ..] = strays[..] {
        return Ok(wrong(
            format!(
                "{} live in another cell than the one that has them, {first} in {cell} for one. They are closed here and used there",
                strays.len()
            ),
            format!(
                "Was {cell} restored from an older backup? Then remove what is out of date: `rookery cells clean {cell}`"
            ),
        ));
    }
    if let [(cell, first), ..] = missing[..] {
        return Ok(wrong(
            format!("{} are not in the cell they should live in, {first} in {cell} for one", missing.len()),
            format!(
                "Was {cell} restored from an older backup? Restore a newer one: `rookery backup restore`"
            ),
        ));
    }
    if let [(cell, first), ..] = fenced[..] {
        return Ok(wrong(
            format!("{} are fenced and nobody moves them, {first} in {cell} for one", fenced.len()),
            format!(
                "Was {cell} restored from a backup that was made during a move? Then open it there: in `workspaces` the row with `id` {} has to have no `fenced_at`. Then restart its nodes: who was erased since is erased again",
                first.0
            ),
        ));
    }
    Ok(right(format!("{found} are where the directory says")))
}

fn by_home(strays: Vec<Stray>) -> BTreeMap<String, Vec<WorkspaceId>> {
    let mut homes: BTreeMap<String, Vec<WorkspaceId>> = BTreeMap::new();
    for Stray { workspace, home } in strays {
        homes.entry(home).or_default().push(workspace);
    }
    homes
}

/// The first that its home does not have as it is here. Nothing is known of a home that is not served here, or that does not
/// answer: then `cells clean` looks.
async fn not_there(
    cells: &Cells,
    here: &App,
    home: &str,
    workspaces: &[WorkspaceId],
) -> Result<Option<WorkspaceId>> {
    let Some(there) = cells.served(home) else { return Ok(None) };
    let here = strays::standing(&mut *here.connection().await?, workspaces).await?;
    let there = match there.connection().await {
        Ok(mut conn) => strays::standing(&mut conn, workspaces).await?,
        Err(error) if error.is_outage() => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_replaced = |workspace: &WorkspaceId| {
        let (here, there) = (here.get(workspace), there.get(workspace));
        here.is_none_or(|here| there.is_some_and(|there| there.replaces(*here)))
    };
    Ok(workspaces.iter().find(|workspace| !is_replaced(workspace)).copied())
}

async fn of_database(app: &App, name: &str) -> Option<RowJudgement> {
    match db::schema_is_current(&app.pool).await {
        Ok(true) => None,
        Ok(false) => {
            Some(wrong(format!("{name} has an older schema"), "Bring it to this version: `rookery migrate`"))
        }
        Err(error) => Some(wrong(
            format!("{name} does not answer: {error}"),
            "Start its PostgreSQL, or fix its URL in `ROOKERY_CELLS`",
        )),
    }
}

async fn of_nodes(cell: &Cell) -> Option<RowJudgement> {
    let Cell { name, address, mail_address, .. } = cell;
    let web = address.as_deref().and_then(|address| Url::parse(address).ok());
    let web = web.and_then(|web| Some(format!("{}:{}", web.host_str()?, web.port_or_known_default()?)));
    for (what, address) in [("requests", web.as_deref()), ("mail", mail_address.as_deref())] {
        let Some(address) = address else {
            return Some(wrong(
                format!("{name} is not served here, and nobody knows where its {what} go"),
                format!(
                    "Put its database into `ROOKERY_CELLS`, or say where its nodes are: `rookery cells add {name} --address http://10.0.0.7:8080 --mail-address 10.0.0.7:2424`"
                ),
            ));
        };
        if !matches!(timeout(PATIENCE, TcpStream::connect(address)).await, Ok(Ok(_))) {
            return Some(wrong(
                format!("{name} is at {address}, where nobody answers"),
                "Start a node of that cell, or change where its nodes are: `rookery cells add`",
            ));
        }
    }
    None
}

async fn moves(app: &App) -> Result<RowJudgement> {
    let moves = app.directory.moves().await?;
    let Some(oldest) = moves.first() else { return Ok(right("none")) };
    let since = app.clock.now() - oldest.begun_at;
    Ok(either(
        since < LONGEST,
        format!("{} on the way; {} since {} minutes", moves.len(), oldest.workspace, since.num_minutes()),
        format!(
            "Go on with it: `rookery cells move --workspace {} --to {}` Or take it back with `--abort`.",
            oldest.workspace, oldest.to
        ),
    ))
}
