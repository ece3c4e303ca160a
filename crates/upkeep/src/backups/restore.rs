//! Bringing a backup back: its files first, then its database in one transaction, so that there is all of it or none, and
//! what was interrupted goes on where it was. Files that are there stay; files of somebody else's are not taken over
//! unasked. The list of erasures is never taken back, and those that later backups know of are added to it.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{TryStreamExt, stream};
use sqlx::{Connection, PgConnection};
use tokio::io::AsyncWriteExt;

use crate::backups::create::{ERASURES, Erasure, ProgressCallback, TRIES};
use crate::backups::lists::{ERASED, FILES, Lines, ListedFile, a_file, is_ours, unlike};
use crate::backups::manifest::{BackupPart, Database, Manifest};
use crate::backups::named::{Short, short};
use crate::backups::place::BackupPlace;
use crate::backups::sealed_file::SealedReader;
use crate::backups::spoilt::spoilt;
use crate::backups::{contents, programs};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::{Sha256, hex};

/// Functions that run as their owner are for nobody else unless somebody is given them; without rights, PostgreSQL lets
/// everybody.
const NOT_FOR_EVERYBODY: &str = "do $$ declare function regprocedure; begin
     for function in select oid from pg_proc where prosecdef and pronamespace = current_schema()::regnamespace loop
         execute format('revoke execute on function %s from public', function);
     end loop;
 end $$";

/// What came back.
#[derive(Debug, Default)]
pub struct Restored {
    pub files: u64,
    /// Of those, how many were there already.
    pub there: u64,
    /// Entries of the list of erasures that this place did not have.
    pub erasures: u64,
    /// Other backups whose list of erasures could not be read, with why.
    pub unread: Vec<String>,
}

/// How a restore is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// With what roles may do.
    pub rights: bool,
    /// Also where the blob store has files that the backup does not know.
    pub take_over_files: bool,
}

/// Refuses what could not be brought back, before anything is written. Tells which databases are back already.
pub async fn check(app: &App, place: &BackupPlace, manifest: &Manifest, way: Way) -> Result<Vec<bool>> {
    manifest.check_canary(app.config.needs_secret_key()?)?;
    let targets = contents::databases(&app.config);
    if targets.len() != manifest.databases.len() {
        return Err(Error::internal(format!(
            "The backup has {} databases, the settings {}. Set ROOKERY_DIRECTORY_URL as it was, or leave it out as it was.",
            manifest.databases.len(),
            targets.len()
        )));
    }
    let mut there = Vec::new();
    for (database, (_, url)) in manifest.databases.iter().zip(&targets) {
        let mut conn = contents::connect(&url.0).await?;
        let server = contents::server(&mut conn).await?;
        if server / 10_000 < manifest.server / 10_000 {
            return Err(Error::internal(format!(
                "The backup is of PostgreSQL {}, and this server is {}. Restore into one that is at least as new.",
                manifest.server / 10_000,
                server / 10_000
            )));
        }
        programs::choose("pg_restore", restored_by(manifest, server)?).await?;
        let empty = contents::is_empty(&mut conn).await?;
        if !empty && compare(&mut conn, manifest, database).await.is_err() {
            return Err(not_empty());
        }
        if empty && way.rights {
            check_roles(&mut conn, database).await?;
        }
        there.push(!empty);
        conn.close().await?;
    }
    if !way.take_over_files {
        check_files(app, place, manifest).await?;
    }
    Ok(there)
}

/// An older `pg_restore` can read neither the dump nor the server.
fn restored_by(manifest: &Manifest, server: i32) -> Result<u32> {
    Ok(contents::major(server)?.max(manifest.dumped_by))
}

fn not_empty() -> Error {
    Error::internal(
        "The database is not empty, and a restore replaces nothing. Nothing was changed. Leave that database and its blob store \
         as they are: they may be all there is. Make an empty database beside it (createdb rookery_restored) and name it in \
         ROOKERY_DATABASE_URL; name an empty folder or prefix in ROOKERY_BLOBS; restore again. Remove the old ones when you have \
         seen that everything is back. If an interrupted restore had come this far, finish it: rookery migrate, then rookery serve",
    )
}

