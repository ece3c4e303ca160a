//! Recognizes dangerous attachments, by their extension alone; contents are for a virus scanner. Specification
//! 6.2. Extensions are compared in lower case.

use rookery_reading::mail::parse::ParsedMail;

const PROGRAMS: &[&str] = &[
    "exe",
    "scr",
    "com",
    "pif",
    "bat",
    "cmd",
    "msi",
    "jar",
    "js",
    "jse",
    "vbs",
    "vbe",
    "wsf",
    "wsh",
    "hta",
    "lnk",
    "iso",
    "img",
    "vhd",
    "vhdx",
    "ps1",
    "psm1",
    "reg",
    "cpl",
    "chm",
    "dll",
    "apk",
    "url",
    "application",
    "gadget",
    "msc",
    "scf",
    "ace",
];
const MACROS_AND_PAGES: &[&str] = &[
    "html", "htm", "shtml", "xhtml", "mht", "mhtml", "docm", "dotm", "xlsm", "xltm", "xlam", "xlsb", "pptm",
    "potm", "ppsm", "ppam", "sldm", "xll",
];
/// Extensions that a program may pretend to have.
const DOCUMENTS: &[&str] = &[
    "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "txt", "rtf", "csv", "jpg", "jpeg",
    "png", "gif", "zip", "mp4", "mp3", "eml",
];

pub(super) fn has_hidden_program(mail: &ParsedMail) -> bool {
    extensions(mail).any(|(last, before)| {
        PROGRAMS.contains(&last.as_str()) && before.is_some_and(|b| DOCUMENTS.contains(&b.as_str()))
    })
}

pub(super) fn has_program(mail: &ParsedMail) -> bool {
    extensions(mail).any(|(last, _)| PROGRAMS.contains(&last.as_str()))
}

pub(super) fn has_macro_or_page(mail: &ParsedMail) -> bool {
    extensions(mail).any(|(last, _)| MACROS_AND_PAGES.contains(&last.as_str()))
}

/// The last extension of each file and the one before it.
fn extensions(mail: &ParsedMail) -> impl Iterator<Item = (String, Option<String>)> {
    mail.attachments.iter().filter_map(|attachment| {
        let mut pieces = attachment.filename.rsplit('.');
        let last = pieces.next()?.trim().to_lowercase();
        let before = pieces.next()?.trim().to_lowercase();
        let has_stem = pieces.next().is_some();
        Some((last, has_stem.then_some(before)))
    })
}
