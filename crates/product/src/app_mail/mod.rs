//! The app-mail bridge (specification 4.13): an app that sends its own email gets the replies back with its own
//! reference.
//!
//! The app records what it sent, or a connected sending service reports it (`connect`, `manage`; `adapters` reads each
//! service's own form, `told` keeps what it told). The body of such a mail is fetched from the service only when someone
//! replies (`body_fetch`).

pub mod adapters;
pub mod body_fetch;
pub mod connect;
pub mod fields;
pub mod forget;
pub mod manage;
pub mod sent;
pub mod told;
