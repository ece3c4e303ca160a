//! What a backup says of itself: which version and schema it is of, how many rows each table has and what they hash to, how
//! many files, which keys it needs. Signed with the backup key; anybody can read it, nobody can change it.

use std::collections::BTreeMap;
use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::backups::place::{self, Place};
use crate::backups::sealed_file::{Written, key_named, no_key};
use crate::error::{Error, Result};
use crate::random::Random;
use crate::secrets::hashes::hmac;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::sealed;
use crate::secrets::secret::SecretKey;

/// Counts up when an older program could not read it.
const FORMAT: u32 = 1;
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
    pub databases: Vec<Database>,
    pub files: Files,
    pub erasures: Part,
    /// The backup key that encrypted it.
    pub key: String,
    /// The id of the newest key of ROOKERY_SECRET_KEY, and a value that it sealed: a backup needs the keys of its time.
    pub secret_key: String,
    pub canary: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// `database`, or `directory` when that has one of its own.
    pub name: String,
    /// Roles that have rights in it.
    pub roles: Vec<String>,
    pub dump: Part,
    pub tables: BTreeMap<String, Table>,
}

/// A file of the backup, as it was before it was encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
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
    pub list: Part,
    pub count: u64,
    pub bytes: u64,
    /// Those that no earlier backup had.
    pub new_count: u64,
    pub new_bytes: u64,
}

/// A restore that was tried to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    pub name: String,
    pub at: String,
    pub seconds: f64,
    pub version: String,
}

impl From<Written> for Part {
    fn from(written: Written) -> Self {
        Self { bytes: written.length, sha256: hex(&written.hash) }
    }
}

impl Manifest {
    pub const FORMAT: u32 = FORMAT;

    pub fn write(&self, folder: &Path, keys: &KeyRing) -> Result<()> {
        place::put(&folder.join(MANIFEST), &signed(keys.newest(), self)?)
    }

    /// Reads it, and refuses one that was changed or is of a newer program.
    pub fn read(place: &Place, name: &str) -> Result<Self> {
        let path = place.of_backup(name).join(MANIFEST);
        let shown = path.display();
        let bytes = std::fs::read(&path)
            .map_err(|error| Error::internal(format!("The backup {name} cannot be read ({error}).")))?;
        let unsound =
            || Error::internal(format!("The file {shown} is not as it was written. Take another backup."));
        let manifest: Self = unsigned(&bytes).map(|(manifest, ..)| manifest).ok_or_else(unsound)?;
        let key = key_named(&place.keys, &manifest.key).ok_or_else(|| no_key(&manifest.key))?;
        let manifest: Self = checked(key, &bytes).ok_or_else(unsound)?;
        if manifest.name != name {
            return Err(unsound());
        }
        if manifest.format > FORMAT {
            return Err(Error::internal(format!(
                "The backup {name} was made by rookery {}, which is newer. Use that version or a later one.",
                manifest.version
            )));
        }
        Ok(manifest)
    }

    pub fn key<'k>(&self, keys: &'k KeyRing) -> Result<&'k SecretKey> {
        key_named(keys, &self.key).ok_or_else(|| no_key(&self.key))
    }

    pub fn rows(&self) -> i64 {
        self.databases.iter().flat_map(|one| one.tables.values()).map(|table| table.rows).sum()
    }

    /// Whether the service's keys open what was sealed at its time.
    pub fn check_canary(&self, keys: &KeyRing) -> Result<()> {
        let lost = || {
            Error::internal(format!(
                "This backup needs the key {} in ROOKERY_SECRET_KEY: without it, what its time sealed (DKIM keys, \
                 secrets of webhooks, second factors) cannot be opened. Put that key there.",
                self.secret_key
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
pub fn note_proven(place: &Place, manifest: &Manifest, proven: &Proven) -> Result<()> {
    let key = manifest.key(&place.keys)?;
    place::put(&place.of_backup(&manifest.name).join(PROVEN), &signed(key, proven)?)
}

pub fn proven(place: &Place, manifest: &Manifest) -> Option<Proven> {
    let bytes = std::fs::read(place.of_backup(&manifest.name).join(PROVEN)).ok()?;
    let proven: Proven = checked(manifest.key(&place.keys).ok()?, &bytes)?;
    (proven.name == manifest.name).then_some(proven)
}

/// The JSON in one line, and its signature in the next.
fn signed(key: &SecretKey, what: &impl Serialize) -> Result<Vec<u8>> {
    let body = serde_json::to_string(what)?;
    let mac = hex(mac(key, body.as_bytes()).as_ref());
    Ok(format!("{body}\n{mac}\n").into_bytes())
}

fn unsigned<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, &str, &str)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (body, mac) = text.split_once('\n')?;
    Some((serde_json::from_str(body).ok()?, body, mac.strip_suffix('\n')?))
}

fn checked<T: DeserializeOwned>(key: &SecretKey, bytes: &[u8]) -> Option<T> {
    let (what, body, given) = unsigned(bytes)?;
    let wanted = hex(mac(key, body.as_bytes()).as_ref());
    verify_slices_are_equal(wanted.as_bytes(), given.as_bytes()).ok()?;
    Some(what)
}

fn mac(key: &SecretKey, body: &[u8]) -> aws_lc_rs::hmac::Tag {
    hmac(&key.0, &[b"manifest\0", body])
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
