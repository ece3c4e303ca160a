//! What the machines' contract promises, through REST and MCP alike.

mod auth;
mod browsers;
mod errors;
mod general;
mod mcp;
mod me;
mod openapi;
mod rate;
mod scopes;
