//! The MCP door (specification 4.16): the operations as tools over Streamable HTTP, and resources and prompts beside them.
//! One POST gets one JSON body; there are no sessions, no event streams and no state between
//! requests, so any call works on a fresh connection, in the `initialize` revisions of 2025
//! and in the stateless revision 2026-07-28 alike.
//! `rmcp` speaks the protocol; this file gives it messages it can accept and keeps its
//! plain-text refusals away from clients. What is offered is in `handler`.

mod asking;
mod caller;
mod handler;
mod prompts;
mod resources;
mod tools;
mod words;

use std::sync::Arc;

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use rmcp::{
    ErrorData,
    model::{ErrorCode, JsonRpcError, RequestId},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

pub use self::caller::Caller;
use self::caller::OUR_FAULT;
use self::handler::{Handler, SUPPORTED, no_such_method};
use crate::registry::OPERATIONS;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const VERSION_HEADER: &str = "mcp-protocol-version";
/// The revision without `initialize`; in it an unknown method is also a 404.
const STATELESS: &str = "2026-07-28";
const MAX_BATCH: usize = 20;

/// The door, opened once at start and shared by all requests.
pub struct McpDoor(StreamableHttpService<Handler, NeverSessionManager>);

impl McpDoor {
    pub fn open() -> Self {
        // Host, Origin and size were checked by `api::door`, for every path alike.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX);
        let sessions = Arc::new(NeverSessionManager::default());
        Self(StreamableHttpService::new(|| Ok(Handler), sessions, config))
    }

    /// Answers the body of one POST: a message, or a batch of them in the protocol version that has batches.
    pub async fn answer(&self, headers: &HeaderMap, caller: Arc<Caller>, body: Bytes) -> Response {
        let Ok(message) = serde_json::from_slice::<&RawValue>(&body) else {
            let error = ErrorData::parse_error("The body is not valid JSON.", None);
            return refuse_message(None, error);
        };
        if !message.get().starts_with('[') {
            return self.answer_message(headers, caller, body.clone()).await;
        }
        let version = headers.get(VERSION_HEADER);
        let has_arrays = version.is_none_or(|version| version == "2025-03-26");
        let messages: Vec<&RawValue> = serde_json::from_str(message.get()).unwrap_or_default();
        if !has_arrays || messages.is_empty() || messages.len() > MAX_BATCH {
            let reason = "Arrays of messages belong to protocol 2025-03-26 and hold 1 to 20.";
            return refuse_message(None, ErrorData::invalid_request(reason, None));
        }
        let mut answers = Vec::new();
        for message in messages {
            let message = body.slice_ref(message.get().as_bytes());
            let answer = self.answer_message(headers, caller.clone(), message).await;
            match to_bytes(answer.into_body(), usize::MAX).await {
                Ok(bytes) if bytes.is_empty() => {} // a notification has no answer
                Ok(bytes) => answers.push(bytes),
                Err(_) => return fail(),
            }
        }
        if answers.is_empty() {
            return StatusCode::ACCEPTED.into_response();
        }
        let array = [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat();
        ([(header::CONTENT_TYPE, JSON)], array).into_response()
    }

    async fn answer_message(&self, sent: &HeaderMap, caller: Arc<Caller>, message: Bytes) -> Response {
        // The stateless revision has no handshake. `rmcp` takes it under any, and its params for broken ones.
        let stateless = sent.get(VERSION_HEADER).is_some_and(|version| version == STATELESS);
        if stateless && method_of(&message).as_deref() == Some("initialize") {
            return refuse_with(StatusCode::NOT_FOUND, id_of(&message), no_such_method());
        }
        let mut request = Request::new(Body::from(message.clone()));
        *request.method_mut() = Method::POST;
        request.extensions_mut().insert(caller);
        // Only `mcp-*` headers are forwarded, so `rmcp` never sees the API key. It requires the three below, which
        // clients may leave out.
        let headers = request.headers_mut();
        for (name, value) in sent.iter().filter(|(name, _)| is_protocol(name.as_str())) {
            headers.append(name, value.clone());
        }
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, accept);
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));

        let response = self.0.handle(request).await;
        let is_json = response.headers().get(header::CONTENT_TYPE) == Some(&JSON);
        match response.status() {
            _ if is_json => response.map(Body::new),
            StatusCode::ACCEPTED => StatusCode::ACCEPTED.into_response(),
            // `rmcp` answers these in plain text: JSON that is not a message, an unknown version header.
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                let reason = "The body is not a JSON-RPC 2.0 message.";
                refuse_message(id_of(&message), ErrorData::invalid_request(reason, None))
            }
            StatusCode::BAD_REQUEST => {
                let requested = sent.get(VERSION_HEADER).map(HeaderValue::as_bytes);
                let requested = String::from_utf8_lossy(requested.unwrap_or_default());
                let error = ErrorData::new(
                    ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
                    "Unsupported protocol version",
                    Some(json!({ "requested": requested, "supported": SUPPORTED })),
                );
                refuse_message(id_of(&message), error)
            }
            _ => fail(),
        }
    }
}

