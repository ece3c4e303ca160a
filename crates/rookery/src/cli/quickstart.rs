//! `rookery quickstart`: from an empty database to something to look at and to call, in one command. It makes a
//! demonstration workspace, a test key for its sandbox and a link to sign in, and prints what to do with them. It brings a
//! schema only into a database that holds nothing; one that somebody uses is never changed.

use std::collections::HashMap;

use serde_json::json;
use sqlx::PgConnection;
use tokio::net::TcpStream;

use crate::cli::{demo, migrate};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::db::MIGRATIONS;
use rookery_core::workspace::access::{By, Scope};
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::create::create;
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{keys, sign_in_links};
use rookery_reading::text;
use rookery_upkeep::demo::fill::FillOptions;

/// Nobody has this address (RFC 2606), and mail to it stays here.
const OWNER: &str = "you@quickstart.test";
/// Enough to look around, and made in a moment; `rookery demo` makes 200 conversations.
const A_FEW: FillOptions = FillOptions { seed: 1, anyway: false, one_in: 8 };

#[derive(clap::Args)]
pub struct QuickstartArguments {
    /// An empty workspace, without the demonstration's mail.
    #[arg(long)]
    empty: bool,
    /// Also where there is a workspace already.
    #[arg(long)]
    anyway: bool,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

pub async fn quickstart(config: Config, arguments: QuickstartArguments) -> Result<()> {
    config.needs_secret_key()?;
    // Settings that are wrong are refused before anything is written.
    let app = App::new(config.clone(), Clock::system(), Random::system())?;
    if needs_schema(&config).await? {
        migrate::quietly(&config).await?;
    }
    app.follow_the_databases_clock().await?;
    let (workspace, owner) = match made_before(&app).await? {
        Some(made) => made,
        None if !arguments.anyway && !app.directory.is_empty().await? => {
            return Err(Error::internal(
                "There is a workspace already, and this would make another for trying. Say --anyway to make it, or make a test \
                 key in the one you have: rookery admin create-key --mode test",
            ));
        }
        None => {
            let made = create(&app, "Quickstart", Plan::Team, OWNER, "You").await?;
            if !arguments.empty {
                demo::fill_workspace(config.clone(), made.workspace, A_FEW).await?;
            }
            (made.workspace, made.owner)
        }
    };
    // Every run makes a key, and no two have the same name.
    let name = format!("Quickstart {}", app.random.letters(5));
    // Managing webhooks is chosen by its name, never by "all".
    let scopes: Vec<Scope> = Scope::ALL.into_iter().filter(|scope| *scope != Scope::Webhooks).collect();
    let wanted = keys::KeyChoices { name: &name, scopes: &scopes, livemode: false, caps: Caps::default() };
    let made = keys::create(&app, workspace, &By::System, owner, wanted).await?;
    let mut tx = app.begin(workspace).await?;
    let link = sign_in_links::make(&mut tx, owner).await?;
    tx.commit().await?;
    let base = config.public_url.join("api/v1/sandbox/inbound").map_err(Error::internal)?;
    let curl = format!(
        "curl -H 'Authorization: Bearer {}' {base} -d '{{\"from\":\"ada@customer.test\",\"name\":\"Ada\",\
         \"subject\":\"My order\",\"text\":\"Where is order 42?\"}}'",
        made.key
    );
    let serves = TcpStream::connect(config.listen).await.is_ok();
    if arguments.json {
        let object = json!({
            "workspace": workspace, "owner": owner, "key": made.key, "url": link, "curl": curl, "serves": serves,
        });
        println!("{}", text::visible_json(&object.to_string()));
        return Ok(());
    }
    if !serves {
        println!("Start the service first, in another window:\n\n  rookery serve\n");
    }
    println!("Look around, signed in as the owner (the link works once, within 30 minutes):\n\n  {link}\n");
    println!("Let a customer write to the sandbox, with a test key that is not shown again:\n\n  {curl}\n");
    println!("Connect an agent by MCP:\n\n  {}", mcp(&config, &made.key)?);
    Ok(())
}

/// Whether a database is empty and wants its schema. Refuses one with anything else in it than the schema of this version.
async fn needs_schema(config: &Config) -> Result<bool> {
    let mut needs = false;
    for (url, setting) in migrate::databases(config) {
        let mut conn = migrate::connect(url, setting).await?;
        match found(&mut conn).await? {
            DatabaseContent::Nothing => needs = true,
            DatabaseContent::ThisVersion => {}
            DatabaseContent::InUse(what) => {
                return Err(Error::internal(format!(
                    "{what}, and quickstart changes no database that is in use. Name an empty one in {setting}."
                )));
            }
        }
    }
    Ok(needs)
}

enum DatabaseContent {
    Nothing,
    ThisVersion,
    /// By something else, or by another version; what was found.
    InUse(String),
}

async fn found(conn: &mut PgConnection) -> Result<DatabaseContent> {
    let migrated: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
        .fetch_one(&mut *conn)
        .await?;
    if !migrated {
        let foreign: Option<String> = sqlx::query_scalar(
            "select format('%I.%I', nspname, relname) from pg_class c join pg_namespace n on n.oid = relnamespace
             where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and nspname !~ '^pg_' and nspname <> 'information_schema'
               and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
             order by 1 limit 1",
        )
        .fetch_optional(conn)
        .await?;
        return Ok(match foreign {
            Some(table) => {
                DatabaseContent::InUse(format!("The database holds {table}, which is not Rookery's"))
            }
            None => DatabaseContent::Nothing,
        });
    }
    let applied: Vec<(i64, Vec<u8>, bool)> =
        sqlx::query_as("select version, checksum, success from _sqlx_migrations").fetch_all(conn).await?;
    let ours: HashMap<i64, &[u8]> = MIGRATIONS.iter().map(|one| (one.version, &*one.checksum)).collect();
    let newest = ours.keys().copied().max().unwrap_or_default();
    let foreign = |(version, checksum, _): &&(i64, Vec<u8>, bool)| {
        *version <= newest && ours.get(version) != Some(&checksum.as_slice())
    };
    Ok(if let Some((version, ..)) = applied.iter().find(foreign) {
        DatabaseContent::InUse(format!("The database has a migration {version} that is not Rookery's"))
    } else if applied.iter().any(|(version, ..)| *version > newest) {
        DatabaseContent::InUse("The database has the schema of a newer version".to_owned())
    } else if applied.len() < ours.len() || applied.iter().any(|(.., success)| !success) {
        let (had, all) = (applied.len(), ours.len());
        DatabaseContent::InUse(format!(
            "The database has the schema of an older version ({had} of {all} migrations; rookery migrate brings the others)"
        ))
    } else {
        DatabaseContent::ThisVersion
    })
}

fn mcp(config: &Config, key: &str) -> Result<String> {
    let url = config.public_url.join("mcp").map_err(Error::internal)?;
    Ok(format!("claude mcp add --transport http rookery {url} --header 'Authorization: Bearer {key}'"))
}

/// The workspace of an earlier run, and its owner.
async fn made_before(app: &App) -> Result<Option<(WorkspaceId, PersonId)>> {
    let found: Option<(i64, i64)> = sqlx::query_as(
        "select workspace_id, id from people
         where email = $1 and role = 'owner' and removed_at is null order by id limit 1",
    )
    .bind(OWNER)
    .fetch_optional(&mut *app.connection().await?)
    .await?;
    Ok(found.map(|(workspace, person)| (WorkspaceId(workspace), PersonId(person))))
}
