//! `rookery cells add|list|drain|clean|move`: several databases of workspaces behind one address, and moving a workspace from one
//! to another while it is used. Also which cell an `admin` command is about.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use url::Url;

use crate::cli::admin;
use rookery_base::app::App;
use rookery_base::cells::{CellPlace, Cells};
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::cell_urls;
use rookery_base::secrets::secret::Secret;
use rookery_base::store::cells::{Move, MoveStep};
use rookery_base::store::{db, directory::Directory};
use rookery_reading::text;
use rookery_upkeep::moves::compare::Compared;
use rookery_upkeep::moves::strays::{self, Stray};
use rookery_upkeep::moves::{self, Side, Sides, Tell};

#[derive(clap::Args)]
pub struct CellsArguments {
    /// Print JSON instead of sentences.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: CellsCommand,
}

#[derive(clap::Subcommand)]
enum CellsCommand {
    /// Add a cell, or change where its nodes are.
    ///
    /// Its database has to be in ROOKERY_CELLS (or be the one of ROOKERY_CELL) and brought to this version: rookery migrate
    Add {
        /// Small letters, digits and dashes.
        name: String,
        /// Where nodes that do not serve it send its requests, inside your own network: http://10.0.0.7:8080
        #[arg(long, value_name = "URL")]
        address: Option<Url>,
        /// Where they send its mail, by LMTP: 10.0.0.7:2424
        #[arg(long, value_name = "HOST:PORT")]
        mail_address: Option<String>,
    },
    /// The cells, how many workspaces each has, and which workspaces are on their way.
    List,
    /// Empty a cell: it gets no new workspaces, and those it has move to the others, one after another.
    ///
    /// Can be stopped and run again.
    Drain {
        name: String,
        /// Only keep new workspaces away.
        #[arg(long)]
        only_mark: bool,
    },
    /// Remove what a cell has of workspaces that live elsewhere, after it was restored from an older backup.
    ///
    /// `rookery doctor` says when there are some. They are fenced, so nobody uses them. Nothing is removed of a workspace that
    /// the other cell does not have, or has only as it was before.
    Clean { name: String },
    /// Move a workspace to another cell while it is used. Run again, it goes on where it was stopped.
    ///
    /// Nobody can write to the workspace for about a second; everybody can read all the time. Both databases have to be in
    /// ROOKERY_CELL_OWNERS as a superuser, and the old one needs wal_level = logical.
    Move {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "CELL", required_unless_present = "abort")]
        to: Option<String>,
        /// Give up a move that has not switched yet: everything is as before.
        #[arg(long)]
        abort: bool,
    },
}

pub async fn cells(config: Config, arguments: CellsArguments) -> Result<()> {
    let known = Cells::open(&config)?;
    let directory = &known.first().directory;
    let (line, object) = match arguments.command {
        CellsCommand::Add { name, address, mail_address } => {
            add(&known, &name, address.as_ref(), mail_address.as_deref()).await?;
            (
                format!("The cell {name} is known. New workspaces go to the emptiest cell."),
                json!({ "cell": name }),
            )
        }
        CellsCommand::List => return list(directory, arguments.json).await,
        CellsCommand::Drain { name, only_mark } => {
            if !directory.drain_cell(&name).await? {
                return Err(Error::internal(format!("There is no cell {name}. See: rookery cells list")));
            }
            let moved = if only_mark { 0 } else { empty(&config, &known, &name, arguments.json).await? };
            let left = directory.workspaces_of_cell(&name).await?.len();
            if left > 0 && !only_mark {
                return Err(Error::internal(format!(
                    "Moved {moved}; {left} are left in the cell {name}. Fix the problems above, then run it again."
                )));
            }
            let line = format!("The cell {name} gets no new workspaces. Moved {moved}, {left} are left.");
            (line, json!({ "cell": name, "moved": moved, "left": left }))
        }
        CellsCommand::Clean { name } => {
            let removed = clean(&config, &known, &name).await?;
            (
                format!("Removed what the cell {name} had of {removed} workspaces that live elsewhere."),
                json!({ "cell": name, "removed": removed }),
            )
        }
        CellsCommand::Move { workspace, to, abort: true } => {
            let moving = directory.move_of(workspace).await?;
            let moving = moving.filter(|moving| to.is_none_or(|to| to == moving.to));
            let moving = moving.ok_or_else(|| Error::internal("This workspace is not being moved."))?;
            moves::give_up(directory, &mut sides(&config, &moving).await?, &moving).await?;
            (format!("{workspace} stays in the cell {}.", moving.from), json!({ "workspace": workspace }))
        }
        CellsCommand::Move { workspace, to, abort: false } => {
            let to = to.unwrap_or_default();
            let took = move_one(&config, directory, workspace, &to, arguments.json).await?;
            (
                format!("{workspace} lives in the cell {to}. It took {:.1} s.", took.as_secs_f64()),
                json!({ "workspace": workspace, "cell": to, "seconds": took.as_secs_f64() }),
            )
        }
    };
    let told = if arguments.json { text::visible_json(&object.to_string()) } else { text::visible(&line) };
    println!("{told}");
    Ok(())
}

