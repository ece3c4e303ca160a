//! In front of the routes of every cell: finds the workspace of a request and lets its cell answer. What is about no
//! workspace (documentation, health, the sign-in page) the first cell answers.
//!
//! A stream ends when its workspace has moved: the page opens another, which comes to the new cell.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures::StreamExt;
use tower::ServiceExt;

use super::{forward, whose};
use crate::app::App;
use crate::cells::{Cells, Place};
use crate::error::{Error, Result};
use crate::http::answers::refusal;
use crate::http::bodies::Bodies;
use crate::ids::WorkspaceId;
use crate::routes;
use crate::web::visit::MOST_STRANGERS_BYTES;

/// How often an open stream asks whether its workspace is still where it was. Until then a page hears of nothing that happens
/// in the new cell; each asks anew once a minute anyway.
const STREAM_LOOKS: Duration = Duration::from_secs(10);

struct Front {
    cells: Arc<Cells>,
    /// In the order of the cells here.
    routers: Vec<Router>,
    bodies: Arc<Bodies>,
}

/// The routes of a node: of its one cell, or of all that it serves, with what is elsewhere sent on.
pub fn router(cells: Arc<Cells>) -> Router {
    if !cells.in_fleet() {
        return routes::router(cells.first().clone());
    }
    let routers = cells.here().iter().map(|app| routes::router(app.clone())).collect();
    let bodies = Bodies::new(cells.first().config.http_patience());
    let front = Arc::new(Front { cells, routers, bodies });
    Router::new().fallback(async move |request: Request| {
        front.answer(request).await.unwrap_or_else(|error| refusal(&error))
    })
}

impl Front {
    async fn answer(self: Arc<Self>, request: Request) -> Result<Response> {
        let (parts, body) = request.into_parts();
        if whose::is_anybodys(&parts) && !forward::was_sent_on(&parts.headers) {
            return self.ask_all(parts, body).await;
        }
        let (workspace, body) = match whose::stands_in_form(&parts) {
            true => {
                let form = self.bodies.read(body, MOST_STRANGERS_BYTES, WorkspaceId(0)).await?.bytes;
                (whose::of_form(&form), Body::from(form))
            }
            false => (whose::workspace(self.cells.first(), &parts).await?, body),
        };
        let request = Request::from_parts(parts, body);
        let Some(workspace) = workspace else { return self.here(self.cells.first(), request).await };
        let place = self.cells.place(workspace).await?;
        let response = match &place {
            Place::Here(app) => self.here(app, request).await?,
            Place::Elsewhere(cell) => forward::send_on(cell, request).await?,
        };
        Ok(match is_stream(&response) {
            true => self.ending_with_a_move(response, workspace, place),
            false => response,
        })
    }

    async fn here(&self, app: &Arc<App>, request: Request) -> Result<Response> {
        let at = self.cells.here().iter().position(|known| Arc::ptr_eq(known, app));
        let router = at.and_then(|at| self.routers.get(at)).ok_or_else(|| Error::internal("no such cell"))?;
        match router.clone().oneshot(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }

    /// The cells of this node and one node of each other. A link is mailed by every cell that knows the address; a session
    /// is begun by the first that knows who it is. All say the same to everybody else.
    async fn ask_all(&self, parts: Parts, body: Body) -> Result<Response> {
        let form = self.bodies.read(body, MOST_STRANGERS_BYTES, WorkspaceId(0)).await?;
        let again = || copy(&parts, &form.bytes);
        let mut first = None;
        for app in self.cells.here() {
            let response = self.here(app, again()).await?;
            match lets_in(&response) {
                true => return Ok(response),
                false => first = first.or(Some(response)),
            }
        }
        for cell in self.cells.first().directory.cells().await? {
            if self.cells.served(&cell.name).is_some() || cell.address.is_none() {
                continue;
            }
            match forward::send_on(&cell, again()).await {
                Ok(response) if lets_in(&response) => return Ok(response),
                Ok(_) => {}
                // Whoever lives in another cell can still come in.
                Err(error) => {
                    tracing::warn!(%error, cell = cell.name, "a cell could not be asked who signs in")
                }
            }
        }
        first.ok_or_else(|| Error::internal("no cell is served here"))
    }

    fn ending_with_a_move(
        self: Arc<Self>,
        response: Response,
        workspace: WorkspaceId,
        was: Place,
    ) -> Response {
        let name = |place: &Place| match place {
            Place::Here(app) => app.config.cell().to_owned(),
            Place::Elsewhere(cell) => cell.name.clone(),
        };
        let was = name(&was);
        let moved = async move {
            loop {
                tokio::time::sleep(STREAM_LOOKS).await;
                // Who cannot be asked has moved nothing.
                if self.cells.place(workspace).await.is_ok_and(|place| name(&place) != was) {
                    return;
                }
            }
        };
        let (parts, body) = response.into_parts();
        Response::from_parts(parts, Body::from_stream(body.into_data_stream().take_until(Box::pin(moved))))
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Whether somebody was recognised: they are led on.
fn lets_in(response: &Response) -> bool {
    response.status() == StatusCode::SEE_OTHER
}

fn copy(parts: &Parts, body: &Bytes) -> Request {
    let mut request = Request::new(Body::from(body.clone()));
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.headers_mut() = parts.headers.clone();
    *request.extensions_mut() = parts.extensions.clone();
    request
}
