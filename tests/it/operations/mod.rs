//! The API's contract, through REST and MCP alike.

mod app_mail;
mod assign;
mod changes;
mod contacts;
mod conversation;
mod document_requests;
mod documents;
mod filters;
mod list;
mod long_timelines;
mod mailboxes;
mod me;
mod notes;
mod operators;
mod paging;
mod replies;
mod sandbox;
mod search;
mod status;
mod tagging;
mod tags;
mod writing;

/// A parameter as a URL has it.
pub fn parameter(name: &str, value: &str) -> String {
    let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    format!("{name}={value}")
}

/// Ids as the answers write them.
pub fn written(ids: &[rookery_base::ids::ConversationId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}
