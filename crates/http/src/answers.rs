//! The form of every API response: JSON, never cached. An error is one sentence (specification 7, 8). Used by all
//! routes that answer programs.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use rookery_base::error::Error;

pub fn answer(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = (status, body.into()).into_response();
    dress(response.headers_mut());
    response
}

/// Every error is one JSON field. The cause of a 500 is only logged.
pub fn refusal(error: &Error) -> Response {
    if let Error::Internal(cause) = error {
        tracing::error!(%cause, "request failed");
    }
    let mut response = answer(status(error.status()), json!({ "error": error.sentence() }).to_string());
    let headers = response.headers_mut();
    match error {
        Error::Unauthorized => insert(headers, "www-authenticate", "Bearer"),
        Error::Method(allowed) => insert(headers, "allow", allowed),
        Error::SlowDown { retry_after, .. } => {
            insert(headers, "retry-after", &(retry_after.as_secs_f64().ceil() as u64).max(1).to_string());
        }
        Error::Internal(_) => insert(headers, "retry-after", "1"),
        _ => {}
    }
    response
}

/// The headers of every response.
pub fn dress(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

pub fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

pub fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
