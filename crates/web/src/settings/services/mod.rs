//! `/settings/services`: services that send the app's own mail and report what became of it: which are connected and how
//! they do, connecting one, and everything that is done to one. The command line calls the same verbs.

pub mod doing;
pub mod list;
pub mod new;
pub mod remove;
pub mod secret;
pub mod show;
pub mod state;

/// Where the pages are.
pub const PATH: &str = "/settings/services";
