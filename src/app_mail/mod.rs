//! The app-mail bridge (specification 4.13): an app that sends its own email gets the replies back with its own
//! reference.
//!
//! The app records what it sent, or a connected sending service reports it (`connect`, `reports`). The body of such a
//! mail is fetched from the service only when someone replies (`body_fetch`).

pub mod body_fetch;
pub mod connect;
pub mod fields;
pub mod forget;
pub mod reference;
pub mod reports;
pub mod sent;
