//! Joins the app's style sheets and scripts, gives every static file a name with its hash in it, and compresses what
//! shrinks. `src/web/assets.rs` includes the result. `src/site/pages.rs` includes the list of documentation pages.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything by the environment")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The style sheet that names the layers, so it comes first.
const FIRST: &str = "base.css";

fn main() {
    println!("cargo::rerun-if-changed=static");
    println!("cargo::rerun-if-changed=templates");
    println!("cargo::rerun-if-changed=migrations");
    for page in ["docs", "CHANGELOG.md", "SECURITY.md"] {
        println!("cargo::rerun-if-changed={page}");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo names the folder"));
    let mut assets = Assets { out, list: String::new(), names: BTreeMap::new() };
    for font in files("static/fonts", "woff2") {
        assets.add(&name(&font), "font/woff2", fs::read(&font).expect("a font"), false);
    }
    for picture in ["icons.svg", "favicon.svg"] {
        let bytes = fs::read(format!("static/{picture}")).expect("a picture");
        assets.add(picture, "image/svg+xml", bytes, true);
    }
    let mut sheets = files("static/css", "css");
    sheets.sort_by_key(|sheet| (name(sheet) != FIRST, name(sheet)));
    let joined = assets.joined(&sheets);
    assets.add("app.css", "text/css; charset=utf-8", joined.into_bytes(), true);
    // Customers' pages have the tokens, the parts and their own.
    sheets.retain(|sheet| [FIRST, "fonts.css", "parts.css"].contains(&name(sheet).as_str()));
    sheets.extend(files("static/css/customer", "css"));
    let joined = assets.joined(&sheets);
    assets.add("customer.css", "text/css; charset=utf-8", joined.into_bytes(), true);
    let scripts: Vec<_> =
        ["static/vendor", "static/js"].iter().flat_map(|folder| files(folder, "js")).collect();
    let joined = scripts.iter().map(|script| lean(&read(script)) + ";\n").collect::<String>();
    assets.add("app.js", "text/javascript; charset=utf-8", joined.into_bytes(), true);
    // The sign-in page and customers' pages have one script each and no other.
    for (file, folder) in [
        ("pass-key.js", "static/js"),
        ("upload-files.js", "static/js/customer"),
        ("visitor-zone.js", "static/js/customer"),
    ] {
        let alone = lean(&read(&Path::new(folder).join(file)));
        assets.add(file, "text/javascript; charset=utf-8", alone.into_bytes(), true);
    }
    let docs =
        ["static/js/copy-text.js", "static/docs/try-it.js"].map(|script| lean(&read(Path::new(script))));
    assets.add("docs.js", "text/javascript; charset=utf-8", docs.join(";\n").into_bytes(), true);
    let explore = read(Path::new("static/docs/explore.js"));
    assets.add("explore.js", "text/javascript; charset=utf-8", explore.into_bytes(), true);
    let pages = documentation();
    for picture in files("docs/pictures", "webp") {
        if pages.iter().any(|(_, text)| text.contains(&name(&picture))) {
            assets.add(&name(&picture), "image/webp", fs::read(&picture).expect("a picture"), false);
        }
    }
    let pages: String = pages.iter().map(|(path, text)| format!("    ({path:?}, {text:?}),\n")).collect();
    let pages = format!("pub static TEXTS: &[(&str, &str)] = &[\n{pages}];\n");
    fs::write(assets.out.join("docs.rs"), pages).expect("the pages can be written");
    let list = format!("pub static ASSETS: &[Asset] = &[\n{}];\n", assets.list);
    fs::write(assets.out.join("assets.rs"), list).expect("the list can be written");
}

struct Assets {
    out: PathBuf,
    list: String,
    /// What a file is called, and where it is served.
    names: BTreeMap<String, String>,
}

impl Assets {
    /// Style sheets as one, with fonts where they are served.
    fn joined(&self, sheets: &[PathBuf]) -> String {
        let joined = sheets.iter().map(|sheet| read(sheet)).collect::<String>();
        let serve = |joined: String, (file, path): (&String, &String)| {
            joined.replace(&format!("url(\"fonts/{file}\")"), &format!("url(\"{path}\")"))
        };
        self.names.iter().fold(joined, serve)
    }

    fn add(&mut self, name: &str, kind: &str, bytes: Vec<u8>, shrinks: bool) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let (stem, ending) = name.rsplit_once('.').expect("a file has an ending");
        let path = format!("/assets/{stem}-{:016x}.{ending}", hasher.finish());
        let plain = self.write(name, &bytes);
        let (gzip, brotli) = match shrinks {
            true => (
                format!("Some(include_bytes!({:?}))", self.write(&format!("{name}.gz"), &gzip(&bytes))),
                format!("Some(include_bytes!({:?}))", self.write(&format!("{name}.br"), &brotli(&bytes))),
            ),
            false => ("None".into(), "None".into()),
        };
        let _ = writeln!(
            self.list,
            "Asset {{ name: {name:?}, path: {path:?}, kind: {kind:?}, plain: include_bytes!({plain:?}), gzip: {gzip}, brotli: {brotli} }},"
        );
        self.names.insert(name.into(), path);
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.out.join(name);
        fs::write(&path, bytes).expect("an asset can be written");
        path
    }
}

/// Every page of docs/ by its path there, and the two of the root that the site shows.
fn documentation() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (folder, before) in [("docs", ""), ("docs/decisions", "decisions/")] {
        for file in files(folder, "md") {
            pages.push((format!("{before}{}", name(&file)), read(&file)));
        }
    }
    for (file, path) in [("CHANGELOG.md", "changelog.md"), ("SECURITY.md", "security.md")] {
        pages.push((path.to_owned(), read(Path::new(file))));
    }
    pages
}

/// A script without its comments and indentation, which are for people. No literal of ours goes over several lines.
fn lean(script: &str) -> String {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
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
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|own| own == ending));
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}
