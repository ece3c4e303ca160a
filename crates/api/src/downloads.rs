//! `/files/{ticket}`: a document's file for whoever has its address (`GET /documents/{id}/download`), to be saved and never to be
//! opened by a browser. What was altered, has ended, is hidden or never was is the same 404, told before the database is
//! asked; what is given counts as a request of the key that asked for the address.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::get;

use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::figures::Answered;
use rookery_base::figures::traces::Trace;
use rookery_base::limits::rate::{RateKey, slow_down};
use rookery_http::answers::{insert, refusal};
use rookery_http::files::attached;
use rookery_product::documents::download::{PATH, Ticket};

pub fn routes(app: Arc<App>) -> Router {
    Router::new().route(&format!("{PATH}/{{ticket}}"), get(file)).with_state(app)
}

async fn file(State(app): State<Arc<App>>, Path(text): Path<String>) -> Response {
    let started = Instant::now();
    let mut response = given(&app, &text).await.unwrap_or_else(|error| match error {
        Error::Missing(_) => refusal(&NO_ENDPOINT),
        other => refusal(&other),
    });
    let (status, took) = (response.status(), started.elapsed());
    let headers = response.headers_mut();
    insert(headers, "cache-control", "no-store");
    insert(headers, "referrer-policy", "no-referrer");
    insert(headers, "x-robots-tag", "noindex, nofollow, noarchive");
    let (door, method, operation, trace) = ("api", &Method::GET, "document_file", Trace::Own);
    app.figures.answered(Answered { door, method, operation, status, took, trace });
    response
}

async fn given(app: &App, text: &str) -> Result<Response> {
    let ticket = Ticket::read(app, text).ok_or(NO_ENDPOINT)?;
    let mut conn = app.connection_of(ticket.workspace).await?;
    let (subject, limit) = (RateKey::Requests(ticket.workspace, ticket.agent), app.config.request_limit());
    if let Err(retry_after) = app.rate.take(&mut conn, subject, limit, app.clock.now()).await? {
        return Err(slow_down(limit, retry_after));
    }
    let file = ticket.open(&mut conn).await?;
    // Whoever is slow to take a file keeps no connection to the database.
    drop(conn);
    Ok(attached(app.blobs.read(&file.blob).await?, &file.filename))
}
