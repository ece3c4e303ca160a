//! The files of office are ZIP archives: which parts one has, and one of them unpacked, up to a size. Nothing but the
//! central directory is believed, and only as far as it points into the file.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::DeflateDecoder;

const MOST_PARTS: usize = 5_000;
const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePart {
    pub name: String,
    method: u16,
    packed: usize,
    local: usize,
}

/// Nothing when it is no archive.
pub fn parts(bytes: &[u8]) -> Option<Vec<ArchivePart>> {
    if !bytes.starts_with(LOCAL) {
        return None;
    }
    // The end of the directory is within the last 64 KB, before a comment.
    let from = bytes.len().saturating_sub(66_000);
    let end = from + bytes[from..].windows(4).rposition(|window| window == END)?;
    let count = number2(bytes, end + 10)?;
    let mut at = number4(bytes, end + 16)?;
    // One archive and not two: everything is where this end says that it is.
    if end + 22 + number2(bytes, end + 20)? != bytes.len() || at + number4(bytes, end + 12)? != end {
        return None;
    }
    let (mut parts, mut names) = (Vec::new(), HashSet::new());
    if count > MOST_PARTS {
        return None;
    }
    for _ in 0..count {
        if bytes.get(at..at + 4)? != ENTRY {
            return None;
        }
        let (name, extra, comment) =
            (number2(bytes, at + 28)?, number2(bytes, at + 30)?, number2(bytes, at + 32)?);
        let written = bytes.get(at + 46..at + 46 + name)?;
        let name_of_part = String::from_utf8_lossy(written).into_owned();
        // Two parts of one name are read as one by some and as the other by others; letter case does not tell names apart.
        if !names.insert(name_of_part.to_lowercase()) {
            return None;
        }
        parts.push(ArchivePart {
            name: name_of_part,
            method: number2(bytes, at + 10)? as u16,
            packed: number4(bytes, at + 20)?,
            local: number4(bytes, at + 42)?,
        });
        at = at.checked_add(46 + name + extra + comment)?;
    }
    if at != end {
        return None;
    }
    Some(parts)
}

/// A part unpacked, up to so many bytes.
pub fn unpack(bytes: &[u8], part: &ArchivePart, most: usize) -> Option<Vec<u8>> {
    if bytes.get(part.local..part.local.checked_add(4)?)? != LOCAL {
        return None;
    }
    let (name, extra) = (number2(bytes, part.local + 26)?, number2(bytes, part.local + 28)?);
    let start = part.local + 30 + name + extra;
    let packed = bytes.get(start..start.checked_add(part.packed)?)?;
    let mut plain = Vec::new();
    match part.method {
        0 => plain.extend_from_slice(&packed[..packed.len().min(most)]),
        8 => {
            // What could be unpacked before an error is good enough to be read.
            let _ = DeflateDecoder::new(packed).take(most as u64).read_to_end(&mut plain);
        }
        _ => return None,
    }
    Some(plain)
}

fn number2(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(usize::from(u16::from_le_bytes(two.try_into().ok()?)))
}

fn number4(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(four.try_into().ok()?)).ok()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An archive of plain parts, as small as can be.
    pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, text) in files {
            let local = bytes.len() as u32;
            let sizes = [text.len() as u32, text.len() as u32];
            bytes.extend_from_slice(LOCAL);
            bytes.extend_from_slice(&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            sizes.iter().for_each(|size| bytes.extend_from_slice(&size.to_le_bytes()));
            bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(text.as_bytes());
            directory.extend_from_slice(ENTRY);
            directory.extend_from_slice(&[20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            sizes.iter().for_each(|size| directory.extend_from_slice(&size.to_le_bytes()));
            directory.extend_from_slice(&(name.len() as u16).to_le_bytes());
            directory.extend_from_slice(&[0; 12]);
            directory.extend_from_slice(&local.to_le_bytes());
            directory.extend_from_slice(name.as_bytes());
        }
        let (start, count) = (bytes.len() as u32, files.len() as u16);
        bytes.extend_from_slice(&directory);
        bytes.extend_from_slice(END);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&start.to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes
    }

    #[test]
    fn parts_are_listed_and_unpacked() {
        let bytes = archive(&[("a.xml", "<a/>"), ("b/c.bin", "xyz")]);
        let parts = parts(&bytes).unwrap();
        assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["a.xml", "b/c.bin"]);
        assert_eq!(unpack(&bytes, &parts[1], 100).unwrap(), b"xyz");
        assert_eq!(unpack(&bytes, &parts[1], 2).unwrap(), b"xy");
    }

    #[test]
    fn a_name_that_comes_twice_is_no_archive() {
        let types = "[Content_Types].xml";
        assert!(parts(&archive(&[(types, "<Types/>"), ("word/document.xml", "")])).is_some());
        for twice in [types, "[content_types].XML"] {
            assert_eq!(parts(&archive(&[(types, "<Types/>"), ("word/document.xml", ""), (twice, "")])), None);
        }
    }

    #[test]
    fn a_directory_that_points_elsewhere_is_none() {
        let whole = archive(&[("a.xml", "<a/>")]);
        for cut in 0..whole.len() {
            if let Some(parts) = parts(&whole[..cut]) {
                parts.iter().for_each(|part| drop(unpack(&whole[..cut], part, 100)));
            }
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            if let Some(parts) = parts(&bytes) {
                parts.iter().for_each(|part| drop(unpack(&bytes, part, 100)));
            }
        }
        assert_eq!(parts(b"PK"), None);
    }
}
