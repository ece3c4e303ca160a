//! What the machines' contract promises, through REST and MCP alike.

mod auth;
mod browsers;
mod general;
mod me;
mod rate;
mod scopes;
