//! `/settings/webhooks`: which webhooks there are and how they do, making one, and everything that is done to one.
//! Every form calls a verb of `crates/webhooks/src/`; the command line calls the same.

pub mod address;
pub mod deliveries;
pub mod doing;
pub mod events;
pub mod health;
pub mod json;
pub mod list;
pub mod new;
pub mod remove;
pub mod secret;
pub mod show;

/// Where the pages are.
pub const PATH: &str = "/settings/webhooks";