async fn add(known: &Cells, name: &str, address: Option<&Url>, mail_address: Option<&str>) -> Result<()> {
    if !cell_urls::is_a_name(name) {
        return Err(Error::internal("A cell's name has small letters, digits and dashes, 31 at most."));
    }
    if address.is_some_and(|address| address.scheme() != "http" || address.host_str().is_none()) {
        return Err(Error::internal(
            "Nodes talk to each other by plain http inside your own network: --address http://10.0.0.7:8080",
        ));
    }
    let sound = |address: &str| address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if mail_address.is_some_and(|address| !sound(address)) {
        return Err(Error::internal("Mail is passed on to a host and a port: --mail-address 10.0.0.7:2424"));
    }
    let Some(app) = known.served(name) else {
        return Err(Error::internal(format!(
            "The database of the cell {name} is not known here. Put it into ROOKERY_CELLS: {name}=postgres://…"
        )));
    };
    if !db::schema_is_current(&app.pool).await? {
        return Err(Error::internal(format!(
            "The database of the cell {name} has an older schema. Run: rookery migrate"
        )));
    }
    known.first().directory.add_cell(name, address.map(Url::as_str), mail_address).await
}

async fn list(directory: &Directory, as_json: bool) -> Result<()> {
    for cell in directory.cells().await? {
        let state = if cell.draining { "draining" } else { "open" };
        if as_json {
            println!(
                "{}",
                json!({ "cell": cell.name, "state": state, "workspaces": cell.workspaces,
                        "address": cell.address, "mailAddress": cell.mail_address })
            );
        } else {
            let address = cell.address.as_deref().unwrap_or("-");
            println!("{:<31} {state:<8} {:>9} workspaces  {address}", cell.name, cell.workspaces);
        }
    }
    for Move { workspace, from, to, step, .. } in directory.moves().await? {
        if as_json {
            println!("{}", json!({ "moving": workspace, "from": from, "to": to, "step": word(step) }));
        } else {
            println!("{workspace} moves from {from} to {to}: {}", word(step));
        }
    }
    Ok(())
}

/// Moves everything out, each workspace to the cell that is emptiest then. One that cannot be moved now, or that another command
/// is moving, stops none of the others.
async fn empty(config: &Config, known: &Cells, name: &str, as_json: bool) -> Result<usize> {
    let directory = &known.first().directory;
    let mut moved = 0;
    for workspace in directory.workspaces_of_cell(name).await? {
        let home = directory.cells_of(&[workspace]).await?.remove(&workspace);
        if home.is_none_or(|home| home.name != name) {
            continue;
        }
        let to = match directory.move_of(workspace).await? {
            Some(begun) => begun.to,
            None => known.emptiest().await?.config.cell().to_owned(),
        };
        match move_one(config, directory, workspace, &to, as_json).await {
            Ok(_) => moved += 1,
            Err(error) => eprintln!("{}", text::visible(&format!("{workspace} stays for now: {error}"))),
        }
    }
    Ok(moved)
}

async fn clean(config: &Config, known: &Cells, name: &str) -> Result<usize> {
    let Some(app) = known.served(name) else {
        return Err(Error::internal(format!("The database of the cell {name} is not known here.")));
    };
    let mut side = Side::connect(name, &owners_url(config, name)?).await?;
    let strays = strays::all(app).await?;
    let mut homes: HashMap<&str, Side> = HashMap::new();
    for Stray { workspace, home } in &strays {
        let there = match homes.entry(home) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => place.insert(Side::connect(home, &owners_url(config, home)?).await?),
        };
        moves::clean_stray(&app.directory, &mut side, there, *workspace).await?;
    }
    Ok(strays.len())
}

