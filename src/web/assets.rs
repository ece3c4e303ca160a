//! The app's files: style sheet, script, icons and fonts, embedded when the program is built. A name holds the hash of
//! its file, so a browser keeps it for ever.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::get;

use crate::http::answers::insert;

/// A file, plain and compressed.
pub struct Asset {
    name: &'static str,
    path: &'static str,
    kind: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Where a file is served.
pub fn path(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| asset.path)
}

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let routes = ASSETS.iter().map(|asset| (asset.path, asset));
    routes.fold(Router::new(), |router, (path, asset)| {
        router.route(path, get(async move |headers: HeaderMap| asset.answer(&headers)))
    })
}

impl Asset {
    fn answer(&self, asked: &HeaderMap) -> Response {
        let (bytes, coding) = match (self.brotli, self.gzip) {
            (Some(brotli), _) if takes(asked, "br") => (brotli, Some("br")),
            (_, Some(gzip)) if takes(asked, "gzip") => (gzip, Some("gzip")),
            _ => (self.plain, None),
        };
        let mut response = Response::new(Body::from(Bytes::from_static(bytes)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(coding) = coding {
            insert(headers, "content-encoding", coding);
        }
        response
    }
}

fn takes(asked: &HeaderMap, coding: &str) -> bool {
    let line = asked.get(header::ACCEPT_ENCODING).and_then(|line| line.to_str().ok()).unwrap_or_default();
    line.split(',').any(|part| part.split(';').next().unwrap_or_default().trim() == coding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_pages_name_is_there() {
        for name in ["app.css", "app.js", "icons.svg", "favicon.svg", "inter-latin.woff2"] {
            assert!(path(name).starts_with("/assets/"), "{name}");
        }
    }

    #[test]
    fn the_style_sheet_names_fonts_where_they_are_served() {
        let sheet = ASSETS.iter().find(|asset| asset.name == "app.css").unwrap();
        let text = std::str::from_utf8(sheet.plain).unwrap();
        assert!(text.contains(path("inter-latin.woff2")) && !text.contains("url(\"fonts/"));
        assert!(
            text.trim_start().starts_with("/*")
                && text.contains("@layer reset, tokens, base, parts, screen;")
        );
    }
}
