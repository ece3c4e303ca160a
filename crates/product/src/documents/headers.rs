//! What a file from outside is, by its bytes and never by its name: one of the decided kinds, or refused with a reason
//! (D164, D165). Only headers and names of parts are looked at here, so there is nothing to unpack and nothing to break;
//! the rest is looked at in a confined child (`checks`).

use rookery_reading::check::{FileKind, Why};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderVerdict {
    Fine { kind: FileKind },
    Refused(Why),
}

const MOST_PIXELS: u64 = 100_000_000;
/// Text of which so much is looked at decides whether it is text.
const HTML_HEAD: usize = 1024;

/// What a whole file is.
pub fn inspect(file: &[u8]) -> HeaderVerdict {
    let fine = |kind| HeaderVerdict::Fine { kind };
    let pixels = |kind, size: Option<(u64, u64)>| match size {
        Some((width, height)) if width.saturating_mul(height) > MOST_PIXELS => {
            HeaderVerdict::Refused(Why::TooManyPixels)
        }
        _ => fine(kind),
    };
    match file {
        [] => HeaderVerdict::Refused(Why::Empty),
        _ if file.starts_with(b"%PDF-") => {
            if contains(file, b"/Encrypt") {
                HeaderVerdict::Refused(Why::Encrypted)
            } else {
                fine(FileKind::Pdf)
            }
        }
        _ if file.starts_with(&[0xff, 0xd8, 0xff]) => pixels(FileKind::Jpeg, jpeg_size(file)),
        _ if file.starts_with(b"\x89PNG\r\n\x1a\n") => pixels(FileKind::Png, png_size(file)),
        _ if file.starts_with(b"RIFF") && file.get(8..12) == Some(b"WEBP") => {
            pixels(FileKind::Webp, webp_size(file))
        }
        _ if file.starts_with(b"II*\0") || file.starts_with(b"MM\0*") => fine(FileKind::Tiff),
        _ if file.get(4..8) == Some(b"ftyp") => match file.get(8..12) {
            Some(b"heic" | b"heix" | b"hevc" | b"hevx" | b"heim" | b"heis" | b"mif1" | b"msf1") => {
                fine(FileKind::Heic)
            }
            _ => HeaderVerdict::Refused(Why::NotAllowed),
        },
        _ if file.starts_with(b"PK\x03\x04") => office(file),
        _ if file.get(257..262) == Some(b"ustar") => HeaderVerdict::Refused(Why::NotAllowed),
        _ => text(file),
    }
}

/// An office file is a ZIP, told by the names of its parts: they stand unpacked before each part and again at the end.
fn office(file: &[u8]) -> HeaderVerdict {
    let has = |name: &[u8]| contains(file, name);
    let of = |kind: &[u8]| {
        // The first part of an OpenDocument file is its type, as it is.
        file.get(30..38) == Some(b"mimetype")
            && file
                .get(38..)
                .is_some_and(|rest| rest.starts_with(kind) && !rest[kind.len()..].starts_with(b"-"))
    };
    let kind = if of(b"application/vnd.oasis.opendocument.text") {
        FileKind::Odt
    } else if of(b"application/vnd.oasis.opendocument.spreadsheet") {
        FileKind::Ods
    } else if has(b"[Content_Types].xml") && has(b"word/document.xml") {
        FileKind::Docx
    } else if has(b"[Content_Types].xml") && has(b"xl/workbook.xml") {
        FileKind::Xlsx
    } else {
        return HeaderVerdict::Refused(Why::NotAllowed);
    };
    let has_program = has(b"vbaProject.bin") || has(b"macrosheets/") || has(b"Basic/") || has(b"Scripts/");
    if has_program { HeaderVerdict::Refused(Why::Macros) } else { HeaderVerdict::Fine { kind } }
}

/// Text is what can be read as such, and no page or picture that a browser would run.
fn text(file: &[u8]) -> HeaderVerdict {
    let words = match file {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return wide_text(file),
        all => all,
    };
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    if words.iter().any(is_control) {
        return HeaderVerdict::Refused(Why::NotAllowed);
    }
    // What is not UTF-8 is an older code page, when it is mostly letters.
    let odd = words.iter().filter(|byte| **byte >= 0x80).count();
    if std::str::from_utf8(words).is_err() && odd * 4 > words.len() {
        return HeaderVerdict::Refused(Why::NotAllowed);
    }
    plain(&String::from_utf8_lossy(&words[..words.len().min(HTML_HEAD)]))
}

fn wide_text(file: &[u8]) -> HeaderVerdict {
    let little = file[0] == 0xff;
    let units = file[2..].chunks_exact(2).map(|pair| {
        if little { u16::from_le_bytes([pair[0], pair[1]]) } else { u16::from_be_bytes([pair[0], pair[1]]) }
    });
    let read: Result<String, _> = char::decode_utf16(units).collect();
    match read {
        Ok(words) if !words.contains('\0') => plain(&words.chars().take(HTML_HEAD).collect::<String>()),
        _ => HeaderVerdict::Refused(Why::NotAllowed),
    }
}

fn plain(head: &str) -> HeaderVerdict {
    let head = head.trim_start().to_ascii_lowercase();
    let runs =
        ["<!doctype", "<html", "<head", "<body", "<svg", "<?xml", "<script", "<iframe", "<!--", "#!", "%!ps"];
    if runs.iter().any(|start| head.starts_with(start)) || head.contains("<script") || head.contains("<svg") {
        return HeaderVerdict::Refused(Why::NotAllowed);
    }
    HeaderVerdict::Fine { kind: if is_table(&head) { FileKind::Csv } else { FileKind::Txt } }
}

