//! One file for each operation, named as its MCP tool where it has one.
//! Each states its place, scope, input and output, and runs one verb of the product.

pub mod get_conversation;
pub mod list_conversations;
pub mod list_mailboxes;
pub mod list_tags;
pub mod me;
pub mod openapi;
pub mod search_documents;
pub mod simulate_inbound;

use schemars::JsonSchema;
use serde::Deserialize;

/// An operation without parameters.
#[derive(Deserialize, JsonSchema)]
pub struct NoInput {}
