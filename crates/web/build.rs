//! Joins the app's style sheets and scripts; `src/assets.rs` includes the result.

use std::path::Path;

use rookery_assets_build::{Assets, files, lean, name, read};

/// The style sheet that names the layers, so it comes first.
const FIRST: &str = "base.css";

fn main() {
    println!("cargo::rerun-if-changed=static");
    println!("cargo::rerun-if-changed=templates");
    let mut assets = Assets::begin();
    for font in files("static/fonts", "woff2") {
        assets.add(&name(&font), "font/woff2", std::fs::read(&font).expect("a font"), false);
    }
    for picture in ["icons.svg", "favicon.svg"] {
        let bytes = std::fs::read(format!("static/{picture}")).expect("a picture");
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
    // The editor comes when somebody writes mail.
    for (file, folders) in [
        ("app.js", ["static/vendor", "static/js"]),
        ("editor.js", ["static/vendor/editor", "static/js/editor"]),
    ] {
        let scripts = folders.iter().flat_map(|folder| files(folder, "js"));
        let joined = scripts.map(|script| lean(&read(&script)) + ";\n").collect::<String>();
        assets.add(file, "text/javascript; charset=utf-8", joined.into_bytes(), true);
    }
    // The sign-in page and customers' pages have one script each and no other.
    for (file, folder) in [
        ("pass-key.js", "static/js"),
        ("upload-files.js", "static/js/customer"),
        ("visitor-zone.js", "static/js/customer"),
    ] {
        let alone = lean(&read(&Path::new(folder).join(file)));
        assets.add(file, "text/javascript; charset=utf-8", alone.into_bytes(), true);
    }
    assets.finish();
}
