//! `/settings/rules`: the rules of the workspace in their order, making and changing one, and what it would have done.
//! Every form calls a verb of `crates/core/src/rules/store.rs`.

pub mod doing;
pub mod edit;
pub mod list;
pub mod remove;
pub mod typed;
pub mod words;

/// Where the pages are.
pub const PATH: &str = "/settings/rules";
