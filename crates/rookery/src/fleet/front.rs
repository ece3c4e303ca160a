//! In front of the routes of every cell: finds the workspace of a request and lets its cell answer. What is about no
//! workspace (documentation, health, the sign-in page) the first cell answers.
//!
//! A stream ends when its workspace has moved: the page opens another, which comes to the new cell.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tower::ServiceExt;

use super::forward::Patience;
use super::owed::Owed;
use super::{forward, whose};
use crate::routes;
use rookery_base::app::App;
use rookery_base::cells::{CellPlace, Cells};
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_http::answers::refusal;
use rookery_http::bodies::{Bodies, Caller};
use rookery_http::serve::From;
use rookery_web::visit::MOST_STRANGERS_BYTES;

/// How often an open stream asks whether its workspace is still where it was. Until then a page hears of nothing that happens
/// in the new cell; each asks anew once a minute anyway.
const STREAM_LOOKS: Duration = Duration::from_secs(10);

/// One cell may owe answers to this part of a node's connections.
const SHARE: usize = 4;
/// How long a cell may take that is asked who signs in. The others are asked after it.
const ASKING: Patience = Patience { begins: Duration::from_secs(5), ..Patience::USUAL };

struct Front {
    cells: Arc<Cells>,
    /// In the order of the cells here.
    routers: Vec<Router>,
    bodies: Arc<Bodies>,
    /// Of nodes of other cells.
    owed: Owed,
}

/// The routes of a node: of its one cell, or of all that it serves, with what is elsewhere sent on.
pub fn router(cells: Arc<Cells>) -> Router {
    if !cells.in_fleet() {
        return routes::router(cells.first().clone());
    }
    let routers = cells.here().iter().map(|app| routes::router(app.clone())).collect();
    let config = &cells.first().config;
    let bodies = Bodies::new(config.http_patience());
    let owed = Owed::new((config.http_connections as usize / SHARE).max(1));
    let front = Arc::new(Front { cells, routers, bodies, owed });
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
        let (workspace, body) = if whose::stands_in_form(&parts) {
            let form = self.bodies.read(body, MOST_STRANGERS_BYTES, self.stranger(&parts)).await?.bytes;
            (whose::of_form(&form), Body::from(form))
        } else {
            (whose::workspace(self.cells.first(), &parts).await?, body)
        };
        let request = Request::from_parts(parts, body);
        let Some(workspace) = workspace else { return self.here(self.cells.first(), request).await };
        let place = self.cells.place(workspace).await?;
        let response = match &place {
            CellPlace::Here(app) => self.here(app, request).await?,
            CellPlace::Elsewhere(cell) => {
                forward::send_on(&self.owed, cell, Some(workspace), request, Patience::USUAL).await?
            }
        };
        Ok(if is_stream(&response) { self.ending_with_a_move(response, workspace, place) } else { response })
    }

    fn stranger(&self, parts: &Parts) -> Caller {
        let from = parts.extensions.get::<From>().copied().unwrap_or(From(Ipv4Addr::UNSPECIFIED.into()));
        Caller::Stranger(from.asker(&self.cells.first().config.trusted_proxies, &parts.headers))
    }

    async fn here(&self, app: &Arc<App>, request: Request) -> Result<Response> {
        let at = self.cells.here().iter().position(|known| Arc::ptr_eq(known, app));
        let router = at.and_then(|at| self.routers.get(at)).ok_or_else(|| Error::internal("no such cell"))?;
        match router.clone().oneshot(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }

    /// The cells of this node, then one node of each other. A link is mailed by every cell that knows the address; a session
    /// is begun by the first that knows who it is. All say the same to everybody else.
    async fn ask_all(&self, parts: Parts, body: Body) -> Result<Response> {
        let form = self.bodies.read(body, MOST_STRANGERS_BYTES, self.stranger(&parts)).await?;
        let again = || copy(&parts, &form.bytes);
        let mut first = None;
        for app in self.cells.here() {
            let response = self.here(app, again()).await?;
            if lets_in(&response) {
                return Ok(response);
            }
            first = first.or(Some(response));
        }
        let cells = self.cells.all().await?;
        let elsewhere =
            cells.iter().filter(|cell| self.cells.served(&cell.name).is_none() && cell.address.is_some());
        // At once, so that nobody waits for one that hangs after another.
        let mut asked: FuturesUnordered<_> = elsewhere
            .map(|cell| {
                let request = again();
                async move { (cell, forward::send_on(&self.owed, cell, None, request, ASKING).await) }
            })
            .collect();
        while let Some((cell, answered)) = asked.next().await {
            match answered {
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
        was: CellPlace,
    ) -> Response {
        let name = |place: &CellPlace| match place {
            CellPlace::Here(app) => app.config.cell().to_owned(),
            CellPlace::Elsewhere(cell) => cell.name.clone(),
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
