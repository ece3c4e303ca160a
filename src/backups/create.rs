//! Making a backup: the dump first, then the files, because a row never names a file that was stored after it. What an
//! earlier backup has is not copied again. Nothing is there before all of it is, whenever the process ends.

use std::path::Path;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use sqlx::Connection;
use tokio::io::AsyncReadExt;

use crate::app::App;
use crate::backups::manifest::{self, Database, Files, Manifest, Part};
use crate::backups::place::{Place, new_name};
use crate::backups::sealed_file::{Writer, sealed_length};
use crate::backups::{contents, programs};
use crate::clock::written;
use crate::error::{Error, Result};

/// What is read of the dump at once.
const PIECE: usize = 256 * 1024;
/// Where the list of erasures is in the blob store: files that may change, a few hundred bytes each.
pub const ERASURES: &str = "ws/erasures/";
/// What `doctor` tries the store with.
const TRIES: &str = "ws/doctor/";

/// An entry of the list of erasures, as a backup keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Erasure {
    pub key: String,
    pub bytes: String,
}

/// How far it is: files and their bytes.
pub type Told<'t> = &'t (dyn Fn(u64, u64) + Sync);

pub async fn create(app: &App, told: Told<'_>) -> Result<Manifest> {
    let (place, began) = (Place::of(&app.config)?, Instant::now());
    let secret = app.config.needs_secret_key()?;
    let _lock = place.lock()?;
    let now = app.clock.now();
    let name = new_name(now);
    let folder = place.begin(&name)?;
    let (mut databases, mut schema, mut server) = (Vec::new(), 0, 0);
    for (part, url) in contents::databases(&app.config) {
        let dumped = dump(app, &place, &folder, (&name, part), &url.0).await?;
        if part == "database" {
            (schema, server) = (dumped.schema, dumped.server);
        }
        databases.push(dumped.database);
    }
    let (files, erasures) = copy(app, &place, &folder, &name, told).await?;
    let manifest = Manifest {
        format: Manifest::FORMAT,
        created_at: written(now),
        seconds: began.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schema,
        server,
        databases,
        files,
        erasures,
        key: place.keys.newest_id().to_owned(),
        secret_key: secret.newest_id().to_owned(),
        canary: manifest::canary(secret, &app.random, &name)?,
        name,
    };
    manifest.write(&folder, &place.keys)?;
    place.finish(&manifest.name)?;
    Ok(manifest)
}

struct Dumped {
    database: Database,
    schema: i64,
    server: i32,
}

async fn dump(
    app: &App,
    place: &Place,
    folder: &Path,
    (name, part): (&str, &str),
    url: &str,
) -> Result<Dumped> {
    let mut conn = contents::connect(url).await?;
    let (schema, server) = (contents::schema(&mut conn).await?, contents::server(&mut conn).await?);
    let snapshot = contents::begin_snapshot(&mut conn).await?;
    let mut running = programs::dump(url, &snapshot)?;
    let mut from = running.child.stdout.take().ok_or_else(|| Error::internal("pg_dump has no output"))?;
    let mut writer =
        Writer::create(&folder.join(part), &place.keys, &app.random, &format!("{name}/{part}")).await?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            break;
        }
        writer.add(&piece[..read]).await?;
    }
    running.ended().await?;
    let dump = Part::from(writer.finish().await?);
    let (tables, roles) = (contents::tables(&mut conn).await?, contents::roles(&mut conn).await?);
    contents::end_snapshot(&mut conn).await?;
    conn.close().await?;
    Ok(Dumped { database: Database { name: part.to_owned(), roles, dump, tables }, schema, server })
}

/// Copies what is new, and lists what there is.
async fn copy(app: &App, place: &Place, folder: &Path, name: &str, told: Told<'_>) -> Result<(Files, Part)> {
    let (keys, random) = (&place.keys, &app.random);
    let mut list = Writer::create(&folder.join("files"), keys, random, &format!("{name}/files")).await?;
    let mut erasures =
        Writer::create(&folder.join("erasures"), keys, random, &format!("{name}/erasures")).await?;
    let mut files = Files {
        list: Part { bytes: 0, sha256: String::new() },
        count: 0,
        bytes: 0,
        new_count: 0,
        new_bytes: 0,
    };
    let mut all = std::pin::pin!(app.blobs.all());
    while let Some((blob, length)) = all.try_next().await? {
        if blob.starts_with(TRIES) {
            continue;
        }
        if blob.starts_with(ERASURES) {
            let bytes = STANDARD.encode(app.blobs.get(&blob).await?);
            let line = serde_json::to_string(&Erasure { key: blob, bytes })?;
            erasures.add(format!("{line}\n").as_bytes()).await?;
            continue;
        }
        match keep(app, place, &blob, length).await? {
            Kept::Gone => continue,
            Kept::Already => {}
            Kept::New => {
                files.new_count += 1;
                files.new_bytes += length;
            }
        }
        files.count += 1;
        files.bytes += length;
        list.add(format!("{length} {blob}\n").as_bytes()).await?;
        told(files.count, files.bytes);
    }
    files.list = Part::from(list.finish().await?);
    Ok((files, Part::from(erasures.finish().await?)))
}

enum Kept {
    Already,
    New,
    /// It was removed since the list was read.
    Gone,
}

/// A file never changes under its key, so one that is here and as long as it should be is the same.
async fn keep(app: &App, place: &Place, blob: &str, length: u64) -> Result<Kept> {
    let keys = &place.keys;
    let (path, unfinished) = place.of_file(keys.newest(), blob);
    let there = tokio::fs::metadata(&path).await;
    if there.is_ok_and(|there| there.len() == sealed_length(keys, length)) {
        return Ok(Kept::Already);
    }
    if let Some(parent) = path.parent() {
        tokio::fs::create_dir_all(parent).await?;
    }
    let Some(mut found) = app.blobs.find(blob).await? else { return Ok(Kept::Gone) };
    let mut writer = Writer::create(&unfinished, keys, &app.random, blob).await?;
    loop {
        match found.bytes.try_next().await {
            Ok(Some(piece)) => writer.add(&piece).await?,
            Ok(None) => break,
            Err(error) => {
                // It may have been removed while it was read.
                writer.discard().await?;
                return match app.blobs.find(blob).await? {
                    None => Ok(Kept::Gone),
                    Some(_) => Err(error),
                };
            }
        }
    }
    writer.finish().await?;
    tokio::fs::rename(unfinished, path).await?;
    Ok(Kept::New)
}
