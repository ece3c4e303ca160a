//! The documentation at `/docs`, served from the program: the pages of docs/ as they were when it was built, search, the reference
//! made from the OpenAPI document, the changelog with its feed.
//!
//! It is the same for everybody, so others may keep it for a while. Every page has a twin in Markdown.
//!
//! It must never read the database, and never know who asks.

mod assets;
mod changelog;
pub mod door;
mod examples;
mod markdown;
mod negotiate;
mod pages;
mod reference;
mod schemas;
mod search;
