//! The app's files: style sheet, script, icons and fonts.
//! `build.rs` writes the list.

use rookery_http::assets::Asset;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Where a file is served.
pub fn path(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| asset.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_pages_name_is_there() {
        for name in ["app.css", "app.js", "editor.js", "icons.svg", "favicon.svg", "inter-latin.woff2"] {
            assert!(path(name).starts_with("/assets/"), "{name}");
        }
    }

    #[test]
    fn the_style_sheet_names_fonts_where_they_are_served() {
        let sheet = ASSETS.iter().find(|asset| asset.name == "app.css").unwrap();
        let text = std::str::from_utf8(sheet.plain).unwrap();
        assert!(text.contains(path("inter-latin.woff2")) && !text.contains("url(\"fonts/"));
        assert!(text.starts_with("@layer reset, tokens, base, parts, screen;") && !text.contains("/*"));
    }
}
