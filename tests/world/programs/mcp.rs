//! Raw requests at the MCP door, as a client of the stateless revision sends them.

use serde_json::{Value, json};

use crate::{Key, Reply};

pub const NEW: &str = "2026-07-28";

/// A body as it is, with these headers. No answer opens a session or is anything but JSON.
pub async fn send(key: &Key<'_>, headers: &[(&str, &str)], body: impl Into<reqwest::Body>) -> Reply {
    let mut request = key.world.ask("POST", "/mcp").bearer_auth(&key.text);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = Reply::of(request.body(body)).await;
    assert_eq!(reply.header("mcp-session-id"), None);
    if !reply.text.is_empty() {
        assert_eq!(reply.header("content-type"), Some("application/json"), "{}", reply.text);
    }
    reply
}

pub fn rpc(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
}

/// A request of the stateless revision with all the headers and metadata that it wants.
pub async fn modern(key: &Key<'_>, method: &str, name: Option<&str>, params: Value, version: &str) -> Reply {
    modern_able(key, method, name, params, version, json!({})).await
}

/// The same of a client that says what it is able to do.
pub async fn modern_able(
    key: &Key<'_>,
    method: &str,
    name: Option<&str>,
    mut params: Value,
    version: &str,
    able: Value,
) -> Reply {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "t", "version": "1" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able;
    let mut headers = vec![("mcp-protocol-version", version), ("mcp-method", method)];
    headers.extend(name.map(|name| ("mcp-name", name)));
    send(key, &headers, rpc(method, params)).await
}
