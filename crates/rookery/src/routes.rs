//! All HTTP routes: operations, sign-in of clients, reports of connected services, pages, documentation and health; and those of the listener for
//! figures. A request that panics is answered with a 500 like any other.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;

use crate::worker::metrics;
use rookery_api::{door, downloads, oauth, sending_reports};
use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT};
use rookery_http::answers::refusal;
use rookery_http::bodies::Bodies;
use rookery_http::health;
use rookery_http::short_cache::ShortCache;
use rookery_http::unauthorized_log::UnauthorizedLog;

pub fn router(app: Arc<App>) -> Router {
    // A second router of the same app finds it set.
    let _ = app.loop_lags.set(|app| Box::pin(metrics::lags(app)));
    let app = Arc::new(app.for_requests());
    let bodies = Bodies::new(app.config.http_patience());
    let refusals = Arc::new(UnauthorizedLog::default());
    let router = Router::new()
        .merge(door::routes(app.clone(), bodies.clone(), refusals.clone()))
        .merge(oauth::routes(app.clone(), bodies.clone()))
        .merge(downloads::routes(app.clone()))
        .merge(sending_reports::routes(app.clone(), bodies.clone(), refusals))
        .merge(rookery_web::door::routes(app.clone(), bodies))
        .merge(rookery_site::door::routes(app.clone()))
        .merge(health::routes(app.clone()))
        .fallback(async |headers: HeaderMap| {
            rookery_web::customer::answers::nothing_for_browsers(&headers)
                .unwrap_or_else(|| refusal(&NO_ENDPOINT))
        });
    rookery_web::conversation::content::apart(router, app).layer(CatchPanicLayer::custom(
        |_: Box<dyn Any + Send>| {
            tracing::error!("a request panicked");
            refusal(&Error::internal("panic"))
        },
    ))
}

/// What the listener of ROOKERY_METRICS_LISTEN answers; the public one has nothing of it. The figures of each cell after the
/// first stand under its name: `/metrics/west`. They cost queries, so concurrent callers share one answer.
pub fn figures(cells: &[Arc<App>]) -> Router {
    let mut router = Router::new();
    for (number, app) in cells.iter().enumerate() {
        let (app, recent) = (app.clone(), Arc::new(ShortCache::default()));
        let path = match number {
            0 => "/metrics".to_owned(),
            _ => format!("/metrics/{}", app.config.cell()),
        };
        let figures = async move || {
            let text = recent.get(async { Bytes::from(metrics::text(&app).await) }).await;
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
        };
        router = router.route(&path, get(figures));
    }
    let health = cells.first().map(|app| health::routes(app.clone())).unwrap_or_default();
    router.merge(health).fallback(async || refusal(&NO_ENDPOINT))
}
