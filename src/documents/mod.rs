//! The document library (specification 2.7, 4.12).

pub mod file;
pub mod library;