/// The first two lines have as many of the same separator.
fn is_table(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    let same = |separator: char| {
        let many = |line: &str| line.matches(separator).count();
        many(first) > 0 && many(first) == many(second)
    };
    [',', ';', '\t'].into_iter().any(same)
}

fn contains(file: &[u8], words: &[u8]) -> bool {
    let mut rest = file;
    while let Some(at) = rest.iter().position(|byte| *byte == words[0]) {
        rest = &rest[at..];
        if rest.starts_with(words) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

fn number(file: &[u8], at: usize, bytes: usize) -> Option<u64> {
    Some(file.get(at..at + bytes)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

fn png_size(file: &[u8]) -> Option<(u64, u64)> {
    Some((number(file, 16, 4)?, number(file, 20, 4)?))
}

/// The frame's header comes after segments that each tell their length.
fn jpeg_size(file: &[u8]) -> Option<(u64, u64)> {
    let mut at = 2;
    loop {
        while *file.get(at)? == 0xff && *file.get(at + 1)? == 0xff {
            at += 1;
        }
        let marker = *file.get(at + 1).filter(|_| file[at] == 0xff)?;
        let is_frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            return Some((number(file, at + 7, 2)?, number(file, at + 5, 2)?));
        }
        at += 2 + usize::try_from(number(file, at + 2, 2)?).ok()?.max(2);
    }
}

fn webp_size(file: &[u8]) -> Option<(u64, u64)> {
    let little = |at: usize, bytes: usize| -> Option<u64> {
        Some(file.get(at..at + bytes)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    match file.get(12..16)? {
        b"VP8X" => Some((little(24, 3)? + 1, little(27, 3)? + 1)),
        b"VP8 " => Some((little(26, 2)? & 0x3fff, little(28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = little(21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine(kind: FileKind) -> HeaderVerdict {
        HeaderVerdict::Fine { kind }
    }

    /// A ZIP's first part, unpacked.
    fn part(name: &str, content: &str) -> Vec<u8> {
        let mut file = b"PK\x03\x04".to_vec();
        file.extend([0; 22]);
        file.extend([name.len() as u8, 0, 0, 0]);
        file.extend(name.as_bytes());
        file.extend(content.as_bytes());
        file
    }

    #[test]
    fn a_file_is_what_its_bytes_are_whatever_its_name_says() {
        assert_eq!(inspect(b"%PDF-1.7\n1 0 obj"), fine(FileKind::Pdf));
        assert_eq!(inspect(b"\xff\xd8\xff\xe0\0\x10JFIF"), fine(FileKind::Jpeg));
        assert_eq!(inspect(b"\0\0\0\x18ftypheic\0\0\0\0"), fine(FileKind::Heic));
        assert_eq!(inspect(b"a;b\n1;2\n"), fine(FileKind::Csv));
        assert_eq!(inspect("Grüße".as_bytes()), fine(FileKind::Txt));
        let odt = part("mimetype", "application/vnd.oasis.opendocument.textPK");
        assert_eq!(inspect(&odt), fine(FileKind::Odt));
        let docx = [part("[Content_Types].xml", "x"), part("word/document.xml", "y")].concat();
        assert_eq!(inspect(&docx), fine(FileKind::Docx));
    }

    #[test]
    fn what_runs_hides_or_cannot_be_opened_is_refused() {
        let refused = |why| HeaderVerdict::Refused(why);
        assert_eq!(inspect(b""), refused(Why::Empty));
        assert_eq!(inspect(b"%PDF-1.7\ntrailer << /Encrypt 5 0 R >>"), refused(Why::Encrypted));
        assert_eq!(inspect(&part("a.txt", "x")), refused(Why::NotAllowed));
        assert_eq!(inspect(b"\x1f\x8b\x08"), refused(Why::NotAllowed));
        let macros = [
            part("[Content_Types].xml", "x"),
            part("word/document.xml", "y"),
            part("word/vbaProject.bin", "z"),
        ];
        assert_eq!(inspect(&macros.concat()), refused(Why::Macros));
        let huge = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &[0, 1, 0, 0, 0, 1, 0, 0]].concat();
        assert_eq!(inspect(&huge), refused(Why::TooManyPixels));
        for runs in [
            "<!DOCTYPE html>",
            "  <svg xmlns=\"\">",
            "MZ\u{0}\u{1}",
            "\u{7f}ELF\u{2}",
            "x <script>alert(1)</script>",
        ] {
            assert_eq!(inspect(runs.as_bytes()), refused(Why::NotAllowed), "{runs}");
        }
    }

    #[test]
    fn no_header_that_is_cut_off_breaks_anything() {
        let heads: [&[u8]; 5] = [
            b"\xff\xd8\xff\xc0\0\x11\x08\0\x10\0\x10",
            b"\x89PNG\r\n\x1a\n\0\0",
            b"RIFF\0\0\0\0WEBPVP8L",
            b"PK\x03\x04",
            b"\0\0\0\x18ftyp",
        ];
        for head in heads {
            for end in 0..head.len() {
                inspect(&head[..end]);
            }
        }
    }
}
