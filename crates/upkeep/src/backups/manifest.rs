//! What a backup says of itself: which version and schema it is of, how many rows each table has and what they hash to, how
//! many files, which keys it needs, and what was missing. Signed with the backup key; anybody can read it, nobody can
//! change it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::backups::keys;
use crate::backups::place::{self, BackupPlace};
use crate::backups::sealed_file::WrittenFile;
use crate::backups::spoilt::spoilt;
use rookery_base::error::{Error, Result};
use rookery_base::random::Random;
use rookery_base::secrets::hashes::{hex, hmac, sha256};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed;
use rookery_base::secrets::secret::SecretKey;

/// Counts up when an older program could not read it.
const FORMAT: u32 = 2;
/// A manifest has a few hundred bytes for each table. What is larger is none.
const LARGEST: u64 = 16 << 20;
const MANIFEST: &str = "manifest";
const PROVEN: &str = "proven";
/// What the canary is sealed for.
const PURPOSE: &str = "backup";
const CANARY: &[u8] = b"the key of this backup's time opens this";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: u32,
    pub name: String,
    pub created_at: String,
    pub seconds: f64,
    /// Of the program.
    pub version: String,
    /// The newest migration.
    pub schema: i64,
    /// PostgreSQL's, as a number.
    pub server: i32,
    /// The version of `pg_dump`: an older `pg_restore` cannot read it.
    pub dumped_by: u32,
    pub databases: Vec<Database>,
    pub files: Files,
    pub remarks: Remarks,
    pub erasures: BackupPart,
    /// The fingerprint of the backup key that encrypted it, and what the operator called it.
    pub key: String,
    pub key_name: String,
    /// The newest key of ROOKERY_SECRET_KEY by name and fingerprint, and a value that it sealed: a backup needs the keys of
    /// its time.
    pub secret_key: String,
    pub secret_key_fingerprint: String,
    pub canary: String,
}

/// What is read before anything is believed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    format: u32,
    version: String,
    key: String,
    #[serde(default)]
    key_name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// `database`, or `directory` when that has one of its own.
    pub name: String,
    /// Roles that have rights in it.
    pub roles: Vec<String>,
    pub dump: BackupPart,
    pub tables: BTreeMap<String, Table>,
}

/// A file of the backup, as it was before it was encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupPart {
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub rows: i64,
    /// The sum of its rows' hashes, in whatever order they stand.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Files {
    /// The list of them.
    pub list: BackupPart,
    pub count: u64,
    pub bytes: u64,
    /// Those that no earlier backup had.
    pub new_count: u64,
    pub new_bytes: u64,
}

/// Files that are not as they should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remarks {
    /// The list of them.
    pub list: BackupPart,
    /// Rows name them, and the blob store did not have them.
    pub lost: u64,
    /// They went with their rows while the backup was made.
    pub removed: u64,
    /// The blob store has something else than an earlier backup.
    pub unlike: u64,
}

/// A restore that was tried to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    pub name: String,
    /// What the manifest hashes to: it is this very one that was proven.
    pub manifest: String,
    pub at: String,
    pub seconds: f64,
    pub version: String,
}

impl From<WrittenFile> for BackupPart {
    fn from(written: WrittenFile) -> Self {
        Self { bytes: written.length, sha256: hex(&written.hash) }
    }
}

impl Manifest {
    pub const FORMAT: u32 = FORMAT;

    pub fn write(&self, folder: &Path, key: &SecretKey) -> Result<()> {
        place::put(&folder.join(MANIFEST), &signed(key, MANIFEST, self)?)
    }

    /// Reads it, and refuses one that was changed, is cut off, or is of another version or key.
    pub fn read(place: &BackupPlace, name: &str) -> Result<Self> {
        let path = place.of_backup(name).join(MANIFEST);
        let shown = path.display();
        let unsound = || spoilt(format!("The file {shown} is not as it was written. Take another backup."));
        let bytes = bytes_of(&path)
            .map_err(|error| Error::internal(format!("The backup {name} cannot be read ({error}).")))?;
        let head = head(&bytes).ok_or_else(unsound)?;
        if head.format != FORMAT {
            let which = if head.format > FORMAT { "newer" } else { "before backups had their present form" };
            return Err(Error::internal(format!(
                "The backup {name} was made by rookery {}, which is {which}. Use that version.",
                head.version
            )));
        }
        let key = keys::find(&place.keys, &head.key)
            .ok_or_else(|| keys::missing(&place.keys, &head.key, &head.key_name))?;
        let manifest: Self = checked(key, MANIFEST, &bytes).ok_or_else(unsound)?;
        let names: Vec<&str> = manifest.databases.iter().map(|one| one.name.as_str()).collect();
        if manifest.name != name || !matches!(names[..], ["database"] | ["database", "directory"]) {
            return Err(unsound());
        }
        Ok(manifest)
    }

