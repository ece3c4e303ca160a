//! How a file of a kind is kept: under the type of its bytes, and under a name that ends so. What the sender said of either
//! counts for nothing, so nobody opens a file as something that it is not.

use crate::documents::checks::FileKind;

pub fn media_type(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Pdf => "application/pdf",
        FileKind::Jpeg => "image/jpeg",
        FileKind::Png => "image/png",
        FileKind::Heic => "image/heic",
        FileKind::Webp => "image/webp",
        FileKind::Tiff => "image/tiff",
        FileKind::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        FileKind::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        FileKind::Odt => "application/vnd.oasis.opendocument.text",
        FileKind::Ods => "application/vnd.oasis.opendocument.spreadsheet",
        FileKind::Csv => "text/csv",
        FileKind::Txt => "text/plain",
    }
}

/// How names of such files end; the first is given to one that ends otherwise.
fn endings(kind: FileKind) -> &'static [&'static str] {
    match kind {
        FileKind::Pdf => &["pdf"],
        FileKind::Jpeg => &["jpg", "jpeg", "jpe", "jfif"],
        FileKind::Png => &["png"],
        FileKind::Heic => &["heic", "heif"],
        FileKind::Webp => &["webp"],
        FileKind::Tiff => &["tif", "tiff"],
        FileKind::Docx => &["docx"],
        FileKind::Xlsx => &["xlsx"],
        FileKind::Odt => &["odt"],
        FileKind::Ods => &["ods"],
        // A table is text, and what looks like one may be a letter.
        FileKind::Csv | FileKind::Txt => &["txt", "csv", "tsv", "text", "log", "md"],
    }
}

/// The name with an ending of its kind.
pub fn named(kind: FileKind, name: &str) -> String {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    if ending.is_some_and(|ending| endings(kind).contains(&ending.as_str())) {
        name.to_owned()
    } else {
        format!("{name}.{}", endings(kind)[0])
    }
}

/// Whether a file that is none of the kinds is an archive: people can be told to send what is in it.
pub fn is_archive(head: &[u8]) -> bool {
    const HEADS: &[&[u8]] = &[
        b"PK\x03\x04",
        b"PK\x05\x06",
        b"Rar!\x1a\x07",
        b"7z\xbc\xaf\x27\x1c",
        b"\x1f\x8b",
        b"BZh",
        b"\xfd7zXZ\0",
    ];
    HEADS.iter().any(|start| head.starts_with(start)) || head.get(257..262) == Some(b"ustar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_as_its_kind_does() {
        assert_eq!(named(FileKind::Pdf, "a.exe"), "a.exe.pdf");
        assert_eq!(named(FileKind::Jpeg, "IMG.JPEG"), "IMG.JPEG");
        assert_eq!(named(FileKind::Txt, "notes"), "notes.txt");
        assert_eq!(named(FileKind::Txt, "table.csv"), "table.csv");
    }

    #[test]
    fn an_archive_is_known_by_its_head() {
        assert!(
            is_archive(b"PK\x03\x04")
                && is_archive(b"\x1f\x8b\x08")
                && !is_archive(b"%PDF-")
                && !is_archive(b"")
        );
    }
}
