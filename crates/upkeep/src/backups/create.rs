//! Making a backup: the dump first, then the files, because a row never names a file that was stored after it. Then every
//! file that a row names is asked for: one that is nowhere makes the backup not whole. What an earlier backup has with its
//! hash is not copied again. Nothing is there before all of it is, whenever the process ends.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use sqlx::Connection;
use tokio::io::AsyncReadExt;

use crate::backups::keys::fingerprint;
use crate::backups::lists::{
    self, ERASED, FILES, LOST, Lines, ListedFile, REMARKS, REMOVED, UNLIKE, a_file, is_ours,
};
use crate::backups::manifest::{self, BackupPart, Database, Files, Manifest, Remarks};
use crate::backups::named::{self, Short, short};
use crate::backups::place::{self, BackupPlace, new_name};
use crate::backups::sealed_file::{SealedReader, Writer, WrittenFile, sealed_length};
use crate::backups::{contents, programs};
use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};

/// What is read of the dump at once.
const PIECE: usize = 256 * 1024;
/// Where the list of erasures is in the blob store: files that may change, a few hundred bytes each.
pub const ERASURES: &str = "ws/erasures/";
/// What `doctor` tries the store with.
pub const TRIES: &str = "ws/doctor/";
/// The names that rows have for files, until the files are there.
const NAMED: &str = ".named";
/// Whether rows name a file is asked so often and for so many at once: a row may be on its way out behind its file.
const LOOKS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 10_000;

/// An entry of the list of erasures, as a backup keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Erasure {
    pub key: String,
    pub bytes: String,
}

/// How far it is: files and their bytes.
pub type ProgressCallback<'t> = &'t (dyn Fn(u64, u64) + Sync);

pub async fn create(app: &App, told: ProgressCallback<'_>) -> Result<Manifest> {
    let place = BackupPlace::from_config(&app.config)?;
    app.config.needs_secret_key()?;
    let _lock = place.lock().map_err(|error| place.explained(error))?;
    let now = app.clock.now();
    let name = new_name(now, place.list()?.last().map(String::as_str));
    match write(app, &place, &name, now, told).await {
        Ok(manifest) => Ok(manifest),
        Err(error) => {
            place.abandon(&name);
            Err(place.explained(error))
        }
    }
}

async fn write(
    app: &App,
    place: &BackupPlace,
    name: &str,
    now: DateTime<Utc>,
    told: ProgressCallback<'_>,
) -> Result<Manifest> {
    let (secret, began) = (app.config.needs_secret_key()?, Instant::now());
    let folder = place.begin(name)?;
    let (mut databases, mut schema, mut server, mut dumped_by) = (Vec::new(), 0, 0, 0);
    for (part, url) in contents::databases(&app.config) {
        let dumped = dump(app, place, &folder, name, part, &url.0).await?;
        if part == "database" {
            (schema, server) = (dumped.schema, dumped.server);
        }
        dumped_by = dumped_by.max(dumped.by);
        databases.push(dumped.database);
    }
    let mut copying = Copying::begin(app, place, &folder, name, told).await?;
    let erasures = copying.all(&folder, name).await?;
    for database in &databases {
        copying.ask_for_named(&folder, name, &database.name).await?;
    }
    let (files, remarks) = copying.finish().await?;
    let key = place.keys.newest();
    let manifest = Manifest {
        format: Manifest::FORMAT,
        name: name.to_owned(),
        created_at: written(now),
        seconds: began.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schema,
        server,
        dumped_by,
        databases,
        files,
        remarks,
        erasures,
        key: fingerprint(key),
        key_name: place.keys.newest_id().to_owned(),
        secret_key: secret.newest_id().to_owned(),
        secret_key_fingerprint: fingerprint(secret.newest()),
        canary: manifest::canary(secret, &app.random, name)?,
    };
    manifest.write(&folder, key)?;
    place.finish(name)?;
    Ok(manifest)
}

struct Dumped {
    database: Database,
    schema: i64,
    server: i32,
    by: u32,
}

async fn dump(
    app: &App,
    place: &BackupPlace,
    folder: &Path,
    name: &str,
    part: &str,
    url: &str,
) -> Result<Dumped> {
    let mut conn = contents::connect(url).await?;
    let (schema, server) = (contents::schema(&mut conn).await?, contents::server(&mut conn).await?);
    let program = programs::choose("pg_dump", contents::major(server)?).await?;
    let snapshot = contents::begin_snapshot(&mut conn).await?;
    let mut running = programs::dump(&program, url, &snapshot)?;
    let mut from = running.child.stdout.take().ok_or_else(|| Error::internal("pg_dump has no output"))?;
    let (key, random) = (place.keys.newest(), &app.random);
    let mut writer = Writer::create(&folder.join(part), key, random, &format!("{name}/{part}")).await?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            break;
        }
        writer.add(&piece[..read]).await?;
    }
    running.ended().await?;
    let dump = BackupPart::from(writer.finish().await?);
    let (tables, roles) = (contents::tables(&mut conn).await?, contents::roles(&mut conn).await?);
    // What the very rows of the dump name; kept beside, so that the snapshot need not stay while files are copied.
    let list = format!("{NAMED}-{part}");
    let mut named = Writer::create(&folder.join(&list), key, random, &format!("{name}/{list}")).await?;
    named::each(&mut conn, async |blob| named.add(format!("{blob}\n").as_bytes()).await).await?;
    named.finish().await?;
    contents::end_snapshot(&mut conn).await?;
    conn.close().await?;
    let database = Database { name: part.to_owned(), roles, dump, tables };
    Ok(Dumped { database, schema, server, by: program.version })
}

