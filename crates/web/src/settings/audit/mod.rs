//! `/settings/audit`: who changed how the workspace is run, and whether nobody has changed that log since.
//! It has no words of mail in it.

pub mod csv;
pub mod show;
pub mod words;

pub const PATH: &str = "/settings/audit";
