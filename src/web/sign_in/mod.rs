//! Coming in, by a link or by a password, and going out. Nothing here tells whether an address is somebody's: words,
//! status and time are the same.

pub mod code;
pub mod form;
pub mod join;
pub mod link;
pub mod out;