/// Files that the backup does not know may be those of a service that is in use. One that starts on the restored database would
/// take them for left over, and remove them.
async fn check_files(app: &App, place: &BackupPlace, manifest: &Manifest) -> Result<()> {
    let mut known: HashSet<Short> = HashSet::new();
    let mut lines = Lines::open(place, manifest, FILES).await?;
    while let Some(line) = lines.next().await? {
        known.insert(short(a_file(&line)?.blob));
    }
    lines.check(&manifest.files.list)?;
    let (mut strange, mut such) = (0_u64, String::new());
    let mut all = std::pin::pin!(app.blobs.all());
    while let Some((blob, _)) = all.try_next().await? {
        if !blob.starts_with(TRIES) && !blob.starts_with(ERASURES) && !known.contains(&short(&blob)) {
            strange += 1;
            such = blob;
        }
    }
    if strange == 0 {
        return Ok(());
    }
    let store = &app.config.blobs;
    Err(Error::internal(format!(
        "{strange} files in {store} are not in this backup, such as {such}. Nothing was changed. Do not remove them: they may belong \
         to a service that is in use. Name an empty folder or prefix in ROOKERY_BLOBS and copy ws/erasures into it, so that anyone \
         erased since stays erased; then restore again. Only if the database that they belong to is gone for good, restore with \
         --take-over-files: what the backup does not know is then removed two days after the service starts."
    )))
}

async fn check_roles(conn: &mut PgConnection, database: &Database) -> Result<()> {
    let missing: Vec<String> = sqlx::query_scalar(
        "select name from unnest($1::text[]) as t (name) where name not in (select rolname::text from pg_roles)",
    )
    .bind(&database.roles)
    .fetch_all(conn)
    .await?;
    match missing.first() {
        None => Ok(()),
        Some(role) => Err(Error::internal(format!(
            "The backup gives rights to the role {role}, which is not here. Make it first (create role {role} login), or \
             restore with --without-rights and grant them after: rookery migrate --grant-to ROLE"
        ))),
    }
}

/// Puts the files back that are not there. What it was told of a file is checked as it is read.
pub async fn files(
    app: &App,
    place: &BackupPlace,
    manifest: &Manifest,
    nothing_there: bool,
    told: ProgressCallback<'_>,
) -> Result<Restored> {
    let (mut restored, mut bytes) = (Restored::default(), 0);
    let key = manifest.key(&place.keys)?;
    // What an interrupted one was writing. Where rows are back already, files were before them, and somebody may serve.
    if nothing_there {
        app.blobs.discard_all_unfinished().await?;
    }
    let mut lines = Lines::open(place, manifest, FILES).await?;
    while let Some(line) = lines.next().await? {
        let file = a_file(&line)?;
        (restored.files, bytes) = (restored.files + 1, bytes + file.length);
        told(restored.files, bytes);
        if is_there(app, &file).await? {
            restored.there += 1;
            continue;
        }
        let reader = SealedReader::open(&place.of_file(key, file.blob).0, key, file.blob).await?;
        let begun = (reader, Sha256::new(), file.hash);
        let parts = stream::try_unfold(
            begun,
            async |(mut reader, mut hash, wanted): (SealedReader, Sha256, [u8; 32])| {
                let Some(part) = reader.next().await? else {
                    let sound = hash.finish() == wanted;
                    return if sound {
                        Ok(None)
                    } else {
                        Err(spoilt("A file of the backup is not the one of its list."))
                    };
                };
                hash.update(&part);
                Ok::<_, Error>(Some((Bytes::from(part), (reader, hash, wanted))))
            },
        );
        app.blobs.put_back(file.blob, parts).await?;
    }
    lines.check(&manifest.files.list)?;
    // Every backup may know of an erasure that this place does not: an older one of a machine that is lost, a newer one of
    // what was erased since.
    restored.erasures = add_erasures(app, place, manifest).await?;
    for name in place.list()?.into_iter().filter(|name| *name != manifest.name) {
        let added = match Manifest::read(place, &name) {
            Ok(other) => add_erasures(app, place, &other).await,
            Err(error) => Err(error),
        };
        match added {
            Ok(added) => restored.erasures += added,
            // A spoilt one must not keep a sound one from coming back.
            Err(error) => restored.unread.push(format!("{name}: {error}")),
        }
    }
    Ok(restored)
}

