//! Takes the pages of docs/, their pictures and the scripts of the site into the program: `src/pages.rs` and `src/assets.rs`
//! include the result.

use std::path::Path;

use rookery_assets_build::{Assets, files, lean, name, read};

/// The folder of the documentation and the two pages beside it.
const ROOT: &str = "../..";

fn main() {
    println!("cargo::rerun-if-changed=static");
    println!("cargo::rerun-if-changed=templates");
    println!("cargo::rerun-if-changed=../web/templates/_page.html");
    println!("cargo::rerun-if-changed=../web/static/js/copy-text.js");
    for page in ["docs", "CHANGELOG.md", "SECURITY.md"] {
        println!("cargo::rerun-if-changed={ROOT}/{page}");
    }
    let mut assets = Assets::begin();
    let docs = ["../web/static/js/copy-text.js", "static/docs/try-it.js"]
        .map(|script| lean(&read(Path::new(script))));
    assets.add("docs.js", "text/javascript; charset=utf-8", docs.join(";\n").into_bytes(), true);
    let pages = documentation();
    for picture in files(&format!("{ROOT}/docs/pictures"), "webp") {
        if pages.iter().any(|(_, text)| text.contains(&name(&picture))) {
            assets.add(&name(&picture), "image/webp", std::fs::read(&picture).expect("a picture"), false);
        }
    }
    let pages: String = pages.iter().map(|(path, text)| format!("    ({path:?}, {text:?}),\n")).collect();
    let pages = format!("pub static TEXTS: &[(&str, &str)] = &[\n{pages}];\n");
    assets.write("docs.rs", pages.as_bytes());
    assets.finish();
}

/// Every page of docs/ by its path there, and the two of the root that the site shows.
fn documentation() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (folder, before) in [("docs", ""), ("docs/decisions", "decisions/")] {
        for file in files(&format!("{ROOT}/{folder}"), "md") {
            pages.push((format!("{before}{}", name(&file)), read(&file)));
        }
    }
    for (file, path) in [("CHANGELOG.md", "changelog.md"), ("SECURITY.md", "security.md")] {
        pages.push((path.to_owned(), read(&Path::new(ROOT).join(file))));
    }
    pages
}
