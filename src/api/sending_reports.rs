//! Endpoint where connected sending services report the mail they sent (specification 4.13.4). The webhook
//! signature is the only authentication. An unknown connection, a wrong signature and a wrong timestamp get the
//! same 401. Headers are checked first; the body is read only when there is a secret to verify it with.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::app::App;
use crate::app_mail::connect::REPORT_PATH;
use crate::app_mail::reports::{accept, signing_secret};
use crate::error::{Error, Result};
use crate::http::answers::{answer, refusal};
use crate::http::bodies::Bodies;
use crate::http::serve::From;
use crate::http::unauthorized_log::UnauthorizedLog;
use crate::secrets::signed_requests::Signature;

/// Body limit. A report holds at most 50 recipients and a subject, which is far less in any encoding.
const MOST_BYTES: usize = 256 << 10;
/// Database connections that unauthenticated requests may use at once.
const LOOK_UPS: usize = 2;

struct Reports {
    app: Arc<App>,
    bodies: Arc<Bodies>,
    refusals: Arc<UnauthorizedLog>,
    look_ups: Semaphore,
}

pub fn routes(app: Arc<App>, bodies: Arc<Bodies>, refusals: Arc<UnauthorizedLog>) -> Router {
    let hooks = Arc::new(Reports { app, bodies, refusals, look_ups: Semaphore::new(LOOK_UPS) });
    Router::new()
        .route(&format!("{REPORT_PATH}/{{workspace}}/{{service}}"), post(sent_mail))
        .with_state(hooks)
}

async fn sent_mail(
    State(hooks): State<Arc<Reports>>,
    Path(place): Path<(String, String)>,
    from: Option<Extension<From>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let started = Instant::now();
    let response = match hooks.note(&place, &headers, body).await {
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
    let status = response.status();
    let asker = from.map(|Extension(from)| from.asker(&hooks.app.config.trusted_proxies, &headers));
    if status != StatusCode::UNAUTHORIZED || hooks.refusals.should_log(asker) {
        tracing::info!(status = status.as_u16(), milliseconds, "report of a sending service");
    }
    response
}

impl Reports {
    async fn note(&self, place: &(String, String), headers: &HeaderMap, body: Body) -> Result<bool> {
        if body.size_hint().lower() > MOST_BYTES as u64 {
            return Err(Error::TooLarge);
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let named = (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
        let (Some(id), Some(seconds), Some(signatures)) = named else { return Err(Error::Unauthorized) };
        let seconds = seconds.parse().map_err(|_| Error::Unauthorized)?;
        let signature = Signature::read(id, seconds, signatures, self.app.clock.now());
        let signature = signature.ok_or(Error::Unauthorized)?;
        let (Ok(workspace), Ok(service)) = (place.0.parse(), place.1.parse()) else {
            return Err(Error::Unauthorized);
        };
        let looking = self.look_ups.acquire().await.map_err(Error::internal)?;
        let secret = signing_secret(&self.app, workspace, service).await?.ok_or(Error::Unauthorized)?;
        drop(looking);
        let body = self.bodies.read(body, MOST_BYTES, workspace).await?;
        if !signature.is_by(&secret, &body.bytes) {
            return Err(Error::Unauthorized);
        }
        accept(&self.app, workspace, service, &body.bytes).await
    }
}
