//! Proving that a backup can be restored, by restoring it: every byte is read and checked, the dump goes into a database
//! that is made for it, its rows are counted and hashed, every file that they name must be in the backup, and this version's
//! migrations run on it. That it held is noted beside the backup. What is found changed is set aside, so that the next
//! backup copies it anew, and takes back what was noted.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use url::Url;

use crate::backups::contents;
use crate::backups::create::ProgressCallback;
use crate::backups::lists::{ERASED, FILES, LOST, Lines, ListedFile, REMARKS, REMOVED, a_file, a_remark};
use crate::backups::manifest::{self, Database, Manifest, Proven};
use crate::backups::named::{self, Short, short};
use crate::backups::place::{BackupPlace, file_name};
use crate::backups::restore;
use crate::backups::sealed_file::{SealedReader, WrittenFile};
use crate::backups::spoilt::{is_spoilt, spoilt};
use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::MIGRATIONS;

/// PostgreSQL cuts longer names.
const LONGEST_NAME: usize = 63;
const SUFFIX: &str = "_verify";
/// What is written on a database that is made to try in: only such a one is ever dropped.
const OURS: &str = "made by rookery backup verify";
/// What PostgreSQL says of a database that is there already, or came while it was made.
const EXISTS: [&str; 2] = ["42P04", "23505"];

pub async fn verify(app: &App, name: Option<&str>, told: ProgressCallback<'_>) -> Result<(Manifest, Proven)> {
    let (place, began) = (BackupPlace::from_config(&app.config)?, Instant::now());
    let _lock = place.lock().map_err(|error| place.explained(error))?;
    let name = place.choose(name)?;
    let tried = async {
        let manifest = Manifest::read(&place, &name)?;
        manifest.check_canary(app.config.needs_secret_key()?)?;
        try_to_restore(app, &place, &manifest, told).await?;
        Ok(manifest)
    };
    let manifest = match tried.await {
        Ok(manifest) => manifest,
        Err(error) => {
            if is_spoilt(&error) {
                manifest::unprove(&place, &name)?;
            }
            return Err(error);
        }
    };
    let (at, seconds) = (written(app.clock.now()), began.elapsed().as_secs_f64());
    let proven =
        manifest::note_proven(&place, &manifest, at, seconds).map_err(|error| place.explained(error))?;
    Ok((manifest, proven))
}

async fn try_to_restore(
    app: &App,
    place: &BackupPlace,
    manifest: &Manifest,
    told: ProgressCallback<'_>,
) -> Result<()> {
    let targets = contents::databases(&app.config);
    for (_, url) in &targets {
        may_try(&url.0).await?;
    }
    let known = read_files(place, manifest, told).await?;
    for (n, database) in manifest.databases.iter().enumerate() {
        // One more database than there are now: it goes where the first is.
        let (_, url) = targets.get(n).or(targets.first()).ok_or_else(|| Error::internal("no database"))?;
        restore_beside(place, manifest, database, &url.0, &known).await?;
    }
    match known.lost {
        None => Ok(()),
        Some(such) => Err(spoilt(format!(
            "The backup {} can be restored, but it is not whole: {} files that its rows name were not in the blob store when it \
             was made, such as {such}. It is not noted as proven. Put them back into ROOKERY_BLOBS, from an earlier backup if one has \
             them, and make another.",
            manifest.name, manifest.remarks.lost
        ))),
    }
}

/// Said before hours are spent on reading.
async fn may_try(url: &str) -> Result<()> {
    let mut conn = contents::connect(url).await?;
    let (may, role) = contents::may_make_databases(&mut conn).await?;
    conn.close().await?;
    if may {
        Ok(())
    } else {
        Err(Error::internal(format!(
            "The backup was not tried: the role {role} may make no database to try it in. Let it, as a superuser: \
             alter role {role} createdb"
        )))
    }
}

/// Names of files that rows may have.
struct Known {
    /// Those that are in the backup.
    here: HashSet<Short>,
    /// Those of which the backup itself says why they are not.
    told: HashSet<Short>,
    /// One that rows name, and the blob store did not have.
    lost: Option<String>,
}

