//! Where backups are: a folder with one folder for each backup, and one for the files that they share, each file once.
//! One process writes there at a time. What is not whole has a name that begins with a dot, and goes at the next beginning.
//! What has no name of ours, or is a link, is left alone: nothing of it is read, and nothing behind it removed.

use std::fs::{self, DirBuilder, DirEntry, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use rustix::fs::syncfs;

use crate::backups::spoilt::is_full;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::{hex, hmac};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::secret::SecretKey;

const BACKUPS: &str = "backups";
const FILES: &str = "files";
const LOCK: &str = ".lock";
/// In front of the name of a backup that is not whole.
const UNFINISHED: &str = ".unfinished-";
/// Behind the name of a file that `verify` found changed: the next backup copies it anew.
const DAMAGED: &str = ".damaged";
/// Letters of a file's name here: 160 bits.
const NAME: usize = 40;
/// How a backup is named.
const FORM: &str = "%Y%m%dT%H%M%S%3fZ";

pub struct BackupPlace {
    folder: PathBuf,
    pub keys: KeyRing,
}

/// Nobody else writes while it is held. It ends with the process.
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Closing is not enough: a child that was just forked has the file too, until it becomes another program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl BackupPlace {
    pub fn from_config(config: &Config) -> Result<Self> {
        let folder = config.backups.clone().ok_or_else(|| {
            Error::internal(
                "ROOKERY_BACKUPS is missing: the folder that backups go to, such as /var/backups/rookery.",
            )
        })?;
        let keys = config.backup_key.clone().ok_or_else(|| {
            Error::internal(
                "ROOKERY_BACKUP_KEY is missing. Make one with: openssl rand -base64 32 — and keep a copy of it \
                 elsewhere: without it no backup can be read.",
            )
        })?;
        Ok(Self { folder, keys })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder and takes it for writing. What somebody left unfinished is removed.
    pub fn lock(&self) -> Result<Lock> {
        let unusable = |error: io::Error| {
            let folder = self.folder.display();
            Error::internal(format!(
                "The folder {folder} cannot be written ({error}). Check ROOKERY_BACKUPS."
            ))
        };
        for part in [BACKUPS, FILES] {
            private_folder(&self.folder.join(part)).map_err(unusable)?;
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.folder.join(LOCK))
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        self.remove_unfinished()?;
        Ok(Lock { file })
    }

    /// Holds off who would write, and writes nothing itself: what a restore reads may be on a disk that cannot be written.
    pub fn lock_to_read(&self) -> Result<Option<Lock>> {
        let Ok(file) = File::open(self.folder.join(LOCK)) else { return Ok(None) };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Lock { file })),
            Err(TryLockError::WouldBlock) => Err(busy()),
            // Some disks know no locks.
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    fn remove_unfinished(&self) -> Result<()> {
        for entry in fs::read_dir(self.folder.join(BACKUPS))? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        for (name, path) in self.shared()? {
            if name.strip_prefix('.').is_some_and(is_hex::<NAME>) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Everything in the folders of shared files.
    fn shared(&self) -> Result<Vec<(String, PathBuf)>> {
        let mut all = Vec::new();
        for folder in fs::read_dir(self.folder.join(FILES))? {
            let folder = folder?;
            if !is_ours(&folder, fs::FileType::is_dir, is_hex::<2>) {
                continue;
            }
            for file in fs::read_dir(folder.path())? {
                let file = file?;
                if !file.file_type()?.is_dir() {
                    all.push((file.file_name().to_string_lossy().into_owned(), file.path()));
                }
            }
        }
        Ok(all)
    }

    /// The names of the backups that are whole, the oldest first.
    pub fn list(&self) -> Result<Vec<String>> {
        list(&self.folder)
    }

    /// The one that was named, or the newest.
    pub fn choose(&self, name: Option<&str>) -> Result<String> {
        let mut all = self.list()?;
        match name {
            Some(name) if all.iter().any(|own| own == name) => Ok(name.to_owned()),
            Some(name) => {
                let newest = all.pop().unwrap_or_else(|| "none".to_owned());
                Err(Error::internal(format!("There is no backup {name}. The newest is {newest}.")))
            }
            None => all.pop().ok_or_else(|| {
                let folder = self.folder.display();
                Error::internal(format!("There is no backup in {folder}. Make one: rookery backup create"))
            }),
        }
    }

    pub fn of_backup(&self, name: &str) -> PathBuf {
        self.folder.join(BACKUPS).join(name)
    }

    /// Where a backup is written until it is whole.
    pub fn begin(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(BACKUPS).join(format!("{UNFINISHED}{name}"));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// Takes away what was written of one that will not be whole.
    pub fn abandon(&self, name: &str) {
        // What stays goes at the next beginning.
        let _ = fs::remove_dir_all(self.folder.join(BACKUPS).join(format!("{UNFINISHED}{name}")));
        let _ = self.remove_unfinished();
    }

    /// What to do about a full disk.
    pub fn explained(&self, error: Error) -> Error {
        if !is_full(&error) {
            return error;
        }
        let folder = self.folder.display();
        Error::internal(format!(
            "There is no room left in {folder} ({error}). Nothing half is left, and earlier backups are as they \
             were. Make room there, or keep fewer: rookery backup prune --keep 7"
        ))
    }

    /// From now on it is there. Everything it names is on the disk before.
    pub fn finish(&self, name: &str) -> Result<()> {
        self.sync()?;
        let unfinished = self.folder.join(BACKUPS).join(format!("{UNFINISHED}{name}"));
        fs::rename(unfinished, self.of_backup(name))?;
        self.sync()
    }

    /// It is not there any more; its bytes go after.
    pub fn remove(&self, name: &str) -> Result<()> {
        let ending = self.folder.join(BACKUPS).join(format!("{UNFINISHED}{name}"));
        fs::rename(self.of_backup(name), &ending)?;
        Ok(fs::remove_dir_all(ending)?)
    }

    fn sync(&self) -> Result<()> {
        Ok(syncfs(File::open(&self.folder)?).map_err(io::Error::from)?)
    }

    /// Where a file of the blob store is kept, and where it is written until it is whole. Who has no key learns nothing from
    /// the name.
    pub fn of_file(&self, key: &SecretKey, blob: &str) -> (PathBuf, PathBuf) {
        let name = file_name(key, blob);
        let folder = self.folder.join(FILES).join(&name[..2]);
        (folder.join(&name), folder.join(format!(".{name}")))
    }

    /// The names of all files that backups share, with where they are; also of those that were set aside.
    pub fn files(&self) -> Result<Vec<(String, PathBuf)>> {
        let ours = self.shared()?.into_iter().filter_map(|(name, path)| {
            let name = name.strip_suffix(DAMAGED).unwrap_or(&name);
            is_hex::<NAME>(name).then(|| (name.to_owned(), path))
        });
        Ok(ours.collect())
    }

    /// Puts a file aside that is not as it was written, so that nobody takes it for sound.
    pub fn set_aside(&self, key: &SecretKey, blob: &str) -> Result<()> {
        let path = self.of_file(key, blob).0;
        match fs::rename(&path, with_suffix(&path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// A file that is written is there from now on, and what was set aside for it can go.
    pub fn put_in_place(&self, unfinished: &Path, path: &Path) -> Result<()> {
        fs::rename(unfinished, path)?;
        match fs::remove_file(with_suffix(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn busy() -> Error {
    Error::internal("Another backup is being made, checked or restored. Try again when it is done.")
}

fn with_suffix(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(DAMAGED);
    path.with_file_name(name)
}

fn is_hex<const LENGTH: usize>(name: &str) -> bool {
    name.len() == LENGTH && name.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'))
}

/// A link is neither a folder nor a file.
fn is_ours(entry: &DirEntry, kind: fn(&fs::FileType) -> bool, name: fn(&str) -> bool) -> bool {
    entry.file_type().is_ok_and(|found| kind(&found)) && entry.file_name().to_str().is_some_and(name)
}

pub fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A file, and no link to one.
pub fn is_file(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.is_file())
}

/// A name by the time, in the order of time. A clock that went back makes no backup that is older than those before it: such
/// a one would be the first to go.
pub fn new_name(now: DateTime<Utc>, newest: Option<&str>) -> String {
    let after = newest.and_then(time_of).map(|newest| newest + TimeDelta::milliseconds(1));
    after.map_or(now, |after| after.max(now)).format(FORM).to_string()
}

/// When a backup was made by its name; nothing if it is not the name of one.
fn time_of(name: &str) -> Option<DateTime<Utc>> {
    let time = NaiveDateTime::parse_from_str(name, FORM).ok()?.and_utc();
    (time.format(FORM).to_string() == name).then_some(time)
}

pub fn file_name(key: &SecretKey, blob: &str) -> String {
    let tag = hmac(&key.0, &[b"backup file\0", blob.as_bytes()]);
    let bytes: &[u8] = tag.as_ref();
    hex(&bytes[..NAME / 2])
}

/// Also for who has no key, and only wants to know how old the newest is.
pub fn list(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder.join(BACKUPS)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if is_ours(&entry, fs::FileType::is_dir, |name| time_of(name).is_some()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Writes a small file so that it is there whole or not at all.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unfinished = path.with_file_name(format!(".{name}"));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    Ok(fs::rename(unfinished, path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_base::secrets::secret::SecretKey;

    #[test]
    fn names_rise_whatever_the_clock_does() {
        let now: DateTime<Utc> = "2026-11-16T02:30:00.123Z".parse().unwrap();
        assert_eq!(new_name(now, None), "20261116T023000123Z");
        assert_eq!(new_name(now, Some("20251116T023000123Z")), "20261116T023000123Z");
        assert_eq!(new_name(now, Some("20261116T023000123Z")), "20261116T023000124Z");
        assert_eq!(new_name(now, Some("20990101T000000999Z")), "20990101T000001000Z");
        for other in ["lost+found", "20261116T023000123Z.old", "20261316T023000123Z", "", "zzz"] {
            assert!(time_of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_folder_is_free_as_soon_as_its_holder_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let place = BackupPlace { folder: folder.path().to_owned(), keys: KeyRing::from(SecretKey([1; 32])) };
        let held = place.lock().unwrap();
        assert!(place.lock().is_err() && place.lock_to_read().is_err(), "somebody writes");
        // As a child has it that was forked just now.
        let copied = held.file.try_clone().unwrap();
        drop(held);
        drop(place.lock().unwrap());
        drop(copied);
    }
}
