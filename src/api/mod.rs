//! The machines' door (specification 4): every operation is defined once, in `operations/`, and served over
//! REST and MCP and described in OpenAPI by loops over the registry.

mod bodies;
pub mod connections;
pub mod door;
mod hooks;
pub mod input;
pub mod mcp;
pub mod openapi;
pub mod operation;
pub mod operations;
mod paced;
pub mod recent;
mod refusals;
pub mod registry;
pub mod rest;
pub mod serve;
pub mod wire;
