//! The machines' door (specification 4): every operation is defined once, in `operations/`, and served over
//! REST and MCP and described in OpenAPI by loops over the registry.

pub mod door;
pub mod hooks;
pub mod input;
pub mod mcp;
pub mod openapi;
pub mod operation;
pub mod operations;
pub mod registry;
pub mod rest;
pub mod wire;
