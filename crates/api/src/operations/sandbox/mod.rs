//! What a developer does in the sandbox that time and people do for live mail. The specification has no such endpoints, so they
//! change nothing there.

pub mod advance;
pub mod approve;
