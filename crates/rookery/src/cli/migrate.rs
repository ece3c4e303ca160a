//! `rookery migrate`: brings the schema to this version, as the role that owns it (ROOKERY_MIGRATE_URL), and
//! grants the role that the service runs as the rights it needs: access to rows, no DDL.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::migrate::{Migrate, MigrateError, Migration};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};

use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::cell_urls::CellUrls;
use rookery_base::secrets::secret::Secret;
use rookery_base::store::db::{self, MIGRATIONS};
use rookery_base::store::domains;

/// How often a migration is tried that others were in the way of, and the pause between: an hour in all.
const MOST_TRIES: u32 = 2700;
const PAUSE: Duration = Duration::from_secs(1);

/// A migration that waits for a lock makes everybody behind it wait too. It gives up soon and comes again.
/// Well before a second is over: then PostgreSQL looks for circles, and would end one of the others' requests.
const GIVES_UP_SOON: &str = "set lock_timeout = '300ms'";
const WAITS: &str = "set lock_timeout = 0";

/// What a database has when `migrate` is done with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Schema {
    OfThisVersion,
    /// A later version brought it further. This one serves it as it is, which is the way back after an upgrade.
    OfLaterVersion,
}

pub async fn migrate(config: &Config, grant_to: Option<&str>) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    match bring_all(config, grant_to).await? {
        Schema::OfThisVersion => println!("The database has the schema of rookery {version}."),
        Schema::OfLaterVersion => println!(
            "The database has the schema of a later version. Rookery {version} serves it as it is; nothing was changed."
        ),
    }
    if let Some(role) = grant_to {
        println!("The role {role} can serve with it.");
    }
    Ok(())
}

/// The same without a word, for a command that tells something else.
pub async fn quietly(config: &Config) -> Result<()> {
    bring_all(config, None).await.map(drop)
}

/// The latest schema of all databases.
async fn bring_all(config: &Config, grant_to: Option<&str>) -> Result<Schema> {
    if config.cell.is_some() {
        refuse_during_a_move(config).await?;
    }
    let mut latest = Schema::OfThisVersion;
    for (url, setting) in databases(config).chain(of_cells(config)) {
        latest = latest.max(bring(url, setting, grant_to).await?);
    }
    Ok(latest)
}

/// Both cells of a move have to have the same tables until it is over.
async fn refuse_during_a_move(config: &Config) -> Result<()> {
    let Some((url, setting)) = databases(config).last() else { return Ok(()) };
    let mut conn = connect(url, setting).await?;
    let (has_tables, has_moves): (bool, bool) = sqlx::query_as(
        "select to_regclass('_sqlx_migrations') is not null, to_regclass('directory.moves') is not null",
    )
    .fetch_one(&mut *conn)
    .await?;
    if !(has_tables && has_moves) {
        return Ok(());
    }
    let moving: bool = sqlx::query_scalar(
        "select exists (select from directory.moves)
            and not exists (select from _sqlx_migrations where version = $1 and success)",
    )
    .bind(db::newest_migration())
    .fetch_one(&mut *conn)
    .await?;
    if moving {
        Err(Error::internal(
            "A workspace is on its way to another cell: rookery cells list. Both cells keep their tables until it is there. \
             Finish the move or give it up (rookery cells move), then migrate.",
        ))
    } else {
        Ok(())
    }
}

/// The databases of further cells, as their owners when those are known.
fn of_cells(config: &Config) -> impl Iterator<Item = (&Secret, &'static str)> {
    let served = config.cells.iter().flat_map(CellUrls::iter);
    served.map(|(name, url)| match config.cell_owners.as_ref().and_then(|owners| owners.url_of(name)) {
        Some(owner) => (owner, "ROOKERY_CELL_OWNERS"),
        None => (url, "ROOKERY_CELLS"),
    })
}

