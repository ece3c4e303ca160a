//! The document library (specification 2.7, 4.12).
//! Files that came with mail are filed here, noted to be read (`to_read`), set right by people (`correct`) and found again; `request` asks
//! customers for more (specification 4.9), and `checks` says which files are taken.

pub mod checks;
pub mod correct;
pub mod download;
pub mod fields;
pub mod filing;
pub mod forget;
pub mod headers;
pub mod items;
pub mod library;
pub mod lists;
pub mod phrases;
pub mod progress;
pub mod request;
pub mod to_read;
pub mod uploads;
pub mod whole;