    /// Whether it names a key that is not here; what else it says is not believed.
    pub fn lacks_its_key(place: &BackupPlace, name: &str) -> bool {
        let bytes = bytes_of(&place.of_backup(name).join(MANIFEST)).unwrap_or_default();
        head(&bytes).is_some_and(|head| head.format == FORMAT && keys::find(&place.keys, &head.key).is_none())
    }

    pub fn key<'k>(&self, keys: &'k KeyRing) -> Result<&'k SecretKey> {
        keys::find(keys, &self.key).ok_or_else(|| keys::missing(keys, &self.key, &self.key_name))
    }

    /// Whether it has every file that its rows name.
    pub fn is_whole(&self) -> bool {
        self.remarks.lost == 0
    }

    pub fn rows(&self) -> i64 {
        self.databases.iter().flat_map(|one| one.tables.values()).map(|table| table.rows).sum()
    }

    /// Whether the service's keys open what was sealed at its time.
    pub fn check_canary(&self, keys: &KeyRing) -> Result<()> {
        let lost = || {
            Error::internal(format!(
                "This backup needs the key {} (its fingerprint is {}) in ROOKERY_SECRET_KEY: without it, what its time \
                 sealed (DKIM keys, secrets of webhooks, second factors) cannot be opened. Put that key there.",
                self.secret_key, self.secret_key_fingerprint
            ))
        };
        let sealed = STANDARD.decode(&self.canary).map_err(|_| lost())?;
        match sealed::opened_by(keys, PURPOSE, &self.name, &sealed)? {
            Some((_, opened)) if opened == CANARY => Ok(()),
            _ => Err(lost()),
        }
    }
}

pub fn canary(keys: &KeyRing, random: &Random, name: &str) -> Result<String> {
    Ok(STANDARD.encode(sealed::seal(keys, random, PURPOSE, name, CANARY)?))
}

/// Notes beside a backup that it was restored whole.
pub fn note_proven(place: &BackupPlace, manifest: &Manifest, at: String, seconds: f64) -> Result<Proven> {
    let folder = place.of_backup(&manifest.name);
    let proven = Proven {
        name: manifest.name.clone(),
        manifest: hex(&sha256(bytes_of(&folder.join(MANIFEST))?)),
        at,
        seconds,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    place::put(&folder.join(PROVEN), &signed(manifest.key(&place.keys)?, PROVEN, &proven)?)?;
    Ok(proven)
}

/// Takes it back: something of it is not as it was.
pub fn unprove(place: &BackupPlace, name: &str) -> Result<()> {
    match std::fs::remove_file(place.of_backup(name).join(PROVEN)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Only of a whole one, and only of this very manifest.
pub fn proven(place: &BackupPlace, manifest: &Manifest) -> Option<Proven> {
    let folder = place.of_backup(&manifest.name);
    let bytes = bytes_of(&folder.join(PROVEN)).ok()?;
    let proven: Proven = checked(manifest.key(&place.keys).ok()?, PROVEN, &bytes)?;
    let its = hex(&sha256(bytes_of(&folder.join(MANIFEST)).ok()?));
    (manifest.is_whole() && proven.name == manifest.name && proven.manifest == its).then_some(proven)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if place::is_file(path)? {
        File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    }
    if bytes.is_empty() || bytes.len() as u64 > LARGEST {
        return Err(spoilt(format!("{} is no file of a backup", path.display())));
    }
    Ok(bytes)
}

/// The JSON in one line, and its signature in the next.
fn signed(key: &SecretKey, kind: &str, what: &impl Serialize) -> Result<Vec<u8>> {
    let body = serde_json::to_string(what)?;
    let mac = hex(mac(key, kind, body.as_bytes()).as_ref());
    Ok(format!("{body}\n{mac}\n").into_bytes())
}

fn apart(bytes: &[u8]) -> Option<(&str, &str)> {
    let (body, mac) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    Some((body, mac.strip_suffix('\n')?))
}

fn head(bytes: &[u8]) -> Option<Head> {
    serde_json::from_str(apart(bytes)?.0).ok()
}

fn checked<T: DeserializeOwned>(key: &SecretKey, kind: &str, bytes: &[u8]) -> Option<T> {
    let (body, given) = apart(bytes)?;
    let wanted = hex(mac(key, kind, body.as_bytes()).as_ref());
    verify_slices_are_equal(wanted.as_bytes(), given.as_bytes()).ok()?;
    serde_json::from_str(body).ok()
}

/// Of all of it, and of what kind it is: a proof is no manifest.
fn mac(key: &SecretKey, kind: &str, body: &[u8]) -> aws_lc_rs::hmac::Tag {
    hmac(&key.0, &[kind.as_bytes(), b"\0", body])
}
