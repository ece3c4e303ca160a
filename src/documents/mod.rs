//! The document library (specification 2.7, 4.12).
//! Files that came with mail are filed here and found again; `request` asks customers for more (specification 4.9).

pub mod filing;
pub mod forget;
pub mod items;
pub mod library;
pub mod progress;
pub mod request;
