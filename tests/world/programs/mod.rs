//! Programs at the door: those that speak the protocols well, and those that do not.

pub mod client_sign_in;
pub mod mcp;
pub mod raw;
