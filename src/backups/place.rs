//! Where backups are: a folder with one folder for each backup, and one for the files that they share, each file once.
//! One process writes there at a time. What is not whole has a name that begins with a dot, and goes at the next beginning.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rustix::fs::syncfs;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::secrets::hashes::hmac;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::secret::SecretKey;

const BACKUPS: &str = "backups";
const FILES: &str = "files";
const LOCK: &str = ".lock";
/// In front of the name of a backup that is not whole.
const UNFINISHED: &str = ".unfinished-";
/// Letters of a file's name here: 160 bits.
const NAME: usize = 40;

pub struct Place {
    folder: PathBuf,
    pub keys: KeyRing,
}

/// Nobody else writes while it is held. It ends with the process.
pub struct Lock {
    _file: File,
}

impl Place {
    pub fn of(config: &Config) -> Result<Self> {
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
        let unusable = |error: std::io::Error| {
            let folder = self.folder.display();
            Error::internal(format!(
                "The folder {folder} cannot be written ({error}). Check ROOKERY_BACKUPS."
            ))
        };
        for part in [BACKUPS, FILES] {
            let part = self.folder.join(part);
            DirBuilder::new().recursive(true).mode(0o700).create(part).map_err(unusable)?;
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
            Err(TryLockError::WouldBlock) => {
                return Err(Error::internal(
                    "Another backup is being made or checked. Try again when it is done.",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        self.remove_unfinished()?;
        Ok(Lock { _file: file })
    }

    fn remove_unfinished(&self) -> Result<()> {
        for entry in fs::read_dir(self.folder.join(BACKUPS))? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        for folder in fs::read_dir(self.folder.join(FILES))? {
            for file in fs::read_dir(folder?.path())? {
                let file = file?;
                if file.file_name().to_string_lossy().starts_with('.') {
                    fs::remove_file(file.path())?;
                }
            }
        }
        Ok(())
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
        Ok(syncfs(File::open(&self.folder)?).map_err(std::io::Error::from)?)
    }

    /// Where a file of the blob store is kept, and where it is written until it is whole. Who has no key learns nothing from
    /// the name.
    pub fn of_file(&self, key: &SecretKey, blob: &str) -> (PathBuf, PathBuf) {
        let name = file_name(key, blob);
        let folder = self.folder.join(FILES).join(&name[..2]);
        (folder.join(&name), folder.join(format!(".{name}")))
    }

    /// The names of all files that backups share, with where they are.
    pub fn files(&self) -> Result<Vec<(String, PathBuf)>> {
        let mut all = Vec::new();
        for folder in fs::read_dir(self.folder.join(FILES))? {
            for file in fs::read_dir(folder?.path())? {
                let file = file?;
                all.push((file.file_name().to_string_lossy().into_owned(), file.path()));
            }
        }
        Ok(all)
    }
}

/// A name by the time, in the order of time.
pub fn new_name(now: DateTime<Utc>) -> String {
    now.format("%Y%m%dT%H%M%S%3fZ").to_string()
}

pub fn file_name(key: &SecretKey, blob: &str) -> String {
    let tag = hmac(&key.0, &[b"backup file\0", blob.as_bytes()]);
    let bytes: &[u8] = tag.as_ref();
    bytes.iter().take(NAME / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// Also for who has no key, and only wants to know how old the newest is.
pub fn list(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder.join(BACKUPS)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Writes a small file so that it is there whole or not at all.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unfinished = path.with_file_name(format!(".{name}"));
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    Ok(fs::rename(unfinished, path)?)
}
