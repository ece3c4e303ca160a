//! `/settings/sandbox`: simulated mail, for whoever writes code against the service. It shows nothing live, and what it
//! does happens in the sandbox alone.

pub mod show;
pub mod simulate;

/// Where the page is.
pub const PATH: &str = "/settings/sandbox";
