//! Whether a file can be taken: what it is by its content, of the kinds that are taken; that it holds no macros, needs no
//! password, can be read, and unpacks to no more pixels than a scan has.

use file_format::FileFormat;
use serde::{Deserialize, Serialize};

use crate::files::{archive, office, pdf, picture};

pub const MOST_PIXELS: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    Pdf,
    Jpeg,
    Png,
    Heic,
    Webp,
    Tiff,
    Docx,
    Xlsx,
    Odt,
    Ods,
    Csv,
    Txt,
}

/// Why a file is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    Empty,
    TooLarge,
    /// None of the kinds that are taken.
    NotAllowed,
    Macros,
    Encrypted,
    TooManyPixels,
    /// It says what it is and cannot be read.
    Damaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileVerdict {
    Fine(FileKind),
    Refused(Why),
}

pub fn check(bytes: &[u8]) -> FileVerdict {
    match judge(bytes) {
        Ok(kind) => FileVerdict::Fine(kind),
        Err(why) => FileVerdict::Refused(why),
    }
}

fn judge(bytes: &[u8]) -> Result<FileKind, Why> {
    let kind = kind(bytes)?;
    match kind {
        FileKind::Pdf => {
            let has_end = bytes.windows(9).any(|part| part == b"startxref");
            match pdf::open(bytes) {
                Ok(document) if pdf::page_count(&document) == 0 => return Err(Why::Damaged),
                Err(pdf::Unreadable::Encrypted) => return Err(Why::Encrypted),
                // Others are less strict than our reader, so what has an end is for people to look at.
                Err(pdf::Unreadable::Damaged) if !has_end => return Err(Why::Damaged),
                Ok(_) | Err(pdf::Unreadable::Damaged) => {}
            }
        }
        FileKind::Docx | FileKind::Xlsx | FileKind::Odt | FileKind::Ods => {
            let parts = archive::parts(bytes).ok_or(Why::Damaged)?;
            if office::has_macros(bytes, &parts) {
                return Err(Why::Macros);
            }
        }
        FileKind::Jpeg | FileKind::Png | FileKind::Webp | FileKind::Tiff => {
            let (width, height) = picture::size(bytes).ok_or(Why::Damaged)?;
            if width == 0 || height == 0 {
                return Err(Why::Damaged);
            }
            if width.saturating_mul(height) > MOST_PIXELS {
                return Err(Why::TooManyPixels);
            }
        }
        FileKind::Heic | FileKind::Csv | FileKind::Txt => {}
    }
    Ok(kind)
}

/// What a file is, by its content alone.
pub fn kind(bytes: &[u8]) -> Result<FileKind, Why> {
    if bytes.is_empty() {
        return Err(Why::Empty);
    }
    Ok(match FileFormat::from_bytes(bytes) {
        FileFormat::PortableDocumentFormat => FileKind::Pdf,
        FileFormat::JointPhotographicExpertsGroup => FileKind::Jpeg,
        FileFormat::PortableNetworkGraphics => FileKind::Png,
        FileFormat::HighEfficiencyImageCoding | FileFormat::HighEfficiencyImageFileFormat => FileKind::Heic,
        FileFormat::Webp => FileKind::Webp,
        FileFormat::TagImageFileFormat => FileKind::Tiff,
        FileFormat::OfficeOpenXmlDocument => FileKind::Docx,
        FileFormat::OfficeOpenXmlSpreadsheet => FileKind::Xlsx,
        FileFormat::OpendocumentText => FileKind::Odt,
        FileFormat::OpendocumentSpreadsheet => FileKind::Ods,
        FileFormat::PlainText | FileFormat::ArbitraryBinaryData => plain(bytes).ok_or(Why::NotAllowed)?,
        _ => return Err(Why::NotAllowed),
    })
}

/// Text is what has no control characters and does not begin like a page or a program.
fn plain(bytes: &[u8]) -> Option<FileKind> {
    let text = match std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)) {
        Ok(text) => text.to_owned(),
        // Older programs write one byte for a letter.
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let is_control = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\r' | '\t' | '\u{c}' | '\u{80}'..='\u{9f}')
    };
    if text.chars().any(is_control) {
        return None;
    }
    let start = text.trim_start();
    if start.starts_with('<') || start.starts_with("#!") || start.starts_with('@') {
        return None;
    }
    Some(if is_table(&text) { FileKind::Csv } else { FileKind::Txt })
}

/// Several lines with the same number of separators.
fn is_table(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(10).collect();
    lines.len() >= 2
        && [',', ';', '\t'].iter().any(|separator| {
            let count = |line: &&str| line.matches(*separator).count();
            let first = count(&lines[0]);
            first >= 1 && lines.iter().all(|line| count(line) == first)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::archive::tests::archive;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend_from_slice(&width.to_be_bytes());
        bytes.extend_from_slice(&height.to_be_bytes());
        bytes.extend_from_slice(&[8, 2, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn what_a_file_is_decides_and_not_its_name() {
        assert_eq!(check(b""), FileVerdict::Refused(Why::Empty));
        assert_eq!(check(b"hello\nthere"), FileVerdict::Fine(FileKind::Txt));
        assert_eq!(check(b"a;b\n1;2\n"), FileVerdict::Fine(FileKind::Csv));
        assert_eq!(check(&png(10, 10)), FileVerdict::Fine(FileKind::Png));
        for refused in [
            &b"<!doctype html><script>1</script>"[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            b"#!/bin/sh\nrm -rf /",
            b"MZ\x90\0\x03\0\0\0",
            b"\x7fELF\x02\x01\x01\0",
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(check(refused), FileVerdict::Refused(Why::NotAllowed), "{refused:?}");
        }
    }

    #[test]
    fn macros_many_pixels_and_damage_are_refused() {
        assert_eq!(check(&png(20_000, 20_000)), FileVerdict::Refused(Why::TooManyPixels));
        assert_eq!(check(&png(0, 20_000)), FileVerdict::Refused(Why::Damaged));
        assert_eq!(check(b"%PDF-1.7\nnothing else"), FileVerdict::Refused(Why::Damaged));
        let types = ("[Content_Types].xml", "<Types/>");
        let document = ("word/document.xml", "<document/>");
        assert_eq!(check(&archive(&[types, document])), FileVerdict::Fine(FileKind::Docx));
        assert_eq!(
            check(&archive(&[types, document, ("word/vbaProject.bin", "x")])),
            FileVerdict::Refused(Why::Macros)
        );
        let listed =
            "<Types><Override ContentType='application/vnd.ms-word.document.macroEnabled.main+xml'/></Types>";
        let renamed = archive(&[("[Content_Types].xml", listed), document, ("word/harmless.bin", "x")]);
        assert_eq!(check(&renamed), FileVerdict::Refused(Why::Macros));
    }
}
