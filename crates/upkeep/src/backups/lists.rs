//! Lists of a backup, encrypted, line by line: the files that it has with their length and hash, the erasures that it knows
//! of, and what is to be said of files that it has not.

use std::collections::VecDeque;
use std::path::Path;

use crate::backups::manifest::{BackupPart, Manifest};
use crate::backups::place::BackupPlace;
use crate::backups::sealed_file::SealedReader;
use crate::backups::spoilt::spoilt;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::{Sha256, from_hex, hex};
use rookery_base::secrets::secret::SecretKey;

pub const FILES: &str = "files";
pub const ERASED: &str = "erasures";
pub const REMARKS: &str = "remarks";
/// What stands before a name in the list of remarks: a row named a file that was not there; it went with its row while the
/// backup was made; it is not what an earlier backup has of it.
pub const LOST: &str = "lost";
pub const REMOVED: &str = "removed";
pub const UNLIKE: &str = "unlike";

/// A file of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFile<'l> {
    pub blob: &'l str,
    pub length: u64,
    pub hash: [u8; 32],
}

impl ListedFile<'_> {
    pub fn line(&self) -> String {
        format!("{} {} {}\n", self.length, hex(&self.hash), self.blob)
    }
}

/// `1234 9f86d0… ws/wsp_…/…`
pub fn a_file(line: &str) -> Result<ListedFile<'_>> {
    let read = || {
        let (length, rest) = line.split_once(' ')?;
        let (hash, blob) = rest.split_once(' ')?;
        Some(ListedFile { blob, length: length.parse().ok()?, hash: from_hex(hash)? })
    };
    read().filter(|file| is_ours(file.blob)).ok_or_else(|| spoilt("A list of files is not one."))
}

/// `lost ws/wsp_…/…`
pub fn a_remark(line: &str) -> Result<(&str, &str)> {
    line.split_once(' ').ok_or_else(|| spoilt("A list of remarks is not one."))
}

/// Whether it is a name of the blob store, and leads nowhere else.
pub fn is_ours(blob: &str) -> bool {
    let sound = |part: &str| !matches!(part, "" | "." | "..");
    blob.starts_with("ws/")
        && blob.split('/').all(sound)
        && !blob.contains(|c: char| c.is_control() || c == '\\')
}

/// A list, line by line.
pub struct Lines {
    reader: SealedReader,
    name: String,
    lines: VecDeque<String>,
    /// The beginning of a line whose end is in the next part.
    rest: Vec<u8>,
    hash: Sha256,
    length: u64,
    ended: bool,
}

impl Lines {
    pub async fn open(place: &BackupPlace, manifest: &Manifest, list: &str) -> Result<Self> {
        let path = place.of_backup(&manifest.name).join(list);
        Self::at(&path, manifest.key(&place.keys)?, &format!("{}/{list}", manifest.name)).await
    }

    /// One that is not part of a whole backup yet.
    pub async fn at(path: &Path, key: &SecretKey, name: &str) -> Result<Self> {
        let reader = SealedReader::open(path, key, name).await?;
        let (name, hash) = (name.to_owned(), Sha256::new());
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
    pub fn check(self, wanted: &BackupPart) -> Result<()> {
        let whole = BackupPart { bytes: self.length, sha256: hex(&self.hash.finish()) };
        let is_it = self.ended && self.rest.is_empty() && whole == *wanted;
        if is_it { Ok(()) } else { Err(unlike(&self.name)) }
    }
}

pub fn unlike(name: &str) -> Error {
    spoilt(format!("{name} is not what the manifest of its backup says. Take another backup."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_no_file() {
        let file = ListedFile { blob: "ws/wsp_1/2026-11-16/raw/ab", length: 12, hash: [7; 32] };
        assert_eq!(a_file(file.line().trim_end()).unwrap(), file);
        for blob in [
            "ws/../../etc/passwd",
            "/etc/passwd",
            "ws//x",
            "ws/./x",
            "ws/a\\..\\b",
            "ws/a\u{1b}",
            "other/x",
            "ws/",
        ] {
            let line = ListedFile { blob, ..file }.line();
            assert!(a_file(line.trim_end_matches('\n')).is_err(), "{blob:?}");
        }
        assert!(a_file("12 ws/wsp_1/x").is_err() && a_file("x").is_err());
    }
}
