//! What a database holds, in numbers that a restored one must have too: the rows of each table, and what they hash to in
//! whatever order they stand. Read in the very snapshot that the dump is of.

use std::collections::BTreeMap;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::backups::manifest::Table;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::secret::Secret;

/// A connection whose statements may take as long as they need.
pub async fn connect(url: &str) -> Result<PgConnection> {
    let options: PgConnectOptions = url.parse()?;
    let options = options.application_name("rookery backup").options([
        ("statement_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"),
        ("lock_timeout", "0"),
    ]);
    PgConnection::connect_with(&options).await.map_err(|error| {
        Error::internal(format!(
            "The database cannot be reached ({error}). Check ROOKERY_DATABASE_URL and ROOKERY_MIGRATE_URL."
        ))
    })
}

/// The databases of an instance by their role that may do everything in them, and their names in a backup.
pub fn databases(config: &Config) -> Vec<(&'static str, &Secret)> {
    let own = config.migrate_url.as_ref().unwrap_or(&config.database_url);
    let directory = config.migrate_directory_url.as_ref().or(config.directory_url.as_ref());
    [Some(("database", own)), directory.map(|url| ("directory", url))].into_iter().flatten().collect()
}

/// Begins a look at one instant, and gives what `pg_dump` calls it.
pub async fn begin_snapshot(conn: &mut PgConnection) -> Result<String> {
    sqlx::raw_sql("begin isolation level repeatable read read only").execute(&mut *conn).await?;
    Ok(sqlx::query_scalar("select pg_export_snapshot()").fetch_one(conn).await?)
}

pub async fn end_snapshot(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("commit").execute(conn).await?;
    Ok(())
}

/// The rows of every table that a crash would not empty, days and all.
pub async fn tables(conn: &mut PgConnection) -> Result<BTreeMap<String, Table>> {
    let named: Vec<(String, String)> = sqlx::query_as(
        "select n.nspname || '.' || c.relname, quote_ident(n.nspname) || '.' || quote_ident(c.relname)
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'r' and c.relpersistence = 'p' and n.nspname in (current_schema(), 'directory') order by 1",
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut tables = BTreeMap::new();
    for (name, quoted) in named {
        let counting = format!(
            "select count(*), coalesce(sum(hashtextextended(whole_row::text, 0)::numeric), 0)::text from {quoted} whole_row"
        );
        let (rows, hash): (i64, String) =
            sqlx::query_as(AssertSqlSafe(counting)).fetch_one(&mut *conn).await?;
        tables.insert(name, Table { rows, hash });
    }
    Ok(tables)
}

/// Roles that have rights here: a restore gives them their rights again.
pub async fn roles(conn: &mut PgConnection) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar(
        "select distinct rolname::text from (
             select (aclexplode(relacl)).grantee as id from pg_class
             where relnamespace in (select oid from pg_namespace where nspname in (current_schema(), 'directory'))
             union select (aclexplode(proacl)).grantee from pg_proc
             where pronamespace in (select oid from pg_namespace where nspname in (current_schema(), 'directory'))
             union select (aclexplode(nspacl)).grantee from pg_namespace
             where nspname in (current_schema(), 'directory')
             union select defaclrole from pg_default_acl) named
         join pg_roles on pg_roles.oid = named.id where rolname not like 'pg\\_%' order by 1",
    )
    .fetch_all(conn)
    .await?)
}

/// PostgreSQL's version, as a number.
pub async fn server(conn: &mut PgConnection) -> Result<i32> {
    Ok(sqlx::query_scalar("select current_setting('server_version_num')::int").fetch_one(conn).await?)
}

/// The first part of PostgreSQL's version: 150018 is 15.
pub fn major(server: i32) -> Result<u32> {
    u32::try_from(server / 10_000).map_err(Error::internal)
}

/// Whether the role may make databases, and what it is called.
pub async fn may_make_databases(conn: &mut PgConnection) -> Result<(bool, String)> {
    Ok(sqlx::query_as(
        "select rolcreatedb or rolsuper, quote_ident(rolname) from pg_roles where rolname = current_user",
    )
    .fetch_one(conn)
    .await?)
}

/// The newest migration.
pub async fn schema(conn: &mut PgConnection) -> Result<i64> {
    let newest: Option<i64> =
        sqlx::query_scalar("select max(version) from _sqlx_migrations where success").fetch_one(conn).await?;
    newest.ok_or_else(|| Error::internal("The database has no schema yet. Run: rookery migrate"))
}

/// Whether nothing of ours is there: no table, not even an empty one.
pub async fn is_empty(conn: &mut PgConnection) -> Result<bool> {
    Ok(sqlx::query_scalar(
        "select not exists (select from pg_class where relkind in ('r', 'p')
             and relnamespace in (select oid from pg_namespace where nspname in (current_schema(), 'directory')))",
    )
    .fetch_one(conn)
    .await?)
}

/// Whether nothing of anybody's is there.
pub async fn has_nothing(conn: &mut PgConnection) -> Result<bool> {
    Ok(sqlx::query_scalar(
        "select not exists (
             select from pg_class where relnamespace not in (
                 select oid from pg_namespace where nspname in ('pg_catalog', 'information_schema', 'pg_toast')))",
    )
    .fetch_one(conn)
    .await?)
}

/// How two databases differ, as sentences. A later version of PostgreSQL may hash otherwise, so then only rows count.
pub fn differences(
    wanted: &BTreeMap<String, Table>,
    found: &BTreeMap<String, Table>,
    same_hashes: bool,
) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, table) in wanted {
        match found.get(name) {
            None => differences.push(format!("the table {name} is missing")),
            Some(there) if there.rows != table.rows => {
                differences.push(format!("{name} has {} rows instead of {}", there.rows, table.rows));
            }
            Some(there) if same_hashes && there.hash != table.hash => {
                differences.push(format!("rows of {name} differ"));
            }
            Some(_) => {}
        }
    }
    let more = found.keys().filter(|name| !wanted.contains_key(*name));
    differences.extend(more.map(|name| format!("the table {name} was not in the backup")));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_differ_is_told() {
        let of = |tables: &[(&str, i64, &str)]| {
            let one = |(name, rows, hash): &(&str, i64, &str)| {
                ((*name).to_owned(), Table { rows: *rows, hash: (*hash).to_owned() })
            };
            tables.iter().map(one).collect::<BTreeMap<_, _>>()
        };
        let wanted = of(&[("a", 1, "x"), ("b", 2, "y"), ("c", 3, "z")]);
        assert!(differences(&wanted, &wanted, true).is_empty());
        let found = of(&[("a", 1, "other"), ("b", 1, "y"), ("d", 1, "z")]);
        assert_eq!(
            differences(&wanted, &found, true),
            [
                "rows of a differ",
                "b has 1 rows instead of 2",
                "the table c is missing",
                "the table d was not in the backup"
            ]
        );
        assert_eq!(
            differences(&wanted, &found, false).len(),
            3,
            "hashes of another version are not compared"
        );
    }
}