/// Reads every file to its end: one that was changed does not open.
async fn read_files(place: &BackupPlace, manifest: &Manifest, told: ProgressCallback<'_>) -> Result<Known> {
    let key = manifest.key(&place.keys)?;
    let mut known = Known { here: HashSet::new(), told: HashSet::new(), lost: None };
    let (mut count, mut bytes, mut damaged) = (0, 0, HashMap::new());
    let mut lines = Lines::open(place, manifest, FILES).await?;
    while let Some(line) = lines.next().await? {
        let ListedFile { blob, length, hash } = a_file(&line)?;
        let path = place.of_file(key, blob).0;
        let measured = async { SealedReader::open(&path, key, blob).await?.measure().await };
        match measured.await {
            Ok(is) if is == WrittenFile { length, hash } => {}
            Err(error) if !is_spoilt(&error) => return Err(error),
            _ => drop(damaged.insert(file_name(key, blob), blob.to_owned())),
        }
        known.here.insert(short(blob));
        (count, bytes) = (count + 1, bytes + length);
        told(count, bytes);
    }
    lines.check(&manifest.files.list)?;
    if !damaged.is_empty() {
        return Err(set_aside(place, manifest, &damaged).await?);
    }
    if (count, bytes) != (manifest.files.count, manifest.files.bytes) {
        return Err(spoilt("The backup has other files than its manifest says. Take another backup."));
    }
    let mut remarks = Lines::open(place, manifest, REMARKS).await?;
    while let Some(line) = remarks.next().await? {
        let (what, blob) = a_remark(&line)?;
        if matches!(what, LOST | REMOVED) {
            known.told.insert(short(blob));
        }
        if what == LOST {
            known.lost = Some(blob.to_owned());
        }
    }
    remarks.check(&manifest.remarks.list)?;
    let mut erasures = Lines::open(place, manifest, ERASED).await?;
    while erasures.next().await?.is_some() {}
    erasures.check(&manifest.erasures)?;
    Ok(known)
}

/// The next backup copies them anew. No backup that has them is proven any more.
async fn set_aside(
    place: &BackupPlace,
    manifest: &Manifest,
    damaged: &HashMap<String, String>,
) -> Result<Error> {
    let key = manifest.key(&place.keys)?;
    for blob in damaged.values() {
        place.set_aside(key, blob)?;
    }
    for name in place.list()? {
        if has_one(place, &name, damaged).await.unwrap_or(true) {
            manifest::unprove(place, &name)?;
        }
    }
    let such = damaged.values().next().map(String::as_str).unwrap_or_default();
    Ok(spoilt(format!(
        "{} files of the backup {} are missing or damaged, such as that of {such}. They are set aside, and backups \
         with them no longer count as proven. The next `rookery backup create` copies them again from the blob store: \
         run it now, then verify again.",
        damaged.len(),
        manifest.name
    )))
}

async fn has_one(place: &BackupPlace, name: &str, damaged: &HashMap<String, String>) -> Result<bool> {
    let manifest = Manifest::read(place, name)?;
    let key = manifest.key(&place.keys)?;
    let mut lines = Lines::open(place, &manifest, FILES).await?;
    while let Some(line) = lines.next().await? {
        if damaged.contains_key(&file_name(key, a_file(&line)?.blob)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Restores one database into one of its own, which is dropped again, and after a crash at the next try.
async fn restore_beside(
    place: &BackupPlace,
    manifest: &Manifest,
    database: &Database,
    url: &str,
    known: &Known,
) -> Result<()> {
    let options: PgConnectOptions = url.parse()?;
    let own = options.get_database().unwrap_or("rookery").to_owned();
    let scratch = scratch_name(&own, &database.name);
    let there = named(url, &scratch)?;
    let mut admin = contents::connect(url).await?;
    let quoted: String =
        sqlx::query_scalar("select quote_ident($1)").bind(&scratch).fetch_one(&mut admin).await?;
    make_database(&mut admin, &scratch, &quoted, &there).await.map_err(|error| {
        Error::internal(format!("The backup was not tried: no database can be made to try it in ({error})."))
    })?;
    let tried = try_in(place, manifest, database, &there, known).await;
    let dropped = drop_database(&mut admin, &quoted).await;
    admin.close().await?;
    // What it found comes first.
    tried.and(dropped)
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

async fn try_in(
    place: &BackupPlace,
    manifest: &Manifest,
    database: &Database,
    url: &str,
    known: &Known,
) -> Result<()> {
    // Rights are of no use there, and their roles may be on another server.
    restore::into(place, manifest, database, url, false).await?;
    let mut conn = contents::connect(url).await?;
    restore::compare(&mut conn, manifest, database).await?;
    let (mut missing, mut such) = (0_u64, String::new());
    named::each(&mut conn, async |blob| {
        let name = short(&blob);
        if !known.here.contains(&name) && !known.told.contains(&name) {
            (missing, such) = (missing + 1, blob);
        }
        Ok(())
    })
    .await?;
    if missing > 0 {
        return Err(spoilt(format!(
            "The backup {} is not whole: its rows name {missing} files that are not in it, such as {such}. Make another.",
            manifest.name
        )));
    }
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
