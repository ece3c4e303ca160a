//! The command line: what an operator can do with the binary.
//! Every error is one sentence that says what to do next.

pub mod admin;
mod agents;
mod assistants;
mod audit;
mod bookings;
pub mod demo;
mod domains;
mod generate;
pub mod listen;
pub mod migrate;
mod mode;
mod output;
mod people;
mod quickstart;
pub mod reseal;
pub mod sending_services;
pub mod serve;
mod suppressed;
pub mod upkeep;
pub mod webhooks;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use rookery_api::openapi;
use rookery_base::breaking_changes;
use rookery_base::config::Config;
use rookery_base::confined::child;
use rookery_base::error::Result;
use rookery_base::installed;
use rookery_base::live::nodes;
use rookery_reading::text;

/// A shared customer-email inbox for teams and their software agents.
///
/// Start with `rookery migrate`, then `rookery serve`, then `rookery admin first-owner`, which prints a link; or try it with
/// `rookery quickstart`. Settings come from the environment (ROOKERY_DATABASE_URL and others) or from a TOML file; where a
/// package is installed, from /etc/rookery/rookery.toml and /etc/rookery/credentials.
#[derive(Parser)]
#[command(name = "rookery", version, max_term_width = 100)]
struct Cli {
    /// A TOML file with settings. The environment wins over it.
    #[arg(long, global = true, env = "ROOKERY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Bring the database to this version's schema. Safe to repeat.
    ///
    /// Needs ROOKERY_DATABASE_URL, for example postgres://rookery@localhost/rookery, or ROOKERY_MIGRATE_URL when
    /// the service runs as a role that does not own the schema.
    Migrate {
        /// Give this role what the service needs: rows, not tables.
        #[arg(long, value_name = "ROLE")]
        grant_to: Option<String>,
    },
    /// Set everything up to try Rookery: a demonstration workspace, a test key, a curl line and a link to sign in.
    ///
    /// For an empty service. Run again, it makes another key and link for the same workspace.
    Quickstart(quickstart::QuickstartArguments),
    /// Serve the API, the MCP server and the background work until stopped.
    ///
    /// Settings: ROOKERY_DATABASE_URL, ROOKERY_LISTEN (127.0.0.1:8080), ROOKERY_PUBLIC_URL
    /// (http://localhost:8080), ROOKERY_BLOBS (file:///var/lib/rookery/blobs), ROOKERY_SECRET_KEY
    /// (base64 of 32 bytes: openssl rand -base64 32), ROOKERY_RELAY (smtps://user:password@host, carries
    /// live mail). ROOKERY_LOG sets the log level.
    Serve,
    /// Print the OpenAPI description of the API.
    Openapi,
    /// Forward what happens in the sandbox to an address of this machine, as a webhook would.
    Listen(listen::ListenArguments),
    /// Fill a live workspace with a demonstration: 200 conversations, people, agents and their drafts, documents, bookings.
    ///
    /// All addresses end in .test, and mail to them stays here. Meant for a workspace of its own.
    Demo(demo::DemoArguments),
    /// Write manual pages and shell completions, for packages.
    #[command(hide = true)]
    Generate {
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Check everything the service needs and show how to fix what is wrong.
    ///
    /// Ends with 0 when all is well, with 1 when something is not. Says what changed since the last run.
    Doctor(upkeep::doctor::DoctorArguments),
    /// Make backups, prove that they can be restored, restore them.
    ///
    /// Settings: ROOKERY_BACKUPS (a folder) and ROOKERY_BACKUP_KEY (base64 of 32 bytes: openssl rand -base64 32).
    Backup(upkeep::backup::BackupArguments),
    /// How good the assistants are, measured on a corpus with labels.
    Assistants {
        #[command(subcommand)]
        command: assistants::AssistantsCommand,
    },
    /// Spread workspaces over several databases, and move them while they are used.
    ///
    /// Settings: ROOKERY_CELL (the name of the cell of ROOKERY_DATABASE_URL), ROOKERY_CELLS and ROOKERY_CELL_OWNERS
    /// (west=postgres://… east=postgres://…). One database needs none of this.
    Cells(upkeep::cells::CellsArguments),
    /// Make and change workspaces, people, inboxes, keys and webhooks.
    Admin {
        /// Print one JSON object instead of a sentence.
        #[arg(long, global = true)]
        json: bool,
        #[command(subcommand)]
        command: admin::AdminCommand,
    },
}

/// `rookery confined read`: what the service starts to read a stranger's file, from standard input to standard output. It
/// needs no settings and confines itself first, so it is no command like the others.
pub fn confined(arguments: &[OsString]) -> ExitCode {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    child::child(&words)
}

/// Runs one command. Errors are one sentence on standard error, with exit code 1.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = Cli::parse_from(&arguments);
    match execute(cli, &arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rookery: {}", text::visible(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}

async fn execute(cli: Cli, arguments: &[OsString]) -> Result<()> {
    // The document needs no database, so it can be made anywhere; the address is all it takes.
    if let CliCommand::Openapi = cli.command {
        let address = load(&cli.config).map(|config| config.public_url);
        let address = address.unwrap_or_else(|_| Config::default_public_url());
        println!("{}", openapi::describe(&address, breaking_changes::LIST));
        return Ok(());
    }
    // This needs no database either: it talks to a server as any client does.
    if let CliCommand::Listen(arguments) = cli.command {
        return listen::listen(arguments, std::env::vars().collect()).await;
    }
    if let CliCommand::Generate { folder } = cli.command {
        return generate::generate(Cli::command(), &folder);
    }
    // Nor does this, unless a model is to be asked.
    if let CliCommand::Assistants { command } = cli.command {
        return assistants::run(command, || load(&cli.config)).await;
    }
    installed::become_owner(&cli.config, arguments)?;
    let config = load(&cli.config)?;
    match cli.command {
        CliCommand::Openapi
        | CliCommand::Listen(_)
        | CliCommand::Generate { .. }
        | CliCommand::Assistants { .. } => Ok(()),
        CliCommand::Quickstart(arguments) => quickstart::quickstart(config, arguments).await,
        CliCommand::Migrate { grant_to } => migrate::migrate(&config, grant_to.as_deref()).await,
        CliCommand::Serve => serve::serve(config).await,
        CliCommand::Demo(arguments) => demo::demo(config, arguments).await,
        CliCommand::Doctor(arguments) => upkeep::doctor::doctor(config, arguments).await,
        CliCommand::Backup(arguments) => upkeep::backup::backup(config, arguments).await,
        CliCommand::Cells(arguments) => upkeep::cells::cells(config, arguments).await,
        CliCommand::Admin { json, command } => {
            let app = upkeep::cells::of_command(&config, &command, arguments).await?;
            app.follow_the_databases_clock().await?;
            let done = admin::run(&app, command, json).await;
            nodes::tell_now(&app).await;
            done
        }
    }
}

/// The one place that reads the environment.
fn load(file: &Option<PathBuf>) -> Result<Config> {
    let environment: HashMap<String, String> = std::env::vars().collect();
    let installed = installed::settings(file, &environment);
    let credentials = installed::credentials(installed.is_some(), &environment)?;
    let file = file.as_deref().or(installed);
    // Later ones win.
    Config::load(file, credentials.into_iter().chain(environment))
}
