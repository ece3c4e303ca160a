//! The door of services that people connected (specification 4.13.4): each request is signed, nothing else counts.
//! Whatever is wrong with the connection, the signature or its time is one and the same 401.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde_json::json;

use crate::api::door::{answer, read, refusal};
use crate::app::App;
use crate::app_mail::connect::HOOK;
use crate::app_mail::hear::hear;
use crate::error::{Error, Result};
use crate::signed::Signed;

/// Fifty recipients and a subject are far less, however they are written.
const MOST_BYTES: usize = 256 << 10;

pub fn router(app: Arc<App>) -> Router {
    Router::new().route(&format!("{HOOK}/{{workspace}}/{{service}}"), post(sent_mail)).with_state(app)
}

async fn sent_mail(
    State(app): State<Arc<App>>,
    Path(place): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let started = Instant::now();
    let response = match note(&app, &place, &headers, body).await {
        Ok(first) => {
            let status = if first { StatusCode::CREATED } else { StatusCode::OK };
            answer(status, json!({ "ok": true }).to_string())
        }
        Err(Error::Unauthorized) => {
            let body = json!({ "error": "This is not signed by a connected service." });
            answer(StatusCode::UNAUTHORIZED, body.to_string())
        }
        Err(error) => refusal(&error),
    };
    let milliseconds = started.elapsed().as_millis() as u64;
    tracing::info!(status = response.status().as_u16(), milliseconds, "a sending service told of mail");
    response
}

async fn note(
    app: &App,
    (workspace, service): &(String, String),
    headers: &HeaderMap,
    body: Body,
) -> Result<bool> {
    if body.size_hint().lower() > MOST_BYTES as u64 {
        return Err(Error::TooLarge);
    }
    let body = read(body, MOST_BYTES).await?;
    let (Ok(workspace), Ok(service)) = (workspace.parse(), service.parse()) else {
        return Err(Error::Unauthorized);
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let named = (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    let (Some(id), Some(seconds), Some(signatures)) = named else { return Err(Error::Unauthorized) };
    let seconds = seconds.parse().map_err(|_| Error::Unauthorized)?;
    hear(app, workspace, service, &Signed { id, seconds, signatures, body: &body }).await
}
