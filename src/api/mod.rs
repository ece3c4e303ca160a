//! The API for programs (specification 4). Every operation is defined once, in `operations/`; REST, MCP and the
//! OpenAPI document are loops over the registry.

pub mod attached;
pub mod cursor;
pub mod door;
pub mod downloads;
pub mod dry_run;
pub mod idempotency;
pub mod input;
pub mod mcp;
pub mod oauth;
pub mod openapi;
pub mod operation;
pub mod operations;
pub mod registry;
pub mod rest;
pub mod sending_reports;
pub mod wire;
