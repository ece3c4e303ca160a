//! The cells that this node serves, an `App` each, and where all other workspaces are. A node of an installation with one
//! database has one, and asks nobody.
//! Where a workspace lives is remembered for half a second. A move keeps its fence closed for longer than that after the
//! switch, so a place that is out of date is one where nothing was written since, and nothing can be.
//! When the directory does not answer, the last known place serves. It may be older than a move, so the cell itself is asked
//! whether it still lets the workspace's people write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::random::Random;
use crate::secrets::cell_urls;
use crate::store::cells::Cell;
use crate::store::lookups::Lookups;

/// How old the answer of the directory may be.
pub const REMEMBERED_FOR: Duration = Duration::from_millis(500);
/// From here on, what was not asked for lately is forgotten.
const REMEMBERED: usize = 100_000;
const LATELY: Duration = Duration::from_secs(60);
/// How long somebody waits for the directory whose place is known from before.
const PATIENCE: Duration = Duration::from_secs(1);
/// For how long they do not wait at all after somebody did in vain.
const SILENT_FOR: Duration = Duration::from_secs(2);

pub struct Cells {
    /// The first is the one of `ROOKERY_DATABASE_URL`, which also answers what is about no workspace.
    here: Vec<Arc<App>>,
    in_fleet: bool,
    known: Mutex<Known>,
    asking: Lookups<Arc<App>, WorkspaceId, Arc<Cell>>,
}

#[derive(Default)]
struct Known {
    /// What the directory said, and when it was asked.
    places: HashMap<WorkspaceId, (Instant, Arc<Cell>)>,
    cells: Vec<Cell>,
    /// When somebody last waited for it in vain.
    in_vain: Option<Instant>,
}

/// A place, and whether the directory named it just now.
struct FoundCell {
    cell: Arc<Cell>,
    is_sure: bool,
}

pub enum CellPlace {
    Here(Arc<App>),
    Elsewhere(Arc<Cell>),
}

/// The settings of every cell that a node serves, its own first. They share the directory.
pub fn settings(config: &Config) -> Result<Vec<Config>> {
    let further = || config.cells.iter().flat_map(|cells| cells.iter());
    let wrong = match &config.cell {
        None if further().next().is_some() => {
            "ROOKERY_CELLS needs ROOKERY_CELL, the name of the cell of ROOKERY_DATABASE_URL."
        }
        Some(name) if !cell_urls::is_a_name(name) => {
            "ROOKERY_CELL cannot be used: small letters, digits and dashes, 31 at most."
        }
        Some(own) if further().any(|(name, _)| name == own) => {
            "ROOKERY_CELLS names the cell of ROOKERY_CELL again. Leave it out there."
        }
        _ => "",
    };
    if !wrong.is_empty() {
        return Err(Error::internal(wrong));
    }
    let further = further().map(|(name, url)| Config {
        database_url: url.clone(),
        directory_url: config.directory_url.clone().or_else(|| Some(config.database_url.clone())),
        cell: Some(name.to_owned()),
        ..config.clone()
    });
    Ok(std::iter::once(config.clone()).chain(further).collect())
}

impl Cells {
    /// Of a command: every cell of the settings.
    pub fn open(config: &Config) -> Result<Self> {
        let apps = settings(config)?
            .into_iter()
            .map(|config| Ok(Arc::new(App::new(config, Clock::system(), Random::system())?)));
        Ok(Self::new(apps.collect::<Result<_>>()?))
    }

    /// At least one.
    pub fn new(here: Vec<Arc<App>>) -> Self {
        let in_fleet = here.len() > 1 || here.first().is_some_and(|app| app.config.cell.is_some());
        let asking = Lookups::new(|app: Arc<App>, workspaces: Vec<WorkspaceId>| {
            Box::pin(async move { app.directory.cells_of(&workspaces).await })
        });
        Self { here, in_fleet, known: Mutex::default(), asking }
    }

    pub fn first(&self) -> &Arc<App> {
        &self.here[0]
    }

    pub fn here(&self) -> &[Arc<App>] {
        &self.here
    }

