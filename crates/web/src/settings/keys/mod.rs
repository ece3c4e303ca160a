//! `/settings/keys`: API keys, each an agent with its own name. Made, shown once, and revoked; nothing of a key can be
//! changed, because what it may do was decided when it was given away.

pub mod list;
pub mod new;
pub mod revoke;
pub mod words;

pub const PATH: &str = "/settings/keys";
