//! The site's own files: its scripts and the pictures of its pages. The style sheet and the icons are the app's.
//! `build.rs` writes the list.

use rookery_http::assets::Asset;
use rookery_web::assets;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Where a file is served, of the site or of the app.
pub fn path(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or_else(|| assets::path(name), |asset| asset.path)
}

/// The filters of the app's templates, but with the site's files.
pub mod filters {
    pub use rookery_web::show::filters::*;

    /// Where a file is: `{{ "docs.js"|asset }}`
    #[askama::filter_fn]
    pub fn asset(name: &str, _: &dyn askama::Values) -> askama::Result<&'static str> {
        Ok(super::path(name))
    }
}