    /// Whether workspaces can be anywhere else.
    pub fn in_fleet(&self) -> bool {
        self.in_fleet
    }

    pub fn served(&self, cell: &str) -> Option<&Arc<App>> {
        self.here.iter().find(|app| app.config.cell() == cell)
    }

    /// Where a workspace is. One that nobody knows is looked for here, and missed here.
    pub async fn place(&self, workspace: WorkspaceId) -> Result<CellPlace> {
        let found = if self.in_fleet { self.cell_of(workspace).await? } else { None };
        let Some(FoundCell { cell, is_sure }) = found else {
            return Ok(CellPlace::Here(self.first().clone()));
        };
        let Some(app) = self.served(&cell.name) else { return Ok(CellPlace::Elsewhere(cell)) };
        if !is_sure && !is_open(app, workspace).await? {
            return Err(Error::internal(
                "the directory does not answer, and the workspace has left its last known cell",
            ));
        }
        Ok(CellPlace::Here(app.clone()))
    }

    /// All that there are, by name; those known from before when the directory does not answer.
    pub async fn all(&self) -> Result<Vec<Cell>> {
        match timeout(PATIENCE, self.first().directory.cells()).await {
            Ok(Ok(cells)) => {
                self.known().cells.clone_from(&cells);
                Ok(cells)
            }
            failed => match self.known().cells.clone() {
                none if none.is_empty() => failed.map_err(Error::internal)?,
                known => Ok(known),
            },
        }
    }

    /// Of the cells here, the one with the fewest workspaces, for a new one.
    pub async fn emptiest(&self) -> Result<&Arc<App>> {
        if self.here.len() == 1 {
            return Ok(self.first());
        }
        let mut cells = self.first().directory.cells().await?;
        cells.retain(|cell| !cell.draining);
        cells.sort_by_key(|cell| cell.workspaces);
        let open = cells.iter().find_map(|cell| self.served(&cell.name));
        open.ok_or_else(|| Error::internal("Every cell is being drained. Add one: rookery cells add"))
    }

    async fn cell_of(&self, workspace: WorkspaceId) -> Result<Option<FoundCell>> {
        let (last, is_silent) = {
            let known = self.known();
            let silent = known.in_vain.is_some_and(|since| since.elapsed() < SILENT_FOR);
            (known.places.get(&workspace).cloned(), silent)
        };
        let Some((since, cell)) = last else { return self.ask(workspace).await };
        if since.elapsed() < REMEMBERED_FOR {
            return Ok(Some(FoundCell { cell, is_sure: true }));
        }
        if !is_silent {
            match timeout(PATIENCE, self.ask(workspace)).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the directory does not answer: last known places serve")
                }
                Err(_) => tracing::warn!("the directory is slow to answer: last known places serve"),
            }
            self.known().in_vain = Some(Instant::now());
        }
        Ok(Some(FoundCell { cell, is_sure: false }))
    }

    async fn ask(&self, workspace: WorkspaceId) -> Result<Option<FoundCell>> {
        // As old as the question, not as the answer.
        let asked = Instant::now();
        let Some(cell) = self.asking.ask(self.first(), workspace).await? else {
            // Not remembered: whoever makes ids up pushes none out that is there.
            return Ok(None);
        };
        let mut known = self.known();
        known.in_vain = None;
        if known.places.len() >= REMEMBERED {
            known.places.retain(|_, (asked, _)| asked.elapsed() < LATELY);
        }
        if known.places.len() >= REMEMBERED {
            known.places.clear();
        }
        known.places.insert(workspace, (asked, cell.clone()));
        Ok(Some(FoundCell { cell, is_sure: true }))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a cell still lets a workspace's people write: from the end of a move on, the old one does not.
async fn is_open(app: &App, workspace: WorkspaceId) -> Result<bool> {
    let open = sqlx::query_scalar!(
        r#"select exists (select from workspaces
                          where id = $1 and (fenced_at is null or fenced_at > clock_timestamp())) as "open!""#,
        workspace.0
    );
    Ok(open.fetch_one(&mut *app.connection().await?).await?)
}
