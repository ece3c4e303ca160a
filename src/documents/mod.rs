//! The document library (specification 2.7, 4.12).
//! Files that came with mail are filed here and found again.

pub mod file;
pub mod items;
pub mod library;
pub mod request;
