//! What every operation is framed by: keys, scopes, visibility, rates, browsers, errors, and the two protocols.

mod auth;
mod browsers;
mod errors;
mod general;
mod mcp;
mod openapi;
mod rate;
mod scopes;
mod visibility;
