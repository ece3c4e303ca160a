//! The sample of docs/webhooks.md in Rust; tests/it/webhooks/delivering.rs runs it.

use axum::http::HeaderMap;
use standardwebhooks::Webhook;

/// True when one of the signatures fits and the request is not older than five minutes.
pub fn verify(secret: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    Webhook::new(secret).is_ok_and(|webhook| webhook.verify(body, headers).is_ok())
}
