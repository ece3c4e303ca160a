//! Bringing a backup back: its files first, then its database in one transaction, so that there is all of it or none. Files
//! that are there stay; the list of erasures is never taken back, and those that later backups know of are added to it.

use std::collections::VecDeque;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream;
use sqlx::{Connection, PgConnection};
use tokio::io::AsyncWriteExt;

use crate::app::App;
use crate::backups::create::{ERASURES, Erasure, Told};
use crate::backups::manifest::{Database, Manifest, Part, hex};
use crate::backups::place::Place;
use crate::backups::sealed_file::Reader;
use crate::backups::{contents, programs};
use crate::error::{Error, Result};
use crate::secrets::hashes::Sha256;

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

/// Refuses what could not be brought back, before anything is written.
pub async fn check(app: &App, place: &Place, manifest: &Manifest, rights: bool) -> Result<()> {
    manifest.check_canary(app.config.needs_secret_key()?)?;
    manifest.key(&place.keys)?;
    let targets = contents::databases(&app.config);
    if targets.len() != manifest.databases.len() {
        return Err(Error::internal(format!(
            "The backup has {} databases, the settings {}. Set ROOKERY_DIRECTORY_URL as it was, or leave it out as it was.",
            manifest.databases.len(),
            targets.len()
        )));
    }
    for (database, (_, url)) in manifest.databases.iter().zip(&targets) {
        let mut conn = contents::connect(&url.0).await?;
        if !contents::is_empty(&mut conn).await? {
            return Err(Error::internal(
                "The database is not empty, and a restore replaces nothing. Make an empty one (createdb rookery_restored) \
                 and name it in ROOKERY_DATABASE_URL.",
            ));
        }
        if rights {
            check_roles(&mut conn, database).await?;
        }
        conn.close().await?;
    }
    Ok(())
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
pub async fn files(app: &App, place: &Place, manifest: &Manifest, told: Told<'_>) -> Result<Restored> {
    let (mut restored, mut bytes) = (Restored::default(), 0);
    let key = manifest.key(&place.keys)?;
    let mut lines = Lines::open(place, manifest, "files").await?;
    while let Some(line) = lines.next().await? {
        let (length, blob) = a_file(&line)?;
        (restored.files, bytes) = (restored.files + 1, bytes + length);
        told(restored.files, bytes);
        if app.blobs.find(blob).await?.is_some_and(|there| there.length == length) {
            restored.there += 1;
            continue;
        }
        let reader = Reader::open(&place.of_file(key, blob).0, &place.keys, blob).await?;
        let parts = stream::try_unfold(reader, async |mut reader: Reader| {
            let part = reader.next().await?;
            Ok::<_, Error>(part.map(|part| (Bytes::from(part), reader)))
        });
        app.blobs.put_back(blob, parts).await?;
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

async fn add_erasures(app: &App, place: &Place, manifest: &Manifest) -> Result<u64> {
    let mut lines = Lines::open(place, manifest, "erasures").await?;
    let mut added = 0;
    while let Some(line) = lines.next().await? {
        let erasure: Erasure = serde_json::from_str(&line)?;
        if !erasure.key.starts_with(ERASURES) || app.blobs.find(&erasure.key).await?.is_some() {
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

/// Restores the databases, each in one transaction.
pub async fn databases(app: &App, place: &Place, manifest: &Manifest, rights: bool) -> Result<()> {
    // The directory first: without the other there is nothing that it could lead to.
    let targets = contents::databases(&app.config);
    for (database, (_, url)) in manifest.databases.iter().zip(&targets).rev() {
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
    place: &Place,
    manifest: &Manifest,
    database: &Database,
    url: &str,
    rights: bool,
) -> Result<()> {
    let name = format!("{}/{}", manifest.name, database.name);
    let path = place.of_backup(&manifest.name).join(&database.name);
    let mut reader = Reader::open(&path, &place.keys, &name).await?;
    let mut running = programs::restore(url, rights)?;
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
    let whole = Part { bytes: length, sha256: hex(&hash.finish()) };
    if !cut && whole != database.dump {
        let _ = running.child.kill().await;
        return Err(unlike(&manifest.name));
    }
    drop(to);
    running.ended().await
}

/// Whether a restored database has the very rows of the backup.
pub async fn compare(conn: &mut PgConnection, manifest: &Manifest, database: &Database) -> Result<()> {
    let same_hashes = contents::server(conn).await? / 10_000 == manifest.server / 10_000;
    let found = contents::tables(conn).await?;
    let differences = contents::differences(&database.tables, &found, same_hashes);
    match differences.is_empty() {
        true => Ok(()),
        false => Err(Error::internal(format!(
            "What was restored is not what was backed up: {}.",
            differences.join("; ")
        ))),
    }
}

fn unlike(name: &str) -> Error {
    Error::internal(format!("The backup {name} is not what its manifest says. Take another backup."))
}

/// `1234 ws/wsp_…/…`
pub fn a_file(line: &str) -> Result<(u64, &str)> {
    let parts = line.split_once(' ').and_then(|(length, blob)| Some((length.parse().ok()?, blob)));
    parts
        .filter(|(_, blob)| blob.starts_with("ws/"))
        .ok_or_else(|| Error::internal("A list of files is not one."))
}

/// A list of a backup, line by line.
pub struct Lines {
    reader: Reader,
    name: String,
    lines: VecDeque<String>,
    /// The beginning of a line whose end is in the next part.
    rest: Vec<u8>,
    hash: Sha256,
    length: u64,
    ended: bool,
}

impl Lines {
    pub async fn open(place: &Place, manifest: &Manifest, list: &str) -> Result<Self> {
        let path = place.of_backup(&manifest.name).join(list);
        let reader = Reader::open(&path, &place.keys, &format!("{}/{list}", manifest.name)).await?;
        let (name, hash) = (manifest.name.clone(), Sha256::new());
        Ok(Self { reader, name, lines: VecDeque::new(), rest: Vec::new(), hash, length: 0, ended: false })
    }

    pub async fn next(&mut self) -> Result<Option<String>> {
        while self.lines.is_empty() && !self.ended {
            match self.reader.next().await? {
                Some(part) => self.take(&part)?,
                None => self.ended = true,
            }
        }
        Ok(self.lines.pop_front())
    }

    fn take(&mut self, part: &[u8]) -> Result<()> {
        self.hash.update(part);
        self.length += part.len() as u64;
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if let Some(line) = self.rest.strip_suffix(b"\n") {
                self.lines.push_back(String::from_utf8(line.to_vec()).map_err(Error::internal)?);
                self.rest.clear();
            }
        }
        Ok(())
    }

    /// At its end: whether it is the list that the manifest names.
    pub fn check(self, wanted: &Part) -> Result<()> {
        let whole = Part { bytes: self.length, sha256: hex(&self.hash.finish()) };
        if self.ended && self.rest.is_empty() && whole == *wanted { Ok(()) } else { Err(unlike(&self.name)) }
    }
}
