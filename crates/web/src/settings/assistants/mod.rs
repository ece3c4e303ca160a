//! `/settings/assistants`: how sorting, drafting and reading work, which model they may ask and who agreed to it, what it
//! cost, what it did, and the stop for all.

pub mod doing;
pub mod show;

pub const PATH: &str = "/settings/assistants";
