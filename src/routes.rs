//! All HTTP routes: operations, sign-in of clients, reports of connected services, pages, documentation and health; and those of the listener for
//! figures. A request that panics is answered with a 500 like any other.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::{door, downloads, oauth, sending_reports};
use crate::app::App;
use crate::error::{Error, NO_ENDPOINT};
use crate::http::answers::refusal;
use crate::http::bodies::Bodies;
use crate::http::health;
use crate::http::short_cache::ShortCache;
use crate::http::unauthorized_log::UnauthorizedLog;
use crate::site;
use crate::web;
use crate::worker::metrics;

pub fn router(app: Arc<App>) -> Router {
    // A second router of the same app finds it set.
    let _ = app.loop_lags.set(|app| Box::pin(metrics::lags(app)));
    let bodies = Bodies::new(app.config.http_patience());
    let refusals = Arc::new(UnauthorizedLog::default());
    let router = Router::new()
        .merge(door::routes(app.clone(), bodies.clone(), refusals.clone()))
        .merge(oauth::routes(app.clone(), bodies.clone()))
        .merge(downloads::routes(app.clone()))
        .merge(sending_reports::routes(app.clone(), bodies.clone(), refusals))
        .merge(web::door::routes(app.clone(), bodies))
        .merge(site::door::routes(app.clone()))
        .merge(health::routes(app.clone()))
        .fallback(async |headers: HeaderMap| {
            web::customer::answers::nothing_for_browsers(&headers).unwrap_or_else(|| refusal(&NO_ENDPOINT))
        });
    web::conversation::content::apart(router, app).layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| {
        tracing::error!("a request panicked");
        refusal(&Error::internal("panic"))
    }))
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
