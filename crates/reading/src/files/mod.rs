//! The files that papers come in, taken apart: text with its places, rows of tables, the XML inside, pictures.
//! Everything here may meet a stranger's bytes; `crates/base/src/confined` says where it runs.

pub mod archive;
pub mod drawing;
pub mod einvoice;
pub mod office;
pub mod pdf;
pub mod picture;
pub mod pixels;
pub mod plain;
pub mod sheet;
pub mod words;
pub mod xml;
