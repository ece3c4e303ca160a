//! Who asks at the MCP door, and what every operation that they run there has in common: it is counted like the request that
//! it would be by REST, and a panic in it is an answer.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use futures::FutureExt;
use rmcp::model::MetaObject;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use crate::operation;
use crate::registry::{OPERATIONS, RegisteredOperation};
use rookery_base::app::App;
use rookery_base::error::{Error, Result as Answered};
use rookery_base::figures::{self, traces::Trace};
use rookery_core::workspace::keys::Agent;
use rookery_http::answers::status;

pub const OUR_FAULT: &str = "Something went wrong on our side. Try again shortly.";

/// The authenticated caller of a request. `api::door` has checked the key and counted the request.
pub struct Caller {
    pub app: Arc<App>,
    pub actor: Agent,
}

impl Caller {
    pub fn from_context(context: &RequestContext<RoleServer>) -> Result<&Self, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<Arc<Self>>());
        caller.map(Arc::as_ref).ok_or_else(|| ErrorData::internal_error(OUR_FAULT, None))
    }

    /// Does what was asked of an operation, and counts it.
    ///
    /// `rmcp` runs this in a task of its own, where a panic would leave the client waiting for ever: no layer around the
    /// HTTP handler sees it.
    pub async fn carry_out<T>(
        &self,
        door: &'static str,
        entry: &RegisteredOperation,
        work: impl Future<Output = Answered<T>>,
    ) -> Answered<T> {
        let started = Instant::now();
        let answered = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(answered) => answered,
            Err(_) => Err(Error::internal("a tool panicked")),
        };
        if let Err(Error::Internal(cause)) = &answered {
            tracing::error!(%cause, "{door} failed");
        }
        let status = answered.as_ref().map_or_else(|error| status(error.status()), |_| StatusCode::OK);
        let (method, operation, took) = (&Method::POST, entry.spec.name, started.elapsed());
        self.app.figures.answered(figures::Answered {
            door,
            method,
            operation,
            status,
            took,
            trace: Trace::Own,
        });
        answered
    }
}

/// Operations that models can use.
pub fn tools() -> impl Iterator<Item = &'static RegisteredOperation> {
    OPERATIONS.iter().filter(|entry| entry.spec.has_tool)
}

pub fn is_read(tool: &RegisteredOperation) -> bool {
    tool.spec.method == operation::Method::Get
}

/// How a failure reads: the code and the sentence of REST.
pub fn describe_error(error: &Error) -> String {
    format!("{} {}", error.status(), error.sentence())
}

/// Metadata that says one thing.
pub fn meta(name: &str, value: impl Into<Value>) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(name.into(), value.into());
    meta
}
