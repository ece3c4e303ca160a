//! Taking old backups away: all but the newest so many. Those that are whole and those that are not are counted apart, so
//! that no number of bad ones pushes a good one out; the newest that was proven never goes, nor does what cannot be read.
//! Then files that no backup names any more go. What was erased is gone when the last backup from before has gone.

use std::collections::HashSet;

use crate::backups::lists::{FILES, Lines, a_file};
use crate::backups::manifest::{self, Manifest};
use crate::backups::place::{BackupPlace, file_name};
use rookery_base::app::App;
use rookery_base::error::Result;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub backups: usize,
    pub files: usize,
    /// Backups that cannot be read, with why. They stay, and so do all files, because theirs are not known.
    pub unread: Vec<String>,
}

pub async fn prune(app: &App, keep: usize) -> Result<Pruned> {
    let place = BackupPlace::from_config(&app.config)?;
    let _lock = place.lock()?;
    let mut pruned = Pruned::default();
    let (mut whole, mut others, mut proven) = (0, 0, false);
    for name in place.list()?.into_iter().rev() {
        let manifest = match Manifest::read(&place, &name) {
            Ok(manifest) => manifest,
            Err(error) => {
                pruned.unread.push(format!("{name}: {error}"));
                continue;
            }
        };
        let of_its_kind = if manifest.is_whole() { &mut whole } else { &mut others };
        *of_its_kind += 1;
        let is_newest_proven = !proven && manifest::proven(&place, &manifest).is_some();
        proven |= is_newest_proven;
        if *of_its_kind > keep.max(1) && !is_newest_proven {
            place.remove(&name)?;
            pruned.backups += 1;
        }
    }
    if pruned.unread.is_empty() {
        pruned.files = remove_files(&place).await?;
    }
    Ok(pruned)
}

/// Files that no backup names. One whose list cannot be read stops this: its files are not known.
async fn remove_files(place: &BackupPlace) -> Result<usize> {
    let mut named = HashSet::new();
    for name in place.list()? {
        let manifest = Manifest::read(place, &name)?;
        let key = manifest.key(&place.keys)?;
        let mut lines = Lines::open(place, &manifest, FILES).await?;
        while let Some(line) = lines.next().await? {
            named.insert(file_name(key, a_file(&line)?.blob));
        }
        lines.check(&manifest.files.list)?;
    }
    let mut removed = 0;
    for (name, path) in place.files()? {
        if !named.contains(&name) {
            std::fs::remove_file(path)?;
            removed += 1;
        }
    }
    Ok(removed)
}
