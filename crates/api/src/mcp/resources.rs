//! Resources of the MCP door: what a tool reads by its id alone has an address too, `rookery://conversations/{id}`, which a
//! client can put into a model's context without a call by the model. The address is the operation's path and reading it
//! runs the operation, so scopes, visibility and what is not found are those of the tool.
//! There are templates and no list: what there is changes by the minute, and `list_conversations` finds it.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, ReadResourceResult, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::caller::{Caller, describe_error, is_read, meta, tools};
use super::words::{UNTRUSTED, UNTRUSTED_ABOVE, UNTRUSTED_MARK};
use crate::input::Given;
use crate::registry::{RegisteredOperation, Request};
use rookery_base::error::Error;
use rookery_core::workspace::access::Actor;

/// In front of the path, which begins with a slash.
const SCHEME: &str = "rookery:/";
const ID: &str = "{id}";
const JSON: &str = "application/json";
const NOT_ONE: Error = Error::Missing("No such resource.");

fn resources() -> impl Iterator<Item = &'static RegisteredOperation> {
    tools().filter(|tool| is_read(tool) && tool.spec.path.ends_with(ID))
}

pub fn templates(actor: &Actor) -> Vec<ResourceTemplate> {
    let shown = resources().filter(|entry| entry.spec.needs.shown_to(actor));
    shown
        .map(|entry| {
            let spec = &entry.spec;
            ResourceTemplate::new(format!("{SCHEME}{}", spec.path), spec.name)
                .with_title(spec.title)
                .with_description(format!("{} {UNTRUSTED}", spec.about))
                .with_mime_type(JSON)
        })
        .collect()
}

/// The operation and the id that an address names.
fn named(uri: &str) -> Option<(&'static RegisteredOperation, &str)> {
    let path = uri.strip_prefix(SCHEME)?;
    resources().find_map(|entry| Some((entry, path.strip_prefix(entry.spec.path.strip_suffix(ID)?)?)))
}

pub async fn read(caller: &Caller, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (entry, id) = named(uri).ok_or_else(|| refused(&NOT_ONE, uri))?;
    let reading = async {
        let conn = caller.app.connection_of(caller.actor.workspace).await?;
        let request = Request { id: Some(id), given: Given::Query(""), key: Ok(None) };
        entry.call(&caller.app, &caller.actor, conn, request).await
    };
    let answer = caller.carry_out("resource", entry, reading).await;
    let answer = answer.map_err(|error| refused(&error, uri))?;
    // Clients keep the contents and drop the rest, or the other way round: both say it, and the last content in words.
    let body =
        ResourceContents::text(answer.body, uri).with_mime_type(JSON).with_meta(meta(UNTRUSTED_MARK, true));
    let mut result = ReadResourceResult::new(vec![body, ResourceContents::text(UNTRUSTED_ABOVE, uri)]);
    result.meta = Some(meta(UNTRUSTED_MARK, true));
    Ok(result)
}

/// The JSON-RPC error of a refusal. `rmcp` translates "not found" to the code of the client's protocol revision.
fn refused(error: &Error, uri: &str) -> ErrorData {
    let code = match error {
        Error::Missing(_) => ErrorCode::RESOURCE_NOT_FOUND,
        Error::Internal(_) => ErrorCode::INTERNAL_ERROR,
        _ => ErrorCode::INVALID_REQUEST,
    };
    ErrorData::new(code, describe_error(error), Some(json!({ "uri": uri, "status": error.status() })))
}
