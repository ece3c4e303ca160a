//! Turns an HTML body into text and collects its links: `slim` reduces it to a few tags, `layout` lays them out.
//! Quoted history comes out behind "> ". Specification 2.4.

mod entities;
mod layout;
mod slim;
mod tag;

pub(super) use layout::Budget;
pub use slim::HtmlLink;
pub(super) use slim::{Html, read};
