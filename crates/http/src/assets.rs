//! Files that are embedded when the program is built: style sheets, scripts, icons, fonts, pictures. A name holds the hash of
//! its file, so a browser keeps it for ever. Each crate with files has a list of them, written by its build script.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::get;

use crate::answers::insert;

/// A file, plain and compressed.
pub struct Asset {
    pub name: &'static str,
    pub path: &'static str,
    pub kind: &'static str,
    pub plain: &'static [u8],
    pub gzip: Option<&'static [u8]>,
    pub brotli: Option<&'static [u8]>,
}

/// Serves all files of a list.
pub fn routes<S: Clone + Send + Sync + 'static>(assets: &'static [Asset]) -> Router<S> {
    let routes = assets.iter().map(|asset| (asset.path, asset));
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
