//! `/welcome`: the first owner of an empty service makes its workspace, and then sets it up in five steps.
//! What is done is read from the workspace; only what was left out is written down.

pub mod doing;
pub mod found;
pub mod progress;
pub mod samples;
pub mod steps;

pub const PATH: &str = "/welcome";
