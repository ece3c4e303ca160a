//! Health checks: `/livez` and `/readyz`. Load balancers call them often and without a key, so the database is
//! asked at most once a second for all of them.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde_json::json;

use crate::answers::answer;
use crate::short_cache::ShortCache;
use rookery_base::app::App;
use rookery_base::store::db;

struct Health {
    app: Arc<App>,
    readiness: ShortCache<(StatusCode, &'static str)>,
}

pub fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/livez", get(async || answer(StatusCode::OK, json!({ "ok": true }).to_string())))
        .route("/readyz", get(ready))
        .with_state(Arc::new(Health { app, readiness: ShortCache::default() }))
}

/// Ready means that requests can be served: the database answers and has the schema of this binary.
async fn ready(State(health): State<Arc<Health>>) -> Response {
    if health.app.leaving.is_told() {
        let body = json!({ "error": "This node is about to stop. Ask another." });
        return answer(StatusCode::SERVICE_UNAVAILABLE, body.to_string());
    }
    let judging = async {
        match db::schema_is_current(&health.app.pool).await {
            Ok(true) => (StatusCode::OK, ""),
            Ok(false) => {
                (StatusCode::SERVICE_UNAVAILABLE, "The database has another schema. Run rookery migrate.")
            }
            Err(error) => {
                tracing::warn!(%error, "not ready");
                (StatusCode::SERVICE_UNAVAILABLE, "The database does not answer.")
            }
        }
    };
    let (status, problem) = health.readiness.get(judging).await;
    let body = if status == StatusCode::OK { json!({ "ok": true }) } else { json!({ "error": problem }) };
    answer(status, body.to_string())
}
