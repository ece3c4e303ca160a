//! The library: documents that came with mail or were uploaded, found again by what was read in them, and one of them with
//! the lines its fields were read from.

pub mod files;
pub mod list;
pub mod save;
pub mod sheet;
pub mod show;
