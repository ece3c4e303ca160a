//! What the machines' contract promises, through REST and MCP alike.

mod app_mail;
mod assign;
mod auth;
mod browsers;
mod document_requests;
mod errors;
mod general;
mod mcp;
mod me;
mod notes;
mod openapi;
mod rate;
mod replies;
mod scopes;
mod status;
mod tagging;