/// How many requests a body counts as in the rate limit: what each message of a batch counts as. A batch that is refused
/// for its length counts as one.
pub fn request_count(body: &[u8]) -> usize {
    if body.trim_ascii_start().first() != Some(&b'[') {
        return of_message(body);
    }
    match serde_json::from_slice::<Vec<&RawValue>>(body).unwrap_or_default().as_slice() {
        messages @ [_, ..] if messages.len() <= MAX_BATCH => {
            messages.iter().map(|message| of_message(message.get().as_bytes())).sum()
        }
        _ => 1,
    }
}

/// One, or more when it calls a tool for many things.
fn of_message(message: &[u8]) -> usize {
    #[derive(Deserialize)]
    struct Calling<'m> {
        #[serde(borrow)]
        params: Called<'m>,
    }
    #[derive(Deserialize)]
    struct Called<'m> {
        name: String,
        #[serde(borrow)]
        arguments: &'m RawValue,
    }
    let Ok(Calling { params }) = serde_json::from_slice(message) else { return 1 };
    let tool = OPERATIONS.iter().find(|entry| entry.spec.has_tool && entry.spec.name == params.name);
    tool.map_or(1, |tool| tool.spec.requests(params.arguments.get().as_bytes()))
}

/// The answer to any method but POST. It needs no key: some clients ask for a stream with GET
/// and hide the tools when that is refused as unauthorised.
pub fn refuse_method() -> Response {
    let body = json!({ "error": "Only POST is offered here: no streams, no sessions." });
    let headers = [(header::ALLOW, HeaderValue::from_static("POST")), (header::CONTENT_TYPE, JSON)];
    (StatusCode::METHOD_NOT_ALLOWED, headers, body.to_string()).into_response()
}

fn is_protocol(header_name: &str) -> bool {
    header_name.starts_with("mcp-")
}

/// The id a refused message carried, when it has one that can be sent back.
fn id_of(message: &[u8]) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Identified {
        id: Option<RequestId>,
    }
    serde_json::from_slice(message).ok().and_then(|Identified { id }| id)
}

fn method_of(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Asking {
        method: String,
    }
    serde_json::from_slice(message).ok().map(|Asking { method }| method)
}

fn refuse_message(id: Option<RequestId>, error: ErrorData) -> Response {
    refuse_with(StatusCode::BAD_REQUEST, id, error)
}

fn refuse_with(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Response {
    let body = json!(JsonRpcError::new(id, error)).to_string();
    let headers = [(header::CONTENT_TYPE, JSON)];
    (status, headers, body).into_response()
}

fn fail() -> Response {
    let body = json!({ "error": OUR_FAULT }).to_string();
    let headers = [(header::CONTENT_TYPE, JSON)];
    (StatusCode::INTERNAL_SERVER_ERROR, headers, body).into_response()
}
