//! Cells: each is served by this node or is where its requests and its mail can be sent on to; and moves that nobody ended.
//! An installation with one database has one cell, which is here.

use std::time::Duration;

use chrono::TimeDelta;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::app::App;
use crate::cells::Cells;
use crate::doctor::row::{Judged, Row, either, right, wrong};
use crate::error::Result;
use crate::store::cells::Cell;
use crate::store::db;

const PATIENCE: Duration = Duration::from_secs(5);
/// The move of a workspace of a million messages takes minutes.
const LONGEST: TimeDelta = TimeDelta::hours(1);

pub async fn look(app: &App) -> Vec<Row> {
    vec![
        Row::of("cells", "each is served here, or its nodes answer", cells(app).await),
        Row::of("moves", "none that was begun an hour ago", moves(app).await),
    ]
}

async fn cells(app: &App) -> Result<Judged> {
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

async fn of_database(app: &App, name: &str) -> Option<Judged> {
    match db::schema_is_current(&app.pool).await {
        Ok(true) => None,
        Ok(false) => {
            Some(wrong(format!("{name} has an older schema"), "Bring it to this version: `rookery migrate`"))
        }
        Err(error) => Some(wrong(
            format!("{name} does not answer: {error}"),
            "Start its PostgreSQL, or mend its URL in `ROOKERY_CELLS`",
        )),
    }
}

async fn of_nodes(cell: &Cell) -> Option<Judged> {
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
                "Start a node of that cell, or say anew where its nodes are: `rookery cells add`",
            ));
        }
    }
    None
}

async fn moves(app: &App) -> Result<Judged> {
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
