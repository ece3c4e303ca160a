//! Where tesseract and its languages are, when they are installed. Nothing of it is needed: without it, scans and pictures
//! are filed unread.

use std::path::{Path, PathBuf};

const PROGRAMS: &[&str] = &["/usr/bin/tesseract", "/usr/local/bin/tesseract"];
const MODELS: &[&str] = &[
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
];
/// Languages of mail that the rules know, as tesseract names them; English first.
const LANGUAGES: &[&str] = &["eng", "deu", "fra", "spa", "ita", "nld", "por"];
/// What a program of the system reads while it starts and works.
pub const READABLE: &[&str] = &["/usr", "/lib", "/lib64", "/etc/ld.so.cache"];

pub fn program() -> Option<PathBuf> {
    PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// `eng+deu`: those that are installed. Each one costs time, so no more than four are asked for.
pub fn languages() -> Option<String> {
    program()?;
    let folder = MODELS.iter().map(Path::new).find(|path| path.is_dir())?;
    let there = |name: &&&str| folder.join(format!("{name}.traineddata")).is_file();
    let known: Vec<&str> = LANGUAGES.iter().filter(there).take(4).copied().collect();
    if known.is_empty() { None } else { Some(known.join("+")) }
}