/// Files on their way into the backup.
struct Copying<'c> {
    app: &'c App,
    place: &'c BackupPlace,
    told: ProgressCallback<'c>,
    /// What the newest backup of this key has.
    earlier: HashMap<Short, WrittenFile>,
    here: HashSet<Short>,
    list: Writer,
    remarks: Writer,
    files: Files,
    said: Remarks,
}

impl<'c> Copying<'c> {
    async fn begin(
        app: &'c App,
        place: &'c BackupPlace,
        folder: &Path,
        name: &str,
        told: ProgressCallback<'c>,
    ) -> Result<Self> {
        let key = place.keys.newest();
        let nothing = || BackupPart { bytes: 0, sha256: String::new() };
        Ok(Self {
            app,
            place,
            told,
            earlier: earlier(place).await?,
            here: HashSet::new(),
            list: Writer::create(&folder.join(FILES), key, &app.random, &format!("{name}/{FILES}")).await?,
            remarks: Writer::create(&folder.join(REMARKS), key, &app.random, &format!("{name}/{REMARKS}"))
                .await?,
            files: Files { list: nothing(), count: 0, bytes: 0, new_count: 0, new_bytes: 0 },
            said: Remarks { list: nothing(), lost: 0, removed: 0, unlike: 0 },
        })
    }

    /// Copies what is new, and lists what there is.
    async fn all(&mut self, folder: &Path, name: &str) -> Result<BackupPart> {
        let (app, key) = (self.app, self.place.keys.newest());
        let mut erasures =
            Writer::create(&folder.join(ERASED), key, &app.random, &format!("{name}/{ERASED}")).await?;
        let mut all = std::pin::pin!(app.blobs.all());
        while let Some((blob, length)) = all.try_next().await? {
            if blob.starts_with(TRIES) || !is_ours(&blob) {
                continue;
            }
            if blob.starts_with(ERASURES) {
                let bytes = STANDARD.encode(app.blobs.get(&blob).await?);
                let line = serde_json::to_string(&Erasure { key: blob, bytes })?;
                erasures.add(format!("{line}\n").as_bytes()).await?;
                continue;
            }
            self.add(&blob, length).await?;
        }
        Ok(BackupPart::from(erasures.finish().await?))
    }

    /// False when it was removed since somebody named it.
    async fn add(&mut self, blob: &str, length: u64) -> Result<bool> {
        let known = self.earlier.get(&short(blob)).copied();
        let Some(kept) = keep(self.app, self.place, blob, length, known).await? else { return Ok(false) };
        if kept.new {
            self.files.new_count += 1;
            self.files.new_bytes += kept.is.length;
        }
        if kept.unlike {
            self.remark(UNLIKE, blob).await?;
            self.said.unlike += 1;
        }
        let WrittenFile { length, hash } = kept.is;
        self.files.count += 1;
        self.files.bytes += length;
        self.list.add(ListedFile { blob, length, hash }.line().as_bytes()).await?;
        self.here.insert(short(blob));
        (self.told)(self.files.count, self.files.bytes);
        Ok(true)
    }

    async fn remark(&mut self, what: &str, blob: &str) -> Result<()> {
        self.remarks.add(format!("{what} {blob}\n").as_bytes()).await
    }

    /// Looks for what rows name and is not here: it went with its row meanwhile, or it is lost.
    async fn ask_for_named(&mut self, folder: &Path, name: &str, part: &str) -> Result<()> {
        let list = format!("{NAMED}-{part}");
        let path = folder.join(&list);
        let mut lines = Lines::at(&path, self.place.keys.newest(), &format!("{name}/{list}")).await?;
        let mut absent = BTreeSet::new();
        while let Some(blob) = lines.next().await? {
            if !self.here.contains(&short(&blob)) {
                absent.insert(blob);
            }
        }
        tokio::fs::remove_file(path).await?;
        let mut gone = Vec::new();
        for blob in absent {
            // A list of the store may be older than the store.
            let found = if is_ours(&blob) { self.app.blobs.find(&blob).await? } else { None };
            let here = match found {
                Some(found) => self.add(&blob, found.length).await?,
                None => false,
            };
            if !here {
                gone.push(blob);
            }
        }
        for blobs in gone.chunks(AT_ONCE) {
            let lost = self.still_named(part, blobs).await?;
            for blob in blobs {
                self.here.insert(short(blob));
                if lost.contains(blob) {
                    self.said.lost += 1;
                    self.remark(LOST, blob).await?;
                } else {
                    self.said.removed += 1;
                    self.remark(REMOVED, blob).await?;
                }
            }
        }
        Ok(())
    }