/// The databases that are brought to this version, each with the setting that names it.
pub fn databases(config: &Config) -> impl Iterator<Item = (&Secret, &'static str)> {
    let own = config.migrate_url.as_ref().map(|url| (url, "ROOKERY_MIGRATE_URL"));
    let own_directory =
        config.migrate_directory_url.as_ref().map(|url| (url, "ROOKERY_MIGRATE_DIRECTORY_URL"));
    let directory = config.directory_url.as_ref().map(|url| (url, "ROOKERY_DIRECTORY_URL"));
    own.or(Some((&config.database_url, "ROOKERY_DATABASE_URL")))
        .into_iter()
        .chain(own_directory.or(directory))
}

/// A connection of the role that owns the schema.
pub async fn connect(url: &Secret, setting: &str) -> Result<PoolConnection<Postgres>> {
    db::pool(&url.0, 1)?.acquire().await.map_err(|error| {
        Error::internal(format!("The database cannot be reached ({error}). Check {setting}."))
    })
}

async fn bring(url: &Secret, setting: &str, grant_to: Option<&str>) -> Result<Schema> {
    let mut conn = connect(url, setting).await?;
    sqlx::raw_sql("set statement_timeout = 0").execute(&mut *conn).await?;
    let mut tries = 0;
    let schema = loop {
        tries += 1;
        match apply(&mut conn).await {
            Ok(schema) => break schema,
            Err(error) if tries < MOST_TRIES && was_in_the_way(&error) => {
                println!(
                    "Somebody uses a table that is to be changed, a backup perhaps. Trying again ({tries}) …"
                );
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    };
    if schema == Schema::OfThisVersion {
        // The database may be a cell's: then its directory is empty, and this does nothing.
        domains::keep_domains_in_use(&mut conn).await?;
    }
    if let Some(role) = grant_to {
        grant(&mut conn, role).await?;
    }
    Ok(schema)
}

/// Applies what is missing. Anyone who migrates the same database meanwhile waits and tries again: the index that is being made
/// is not an unfinished one.
async fn apply(conn: &mut PgConnection) -> std::result::Result<Schema, MigrateError> {
    sqlx::raw_sql(GIVES_UP_SOON).execute(&mut *conn).await?;
    if is_of_later_version(conn).await? {
        return Ok(Schema::OfLaterVersion);
    }
    conn.lock().await?;
    let done = apply_alone(conn).await;
    conn.unlock().await?;
    done.map(|()| Schema::OfThisVersion)
}

async fn apply_alone(conn: &mut PgConnection) -> std::result::Result<(), MigrateError> {
    sqlx::raw_sql(WAITS).execute(&mut *conn).await?;
    drop_unfinished(conn).await?;
    let applied: BTreeSet<i64> = if has_migrations(conn).await? {
        sqlx::query_scalar("select version from _sqlx_migrations")
            .fetch_all(&mut *conn)
            .await?
            .into_iter()
            .collect()
    } else {
        BTreeSet::new()
    };
    let missing = MIGRATIONS.iter().filter(|migration| !applied.contains(&migration.version));
    for migration in missing.filter(|migration| stands_in_nobodys_way(migration)) {
        sqlx::raw_sql(GIVES_UP_SOON).execute(&mut *conn).await?;
        MIGRATIONS.run_to(migration.version - 1, &mut *conn).await?;
        // In a new database nobody is there.
        if !applied.is_empty() {
            println!(
                "Creating or dropping an index without blocking anyone ({}). It waits for earlier transactions to end.",
                migration.description
            );
        }
        sqlx::raw_sql(WAITS).execute(&mut *conn).await?;
        MIGRATIONS.run_to(migration.version, &mut *conn).await?;
    }
    sqlx::raw_sql(GIVES_UP_SOON).execute(&mut *conn).await?;
    MIGRATIONS.run(conn).await
}

/// An index that is made or dropped concurrently. It waits for every transaction that was there before, such as a backup's, and
/// nobody waits for it. One that gave up would begin again, and beside readers of a second each would never be done.
fn stands_in_nobodys_way(migration: &Migration) -> bool {
    migration.no_tx && migration.sql.as_str().contains(" index concurrently ")
}

/// An index that a try before this one left unfinished is used by nobody, and `if not exists` would take it for made.
async fn drop_unfinished(conn: &mut PgConnection) -> sqlx::Result<()> {
    let unfinished: Vec<String> = sqlx::query_scalar(
        "select format('drop index concurrently %s', indexrelid::regclass) from pg_index
         join pg_class on pg_class.oid = indexrelid
         where not indisvalid and relkind = 'i' and relnamespace = 'public'::regnamespace",
    )
    .fetch_all(&mut *conn)
    .await?;
    for drop in unfinished {
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *conn).await?;
    }
    Ok(())
}

/// Whether a version after this one has migrated the database. What that one made is not this one's to finish or to drop.
async fn is_of_later_version(conn: &mut PgConnection) -> sqlx::Result<bool> {
    if !has_migrations(conn).await? {
        return Ok(false);
    }
    sqlx::query_scalar("select exists (select from _sqlx_migrations where success and version > $1)")
        .bind(db::newest_migration())
        .fetch_one(conn)
        .await
}

async fn has_migrations(conn: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null").fetch_one(conn).await
}

/// A lock was not to be had in time, or only in a circle.
fn was_in_the_way(error: &MigrateError) -> bool {
    let cause = match error {
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => cause,
        _ => return false,
    };
    let code = cause.as_database_error().and_then(|cause| cause.code().map(String::from));
    matches!(code.as_deref(), Some("55P03" | "40P01"))
}

/// Grants the service's role its rights. Tables and functions of later versions are granted when they are created.
pub async fn grant(conn: &mut PgConnection, role: &str) -> Result<()> {
    let known: Option<bool> =
        sqlx::query_scalar("select rolname = current_user from pg_roles where rolname = $1")
            .bind(role)
            .fetch_optional(&mut *conn)
            .await?;
    match known {
        Some(false) => {}
        Some(true) => {
            return Err(Error::internal(format!("{role} owns the schema. Name the service's role.")));
        }
        None => {
            return Err(Error::internal(format!(
                "There is no role {role}. Make it first: create role {role} login password '…'"
            )));
        }
    }
    let (schema, quoted): (String, String) =
        sqlx::query_as("select quote_ident(current_schema()), quote_ident($1)")
            .bind(role)
            .fetch_one(&mut *conn)
            .await?;
    let statements = GRANTS.replace("{schema}", &schema).replace("{role}", &quoted);
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(conn).await?;
    Ok(())
}

/// docs/operating.md has the same for an operator who does it by hand; a test compares them.
pub const GRANTS: &str = "\
revoke create on schema {schema} from public;
grant usage on schema {schema}, directory to {role};
grant select, insert, update, delete on all tables in schema {schema}, directory to {role};
revoke insert, update, delete on _sqlx_migrations from {role};
grant execute on function keep_day(text) to {role};
alter default privileges in schema {schema}, directory grant select, insert, update, delete on tables to {role};
";

/// Says in the log whether the service's role could change the schema.
pub async fn check_role(app: &App) -> Result<()> {
    let (role, owner, may): (String, bool, bool) = sqlx::query_as(
        "select current_user::text, relowner = (select oid from pg_roles where rolname = current_user),
                pg_has_role(current_user, relowner, 'MEMBER')
         from pg_class where oid = 'workspaces'::regclass",
    )
    .fetch_one(&app.pool)
    .await?;
    match (owner, may) {
        (true, _) => tracing::info!(
            role,
            "the service's role owns the schema; rookery migrate --grant-to serves with one that does not"
        ),
        (false, true) => tracing::warn!(
            role,
            "the service's role can alter the schema although another owns it: it is a superuser or a member of the owner"
        ),
        (false, false) => {}
    }
    Ok(())
}
