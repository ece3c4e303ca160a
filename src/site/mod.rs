//! The documentation as the binary serves it (`/docs`): our pages rendered, a search over them, the reference of the API,
//! the changelog with its feed, and the same as Markdown for programs that read. Anyone may read it; nothing here knows who
//! asks, and nothing of a workspace is shown.

mod changelog;
pub mod door;
mod examples;
mod markdown;
mod negotiate;
mod pages;
mod reference;
mod schemas;
mod search;