    async fn still_named(&self, part: &str, blobs: &[String]) -> Result<HashSet<String>> {
        let databases = contents::databases(&self.app.config);
        let (_, url) =
            databases.iter().find(|(own, _)| *own == part).ok_or_else(|| Error::internal("no database"))?;
        let mut conn = contents::connect(&url.0).await?;
        let mut named = named::still_named(&mut conn, blobs).await?;
        for _ in 1..LOOKS {
            if named.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            named = named::still_named(&mut conn, blobs).await?;
        }
        conn.close().await?;
        Ok(named)
    }

    async fn finish(mut self) -> Result<(Files, Remarks)> {
        self.files.list = BackupPart::from(self.list.finish().await?);
        self.said.list = BackupPart::from(self.remarks.finish().await?);
        Ok((self.files, self.said))
    }
}

/// One of the files that a backup remarks on, a lost one before others.
pub async fn such(app: &App, manifest: &Manifest) -> Result<String> {
    let place = BackupPlace::from_config(&app.config)?;
    let wanted = if manifest.is_whole() { UNLIKE } else { LOST };
    let mut lines = Lines::open(&place, manifest, REMARKS).await?;
    while let Some(line) = lines.next().await? {
        if let (what, blob) = lists::a_remark(&line)?
            && what == wanted
        {
            return Ok(blob.to_owned());
        }
    }
    Ok(String::new())
}

/// Which files the newest backup with this key has, if its list can be read; else an older one's.
async fn earlier(place: &BackupPlace) -> Result<HashMap<Short, WrittenFile>> {
    let own = fingerprint(place.keys.newest());
    for name in place.list()?.into_iter().rev() {
        match Manifest::read(place, &name) {
            Ok(manifest) if manifest.key == own => {
                if let Ok(files) = listed(place, &manifest).await {
                    return Ok(files);
                }
            }
            _ => {}
        }
    }
    Ok(HashMap::new())
}

async fn listed(place: &BackupPlace, manifest: &Manifest) -> Result<HashMap<Short, WrittenFile>> {
    let mut files = HashMap::new();
    let mut lines = Lines::open(place, manifest, lists::FILES).await?;
    while let Some(line) = lines.next().await? {
        let ListedFile { blob, length, hash } = a_file(&line)?;
        files.insert(short(blob), WrittenFile { length, hash });
    }
    lines.check(&manifest.files.list)?;
    Ok(files)
}

struct Kept {
    is: WrittenFile,
    /// No earlier backup had it.
    new: bool,
    /// The store has something else than an earlier backup had.
    unlike: bool,
}

/// A file never changes under its key. So what an earlier backup has stays as it is, also when the store's own was cut off
/// or overwritten since: that must not replace the good one. Nothing when the file is gone.
async fn keep(
    app: &App,
    place: &BackupPlace,
    blob: &str,
    length: u64,
    known: Option<WrittenFile>,
) -> Result<Option<Kept>> {
    let key = place.keys.newest();
    let (path, unfinished) = place.of_file(key, blob);
    let there = tokio::fs::symlink_metadata(&path).await.ok().filter(std::fs::Metadata::is_file);
    let sealed = there.map(|there| there.len());
    if let Some(is) = known.filter(|known| sealed == Some(sealed_length(known.length))) {
        return Ok(Some(Kept { is, new: false, unlike: is.length != length }));
    }
    // Copied by one that came to no end: it is good if it opens.
    if known.is_none() && sealed == Some(sealed_length(length)) {
        let measured = async { SealedReader::open(&path, key, blob).await?.measure().await };
        if let Ok(is) = measured.await {
            return Ok(Some(Kept { is, new: true, unlike: false }));
        }
    }
    if let Some(parent) = path.parent() {
        place::private_folder(parent)?;
    }
    let Some(mut found) = app.blobs.find(blob).await? else { return Ok(None) };
    let mut writer = Writer::create(&unfinished, key, &app.random, blob).await?;
    loop {
        match found.bytes.try_next().await {
            Ok(Some(piece)) => writer.add(&piece).await?,
            Ok(None) => break,
            Err(error) => {
                // It may have been removed while it was read.
                writer.discard().await?;
                return match app.blobs.find(blob).await? {
                    None => Ok(None),
                    Some(_) => Err(error),
                };
            }
        }
    }
    let is = writer.finish().await?;
    place.put_in_place(&unfinished, &path)?;
    Ok(Some(Kept { is, new: true, unlike: known.is_some_and(|known| known != is) }))
}
