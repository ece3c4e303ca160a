//! Proving that a backup can be restored, by restoring it: every byte is read and checked, the dump goes into a database
//! that is made for it, its rows are counted and hashed, and this version's migrations run on it. That it held is noted
//! beside the backup.

use std::time::Instant;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use url::Url;

use crate::app::App;
use crate::backups::contents;
use crate::backups::create::Told;
use crate::backups::manifest::{self, Database, Manifest, Proven};
use crate::backups::place::Place;
use crate::backups::restore::{self, Lines, a_file};
use crate::backups::sealed_file::Reader;
use crate::clock::written;
use crate::error::{Error, Result};
use crate::store::db::MIGRATIONS;

/// PostgreSQL cuts longer names.
const LONGEST_NAME: usize = 63;
const SUFFIX: &str = "_verify";
/// What is written on a database that is made to try in: only such a one is ever dropped.
const OURS: &str = "made by rookery backup verify";
/// What PostgreSQL says of a database that is there already, or came while it was made.
const EXISTS: [&str; 2] = ["42P04", "23505"];

pub async fn verify(app: &App, name: Option<&str>, told: Told<'_>) -> Result<(Manifest, Proven)> {
    let (place, began) = (Place::of(&app.config)?, Instant::now());
    let _lock = place.lock()?;
    let manifest = Manifest::read(&place, &place.choose(name)?)?;
    manifest.check_canary(app.config.needs_secret_key()?)?;
    read_files(&place, &manifest, told).await?;
    let targets = contents::databases(&app.config);
    for (n, database) in manifest.databases.iter().enumerate() {
        // One more database than there are now: it goes where the first is.
        let (_, url) = targets.get(n).or(targets.first()).ok_or_else(|| Error::internal("no database"))?;
        restore_beside(&place, &manifest, database, &url.0).await?;
    }
    let proven = Proven {
        name: manifest.name.clone(),
        at: written(app.clock.now()),
        seconds: began.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    manifest::note_proven(&place, &manifest, &proven)?;
    Ok((manifest, proven))
}

/// Reads every file to its end: one that was changed does not open.
async fn read_files(place: &Place, manifest: &Manifest, told: Told<'_>) -> Result<()> {
    let key = manifest.key(&place.keys)?;
    let (mut count, mut bytes) = (0, 0);
    let mut lines = Lines::open(place, manifest, "files").await?;
    while let Some(line) = lines.next().await? {
        let (length, blob) = a_file(&line)?;
        let mut reader = Reader::open(&place.of_file(key, blob).0, &place.keys, blob).await?;
        let mut read = 0;
        while let Some(part) = reader.next().await? {
            read += part.len() as u64;
        }
        if read != length {
            return Err(Error::internal(format!(
                "The file {blob} has {read} bytes in the backup instead of {length}. Take another backup."
            )));
        }
        (count, bytes) = (count + 1, bytes + length);
        told(count, bytes);
    }
    lines.check(&manifest.files.list)?;
    if (count, bytes) != (manifest.files.count, manifest.files.bytes) {
        return Err(Error::internal(
            "The backup has other files than its manifest says. Take another backup.",
        ));
    }
    let mut erasures = Lines::open(place, manifest, "erasures").await?;
    while erasures.next().await?.is_some() {}
    erasures.check(&manifest.erasures)
}

/// Restores one database into one of its own, which is dropped again, and after a crash at the next try.
async fn restore_beside(place: &Place, manifest: &Manifest, database: &Database, url: &str) -> Result<()> {
    let options: PgConnectOptions = url.parse()?;
    let own = options.get_database().unwrap_or("rookery").to_owned();
    let scratch = scratch_name(&own, &database.name);
    let there = named(url, &scratch)?;
    let mut admin = contents::connect(url).await?;
    let quoted: String =
        sqlx::query_scalar("select quote_ident($1)").bind(&scratch).fetch_one(&mut admin).await?;
    make_database(&mut admin, &scratch, &quoted, &there).await.map_err(|error| {
        let user = options.get_username();
        Error::internal(format!(
            "No database can be made to try the backup in: {error} The role {user} must be allowed to: alter role {user} createdb"
        ))
    })?;
    let tried = try_in(place, manifest, database, &there).await;
    drop_database(&mut admin, &quoted).await?;
    admin.close().await?;
    tried
}

/// Makes it anew. One that is there is dropped only if it is ours, or has nothing in it: somebody who was killed while it was
/// made could not mark it, and it may still be on its way.
async fn make_database(admin: &mut PgConnection, name: &str, quoted: &str, url: &str) -> Result<()> {
    for tries in 1.. {
        let found: Option<bool> = sqlx::query_scalar(
            "select coalesce(shobj_description(oid, 'pg_database') = $2, false) from pg_database where datname = $1",
        )
        .bind(name)
        .bind(OURS)
        .fetch_optional(&mut *admin)
        .await?;
        if found == Some(false) {
            let mut conn = contents::connect(url).await?;
            let empty = contents::has_nothing(&mut conn).await?;
            conn.close().await?;
            if !empty {
                return Err(Error::internal(format!(
                    "the database {name} is not one of ours. Rename or drop it."
                )));
            }
        }
        drop_database(admin, quoted).await?;
        let making = format!("create database {quoted} template template0");
        match sqlx::raw_sql(AssertSqlSafe(making)).execute(&mut *admin).await {
            Ok(_) => break,
            Err(sqlx::Error::Database(error))
                if tries < 5 && error.code().is_some_and(|code| EXISTS.contains(&&*code)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let marking = format!("comment on database {quoted} is '{OURS}'");
    sqlx::raw_sql(AssertSqlSafe(marking)).execute(admin).await?;
    Ok(())
}

async fn try_in(place: &Place, manifest: &Manifest, database: &Database, url: &str) -> Result<()> {
    // Rights are of no use there, and their roles may be on another server.
    restore::into(place, manifest, database, url, false).await?;
    let mut conn = contents::connect(url).await?;
    restore::compare(&mut conn, manifest, database).await?;
    MIGRATIONS.run(&mut conn).await.map_err(|error| {
        Error::internal(format!("The backup cannot be brought to the schema of this version: {error}"))
    })?;
    Ok(conn.close().await?)
}

async fn drop_database(admin: &mut PgConnection, quoted: &str) -> Result<()> {
    let dropping = format!("drop database if exists {quoted} with (force)");
    sqlx::raw_sql(AssertSqlSafe(dropping)).execute(admin).await?;
    Ok(())
}

/// Always the same of a database, so that what a crash left behind is found.
fn scratch_name(own: &str, part: &str) -> String {
    let suffix = if part == "database" { SUFFIX.to_owned() } else { format!("_{part}{SUFFIX}") };
    let room = own.floor_char_boundary(LONGEST_NAME - suffix.len());
    format!("{}{suffix}", &own[..room])
}

/// The same server and role, another database.
fn named(url: &str, database: &str) -> Result<String> {
    let mut url = Url::parse(url).map_err(Error::internal)?;
    url.set_path(database);
    let kept: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(name, _)| name != "dbname").collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    Ok(url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_to_try_in_stands_beside_its_own() {
        assert_eq!(scratch_name("rookery", "database"), "rookery_verify");
        assert_eq!(scratch_name("rookery", "directory"), "rookery_directory_verify");
        assert_eq!(scratch_name(&"ä".repeat(40), "database").len(), 63);
        assert_eq!(
            named("postgres://me@db:5433/rookery?sslmode=require", "rookery_verify").unwrap(),
            "postgres://me@db:5433/rookery_verify?sslmode=require"
        );
    }
}
