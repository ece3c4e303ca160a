//! Mail comes in (`incoming`: the SMTP and LMTP doors, who sent it, where it belongs), mail leaves (`outgoing`), and simulated
//! customers answer (`sandbox`).
//!
//! Mail is acknowledged after the commit. A mail that leaves has the same bytes at every try. Whatever a stranger writes is
//! read by `rookery-reading` under its limits.
//!
//! It must never know a page or an operation of the API.

pub mod incoming;
pub mod outgoing;
pub mod sandbox;
