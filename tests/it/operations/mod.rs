//! What the machines' contract promises, through REST and MCP alike.

mod general;
mod me;
