//! The door for programs. Every operation is defined once, in `operations/`; REST, MCP and the OpenAPI document are loops over
//! the registry.
//!
//! An operation reads its input by the schema that is published, calls the verb that a page calls too, and answers with a
//! type whose schema is published as well. Repeating with the same key does a thing once.
//!
//! It must never change rows itself: that is what verbs are for.

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
