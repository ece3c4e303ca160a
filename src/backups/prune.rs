//! Taking old backups away: all but the newest so many, and never the newest that was proven. Then files that no backup
//! names any more go. What was erased is gone from backups when the last one from before the erasure has gone.

use std::collections::HashSet;

use crate::app::App;
use crate::backups::manifest::{self, Manifest};
use crate::backups::place::{Place, file_name};
use crate::backups::restore::{Lines, a_file};
use crate::error::Result;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub backups: usize,
    pub files: usize,
}

pub async fn prune(app: &App, keep: usize) -> Result<Pruned> {
    let place = Place::of(&app.config)?;
    let _lock = place.lock()?;
    let names = place.list()?;
    let old = &names[..names.len().saturating_sub(keep.max(1))];
    let is_proven = |name: &String| {
        Manifest::read(&place, name).is_ok_and(|manifest| manifest::proven(&place, &manifest).is_some())
    };
    let newest_proven = names.iter().rev().find(|name| is_proven(name));
    let mut pruned = Pruned::default();
    for name in old.iter().filter(|name| Some(*name) != newest_proven) {
        place.remove(name)?;
        pruned.backups += 1;
    }
    if pruned.backups == 0 {
        return Ok(pruned);
    }
    // One whose list cannot be read stops this here: its files are not known.
    let mut named = HashSet::new();
    for name in place.list()? {
        let manifest = Manifest::read(&place, &name)?;
        let key = manifest.key(&place.keys)?;
        let mut lines = Lines::open(&place, &manifest, "files").await?;
        while let Some(line) = lines.next().await? {
            named.insert(file_name(key, a_file(&line)?.1));
        }
        lines.check(&manifest.files.list)?;
    }
    for (name, path) in place.files()? {
        if !named.contains(&name) {
            std::fs::remove_file(path)?;
            pruned.files += 1;
        }
    }
    Ok(pruned)
}
