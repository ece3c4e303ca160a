//! The app-mail bridge (specification 4.13): an app that sends its own email gets the replies back with its
//! own reference.
//!
//! The app records what it sent, or a sending service that somebody connected tells it (`connect`, `hear`). A
//! service's words are asked for when someone replies (`words`), never before.

pub mod connect;
pub mod forget;
pub mod hear;
pub mod outline;
pub mod record;
pub mod reference;
pub mod words;
