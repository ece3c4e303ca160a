//! Coming in, by a link, a password, a passkey or the workspace's provider, and going out. Nothing here tells whether an
//! address is somebody's: words, status and time are the same.

pub mod again;
pub mod code;
pub mod consent;
pub mod form;
pub mod join;
pub mod link;
mod onward;
pub mod out;
pub mod passkey;
pub mod proof;
pub mod sso;