async fn move_one(
    config: &Config,
    directory: &Directory,
    workspace: WorkspaceId,
    to: &str,
    as_json: bool,
) -> Result<Duration> {
    let began = Instant::now();
    let cells = directory.cells().await?;
    if !cells.iter().any(|cell| cell.name == to) {
        return Err(Error::internal(format!("There is no cell {to}. See: rookery cells list")));
    }
    let Some(lives_in) = directory.cells_of(&[workspace]).await?.remove(&workspace) else {
        return Err(Error::internal("No such workspace."));
    };
    let moving = directory.begin_move(workspace, to, Clock::system().now()).await?;
    let Some(moving) = moving else {
        return Err(Error::internal(format!("{workspace} lives in the cell {} already.", lives_in.name)));
    };
    if moving.to != to {
        return Err(Error::internal(format!(
            "{workspace} is on its way to the cell {}. Finish that, or give it up with --abort.",
            moving.to
        )));
    }
    let told = MoveProgress::new(as_json)?;
    let done = moves::go_on(directory, &mut sides(config, &moving).await?, &moving, &told).await;
    told.bar.finish_and_clear();
    done.map(|()| began.elapsed())
}

async fn sides(config: &Config, moving: &Move) -> Result<Sides> {
    Ok(Sides {
        from: Side::connect(&moving.from, &owners_url(config, &moving.from)?).await?,
        to: Side::connect(&moving.to, &owners_url(config, &moving.to)?).await?,
    })
}

/// A cell's database as a role that may move workspaces.
fn owners_url(config: &Config, cell: &str) -> Result<Secret> {
    let of = |urls: &Option<cell_urls::CellUrls>| urls.as_ref().and_then(|urls| urls.url_of(cell)).cloned();
    let own =
        (config.cell() == cell).then(|| config.migrate_url.clone().unwrap_or(config.database_url.clone()));
    of(&config.cell_owners).or_else(|| of(&config.cells)).or(own).ok_or_else(|| {
        Error::internal(format!("The database of the cell {cell} is not in ROOKERY_CELL_OWNERS."))
    })
}

fn word(step: MoveStep) -> &'static str {
    match step {
        MoveStep::Copy => "copying",
        MoveStep::Check => "comparing",
        MoveStep::Switch => "switching",
        MoveStep::Open => "opening",
        MoveStep::Clean => "cleaning up",
    }
}

/// A bar where somebody looks on, and a line a step for everybody.
struct MoveProgress {
    bar: ProgressBar,
    as_json: bool,
}

impl MoveProgress {
    fn new(as_json: bool) -> Result<Self> {
        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} tables, {msg}").map_err(Error::internal)?;
        Ok(Self { bar: ProgressBar::new(0).with_style(style), as_json })
    }

    fn say(&self, line: &str, object: &serde_json::Value) {
        self.bar.suspend(|| if self.as_json { println!("{object}") } else { println!("{line}") });
    }
}

impl Tell for MoveProgress {
    fn step(&self, step: MoveStep) {
        self.say(&format!("{} …", word(step)), &json!({ "step": word(step) }));
    }

    fn copied(&self, tables: i64, of: i64, rows: i64) {
        self.bar.set_length(of.unsigned_abs());
        self.bar.set_position(tables.unsigned_abs());
        self.bar.set_message(format!("{rows} rows of the one being copied"));
    }

    fn compared(&self, compared: &Compared) {
        let Compared { tables, rows, different } = compared;
        self.say(
            &format!("compared {rows} rows of {tables} tables: {} differ", different.len()),
            &json!({ "tables": tables, "rows": rows, "different": different }),
        );
    }

    fn was_closed(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.say(&format!("nobody could write for {seconds:.2} s"), &json!({ "closedSeconds": seconds }));
    }
}

/// The cell that an `admin` command is about: of the workspace it names, for a new one the emptiest, else the first.
pub async fn of_command(
    config: &Config,
    command: &admin::AdminCommand,
    arguments: &[OsString],
) -> Result<Arc<App>> {
    let cells = Cells::open(config)?;
    if matches!(command, admin::AdminCommand::CreateWorkspace { .. }) {
        return cells.emptiest().await.cloned();
    }
    let named = arguments
        .iter()
        .filter_map(|word| word.to_str()?.rsplit('=').next()?.parse::<WorkspaceId>().ok())
        .next();
    let Some(workspace) = named else { return Ok(cells.first().clone()) };
    match cells.place(workspace).await? {
        CellPlace::Here(app) => Ok(app),
        CellPlace::Elsewhere(cell) => Err(Error::internal(format!(
            "{workspace} lives in the cell {}, whose database is not in ROOKERY_CELLS.",
            cell.name
        ))),
    }
}
