//! What the machines' contract promises, through REST and MCP alike.

mod me;
mod notes;
