//! For build scripts: joins style sheets, gives static files names with their hash in it, compresses what shrinks, and
//! writes them down as Rust for `include!`.
//!
//! A name holds the hash of its bytes, so a browser may keep the file for ever and still never shows an old one.
//!
//! It knows no file by name, and is no part of the program.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything by the environment")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The files of one crate, written to its build folder.
pub struct Assets {
    out: PathBuf,
    list: String,
    /// What a file is called, and where it is served.
    names: BTreeMap<String, String>,
}

impl Assets {
    /// Writes to the folder that cargo gives the build script.
    pub fn begin() -> Self {
        let out = PathBuf::from(env::var("OUT_DIR").expect("cargo names the folder"));
        Self { out, list: String::new(), names: BTreeMap::new() }
    }

    /// Writes `assets.rs`, a list of `rookery_http::assets::Asset` for `include!`.
    pub fn finish(self) {
        let list = format!("pub static ASSETS: &[Asset] = &[\n{}];\n", self.list);
        fs::write(self.out.join("assets.rs"), list).expect("the list can be written");
    }

    /// Style sheets as one, with fonts where they are served.
    pub fn joined(&self, sheets: &[PathBuf]) -> String {
        let joined = sheets.iter().map(|sheet| lean_sheet(&read(sheet))).collect::<String>();
        let serve = |joined: String, (file, path): (&String, &String)| {
            joined.replace(&format!("url(\"fonts/{file}\")"), &format!("url(\"{path}\")"))
        };
        self.names.iter().fold(joined, serve)
    }

    pub fn add(&mut self, name: &str, kind: &str, bytes: Vec<u8>, shrinks: bool) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let (stem, ending) = name.rsplit_once('.').expect("a file has an ending");
        let path = format!("/assets/{stem}-{:016x}.{ending}", hasher.finish());
        let plain = self.write(name, &bytes);
        let (gzip, brotli) = if shrinks {
            (
                format!("Some(include_bytes!({:?}))", self.write(&format!("{name}.gz"), &gzip(&bytes))),
                format!("Some(include_bytes!({:?}))", self.write(&format!("{name}.br"), &brotli(&bytes))),
            )
        } else {
            ("None".into(), "None".into())
        };
        let _ = writeln!(
            self.list,
            "Asset {{ name: {name:?}, path: {path:?}, kind: {kind:?}, plain: include_bytes!({plain:?}), gzip: {gzip}, brotli: {brotli} }},"
        );
        self.names.insert(name.into(), path);
    }

    /// A file beside the list.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.out.join(name);
        fs::write(&path, bytes).expect("an asset can be written");
        path
    }
}

/// A script without its comments and indentation, which are for people. No literal of ours goes over several lines.
pub fn lean(script: &str) -> String {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A style sheet without its comments and indentation. No string of ours holds the beginning of a comment.
fn lean_sheet(sheet: &str) -> String {
    let mut parts = sheet.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    let rules = parts.fold(first, |rules, part| rules + part.split_once("*/").map_or("", |(_, rest)| rest));
    rules.lines().map(str::trim).filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes it")
}

/// The best compression takes seconds in a build without optimisation, so only a release has it.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let parameters =
        brotli::enc::BrotliEncoderParams { quality: if release { 11 } else { 4 }, ..Default::default() };
    let mut pressed = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut pressed, &parameters).expect("memory takes it");
    pressed
}

/// The files of a folder by name, so that every build joins them alike.
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|own| own == ending));
    files.sort();
    files
}

/// The name of a file without its folder.
pub fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}