/// Whether the store has these very bytes.
async fn is_there(app: &App, file: &ListedFile<'_>) -> Result<bool> {
    let Some(mut found) = app.blobs.find(file.blob).await?.filter(|found| found.length == file.length) else {
        return Ok(false);
    };
    let mut hash = Sha256::new();
    while let Some(piece) = found.bytes.try_next().await? {
        hash.update(&piece);
    }
    Ok(hash.finish() == file.hash)
}

async fn add_erasures(app: &App, place: &BackupPlace, manifest: &Manifest) -> Result<u64> {
    let mut lines = Lines::open(place, manifest, ERASED).await?;
    let mut added = 0;
    while let Some(line) = lines.next().await? {
        let erasure: Erasure = serde_json::from_str(&line)?;
        let ours = erasure.key.starts_with(ERASURES) && is_ours(&erasure.key);
        if !ours || app.blobs.find(&erasure.key).await?.is_some() {
            continue;
        }
        let bytes = STANDARD.decode(&erasure.bytes).map_err(Error::internal)?;
        let once = stream::iter([Ok::<_, Error>(Bytes::from(bytes))]);
        app.blobs.put_back(&erasure.key, once).await?;
        added += 1;
    }
    lines.check(&manifest.erasures)?;
    Ok(added)
}

/// Restores the databases that are not back already, each in one transaction.
pub async fn databases(
    app: &App,
    place: &BackupPlace,
    manifest: &Manifest,
    rights: bool,
    there: &[bool],
) -> Result<()> {
    // The directory first: without the other there is nothing that it could lead to.
    let targets = contents::databases(&app.config);
    for ((database, (_, url)), there) in manifest.databases.iter().zip(&targets).zip(there).rev() {
        if *there {
            continue;
        }
        into(place, manifest, database, &url.0, rights).await?;
        let mut conn = contents::connect(&url.0).await?;
        compare(&mut conn, manifest, database).await?;
        if !rights {
            sqlx::raw_sql(NOT_FOR_EVERYBODY).execute(&mut conn).await?;
        }
        conn.close().await?;
    }
    Ok(())
}

/// Restores one database and checks the dump on the way.
pub async fn into(
    place: &BackupPlace,
    manifest: &Manifest,
    database: &Database,
    url: &str,
    rights: bool,
) -> Result<()> {
    let name = format!("{}/{}", manifest.name, database.name);
    let path = place.of_backup(&manifest.name).join(&database.name);
    let mut reader = SealedReader::open(&path, manifest.key(&place.keys)?, &name).await?;
    let mut conn = contents::connect(url).await?;
    let server = contents::server(&mut conn).await?;
    conn.close().await?;
    let program = programs::choose("pg_restore", restored_by(manifest, server)?).await?;
    let mut running = programs::restore(&program, url, rights)?;
    let mut to = running.child.stdin.take().ok_or_else(|| Error::internal("pg_restore has no input"))?;
    let (mut hash, mut length, mut cut) = (Sha256::new(), 0, false);
    loop {
        let part = match reader.next().await {
            Ok(Some(part)) => part,
            Ok(None) => break,
            Err(error) => {
                // It must not take what it has got so far for the end.
                let _ = running.child.kill().await;
                return Err(error);
            }
        };
        hash.update(&part);
        length += part.len() as u64;
        if to.write_all(&part).await.is_err() {
            // It has ended, and says why.
            cut = true;
            break;
        }
    }
    let whole = BackupPart { bytes: length, sha256: hex(&hash.finish()) };
    if !cut && whole != database.dump {
        let _ = running.child.kill().await;
        return Err(unlike(&name));
    }
    drop(to);
    running.ended().await
}

/// Whether a restored database has the very rows of the backup.
pub async fn compare(conn: &mut PgConnection, manifest: &Manifest, database: &Database) -> Result<()> {
    let same_hashes = contents::server(conn).await? / 10_000 == manifest.server / 10_000;
    let found = contents::tables(conn).await?;
    let differences = contents::differences(&database.tables, &found, same_hashes);
    if differences.is_empty() {
        Ok(())
    } else {
        let differences = differences.join("; ");
        Err(spoilt(format!("What was restored is not what was backed up: {differences}.")))
    }
}
