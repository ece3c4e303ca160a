//! What every operation is framed by: keys, scopes, visibility, rates, browsers, errors, and the two protocols.

mod auth;
mod breaking_changes;
mod browsers;
mod docs;
mod errors;
mod general;
pub mod mcp;
mod mcp_asking;
mod mcp_offers;
mod not_found_timing;
mod openapi;
mod rate;
mod scopes;
mod versions;
mod visibility;
mod whole_mail;
