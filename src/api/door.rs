//! The HTTP frame of REST and MCP: size, origin, key and rate, in the order of the specification, before
//! anything is asked of an operation; one form for every answer and every error (specification 5, 7, 8).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;
use url::Url;

use crate::api::input::Given;
use crate::api::mcp::{self, Caller, McpDoor};
use crate::api::registry;
use crate::api::{hooks, openapi, rest};
use crate::app::App;
use crate::error::{Error, NO_ENDPOINT, Result};
use crate::rate::{self, Left, Subject};
use crate::workspace::access::Actor;
use crate::workspace::keys;

const MCP_PATH: &str = "/mcp";
const MOST_MCP_BYTES: usize = 8 << 20;
/// A body that takes longer than this to arrive is given up.
const BODY_TIME: Duration = Duration::from_secs(30);

struct Door {
    app: Arc<App>,
    mcp: McpDoor,
    origins: Vec<String>,
}

/// Everything the service answers over HTTP.
pub fn router(app: Arc<App>) -> Router {
    let origins = app.config.origins();
    let hooks = hooks::router(app.clone());
    let door = Arc::new(Door { app, mcp: McpDoor::open(), origins });
    Router::new()
        .route("/livez", get(async || answer(StatusCode::OK, json!({ "ok": true }).to_string())))
        .route("/readyz", get(ready))
        .route("/openapi.json", get(public_description))
        .route(MCP_PATH, any(frame))
        .route(rest::PREFIX, any(frame))
        .route(&format!("{}/", rest::PREFIX), any(frame))
        .route(&format!("{}/{{*path}}", rest::PREFIX), any(frame))
        .with_state(door)
        .merge(hooks)
        .fallback(async || refusal(&NO_ENDPOINT))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| {
            tracing::error!("a request panicked");
            refusal(&Error::internal("panic"))
        }))
}

/// One request of a machine, from its first check to its last header.
async fn frame(State(door): State<Arc<Door>>, request: Request) -> Response {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let mut seen = Seen::default();
    let mut response = match door.handle(&parts.method, &parts.uri, &parts.headers, body, &mut seen).await {
        Ok(response) => response,
        Err(error) => refusal(&error),
    };
    let id = door.app.random.hex(32);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id);
    }
    door.add_origin(&parts.headers, headers);
    // Neither path nor query is logged: both can hold a customer's words, or a key put in the wrong place.
    tracing::info!(
        request = id,
        operation = seen.operation,
        workspace = seen.caller.as_ref().map(|actor| actor.workspace.to_string()),
        agent = seen.caller.as_ref().map(|actor| actor.agent.to_string()),
        status = response.status().as_u16(),
        milliseconds = started.elapsed().as_millis() as u64,
        "request"
    );
    response
}

/// What the log line of a request says.
#[derive(Default)]
struct Seen {
    operation: &'static str,
    caller: Option<Actor>,
}

impl Door {
    async fn handle(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: Body,
        seen: &mut Seen,
    ) -> Result<Response> {
        let is_mcp = uri.path() == MCP_PATH;
        self.check_origin(headers)?;
        if is_mcp {
            self.check_host(headers)?;
        }
        if method == Method::OPTIONS {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        if is_mcp && method != Method::POST {
            let mut response = mcp::refuse_method();
            dress(response.headers_mut());
            return Ok(response);
        }
        let most = if is_mcp { MOST_MCP_BYTES } else { rest::most_body_bytes(uri.path()) };
        if body.size_hint().lower() > most as u64 {
            return Err(Error::TooLarge);
        }
        let key_hash = bearer(headers)?;
        let body = read(body, most).await?;

        let workspace = self.app.directory.workspace_of_key(key_hash).await?.ok_or(Error::Unauthorized)?;
        let mut conn = self.app.connection().await?;
        let actor = keys::authenticate(&mut conn, workspace, key_hash).await?.ok_or(Error::Unauthorized)?;
        seen.caller = Some(actor.clone());
        let counted = if is_mcp { mcp::request_count(&body) } else { 1 };
        let left = match self.count(&mut conn, &actor, counted).await? {
            Ok(left) => left,
            Err(retry_after) => {
                let mut response = refusal(&rate::slow_down(self.app.config.request_limit(), retry_after));
                let left = Left { remaining: 0, reset: retry_after };
                self.add_limit(response.status(), left, response.headers_mut());
                return Ok(response);
            }
        };

        let answered = if is_mcp {
            drop(conn);
            seen.operation = "mcp";
            self.answer_mcp(headers, actor, body).await
        } else {
            match rest::route(method.as_str(), uri.path()) {
                Ok((entry, id)) => {
                    seen.operation = entry.spec.name;
                    let given = match entry.spec.method {
                        crate::api::operation::Method::Get => Given::Query(uri.query().unwrap_or_default()),
                        crate::api::operation::Method::Post => Given::Body(&body),
                    };
                    let request = registry::Request { id, given };
                    entry
                        .call(&self.app, &actor, conn, request)
                        .await
                        .map(|done| answer(status(done.status), done.body))
                }
                Err(error) => Err(error),
            }
        };
        let mut response = answered.unwrap_or_else(|error| refusal(&error));
        self.add_limit(response.status(), left, response.headers_mut());
        Ok(response)
    }

    async fn answer_mcp(&self, headers: &HeaderMap, actor: Actor, body: Bytes) -> Result<Response> {
        actor.plan.needs_api()?;
        let caller = Caller { app: self.app.clone(), actor };
        let mut response = self.mcp.answer(headers, Arc::new(caller), body).await;
        dress(response.headers_mut());
        Ok(response)
    }

    /// Counts a request, or each message of an array. What is refused does not count, not even in part.
    async fn count(
        &self,
        conn: &mut sqlx::PgConnection,
        actor: &Actor,
        times: usize,
    ) -> Result<Result<Left, Duration>> {
        let limit = self.app.config.request_limit();
        let subject = Subject::Requests(actor.workspace, actor.agent);
        let now = self.app.clock.now();
        let mut left = Left { remaining: 0, reset: Duration::ZERO };
        for taken in 0..times {
            match self.app.rate.take(conn, subject, limit, now).await? {
                Ok(counted) => left = counted,
                Err(retry_after) => {
                    for _ in 0..taken {
                        self.app.rate.give_back(subject, limit, now).await;
                    }
                    return Ok(Err(retry_after));
                }
            }
        }
        Ok(Ok(left))
    }

    /// A request with an Origin comes from a browser: only the developer site's pages may ask.
    fn check_origin(&self, headers: &HeaderMap) -> Result<()> {
        match headers.get(header::ORIGIN) {
            None => Ok(()),
            Some(origin) if self.origins.iter().any(|allowed| origin == allowed.as_str()) => Ok(()),
            Some(_) => {
                Err(Error::Forbidden("Browsers may call this API from its developer site only.".into()))
            }
        }
    }

    /// A name that is not ours in Host means that somebody else's name was pointed at us.
    fn check_host(&self, headers: &HeaderMap) -> Result<()> {
        let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return Ok(()) };
        let asked = Url::parse(&format!("http://{host}")).ok();
        let ours = asked.is_some_and(|asked| match asked.host() {
            Some(url::Host::Domain(name)) => {
                name == "localhost" || Some(name) == self.app.config.public_url.host_str()
            }
            Some(_) => true,
            None => false,
        });
        if ours { Ok(()) } else { Err(Error::Forbidden("This host name is not served here.".into())) }
    }

    fn add_origin(&self, asked: &HeaderMap, headers: &mut HeaderMap) {
        let Some(origin) = asked.get(header::ORIGIN).filter(|_| self.check_origin(asked).is_ok()) else {
            return;
        };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let fixed = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
            (header::ACCESS_CONTROL_EXPOSE_HEADERS, "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy"),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }

    /// How much of the limit is left. A 404 does not say: answers about what a key cannot see are all alike.
    fn add_limit(&self, status: StatusCode, left: Left, headers: &mut HeaderMap) {
        let limit = self.app.config.request_limit();
        let policy = format!("\"requests\";q={};w={}", limit.most, limit.window.num_seconds());
        insert(headers, "ratelimit-policy", &policy);
        if status != StatusCode::NOT_FOUND {
            let remaining = format!("\"requests\";r={};t={}", left.remaining, left.reset.as_secs());
            insert(headers, "ratelimit", &remaining);
        }
    }
}

/// The hash of the one bearer key. The scheme's letter case does not matter; two headers are one too many.
fn bearer(headers: &HeaderMap) -> Result<[u8; 32]> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Err(Error::Unauthorized) };
    let (scheme, key) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or(Error::Unauthorized)?;
    let key = key.trim();
    match scheme.eq_ignore_ascii_case("bearer") && key.starts_with("rk_") && key.len() <= 100 {
        true => Ok(keys::hash(key)),
        false => Err(Error::Unauthorized),
    }
}

pub(super) async fn read(body: Body, most: usize) -> Result<Bytes> {
    match tokio::time::timeout(BODY_TIME, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        // The cap, or a connection that broke, where nobody reads the answer.
        Ok(Err(_)) => Err(Error::TooLarge),
        Err(_) => Err(Error::problem("request body", "took too long to arrive")),
    }
}

/// Ready means that requests can be served: the database answers and has the schema of this binary.
async fn ready(State(door): State<Arc<Door>>) -> Response {
    match crate::db::schema_is_current(&door.app.pool).await {
        Ok(true) => answer(StatusCode::OK, json!({ "ok": true }).to_string()),
        Ok(false) => {
            let body = json!({ "error": "The database has another schema. Run rookery migrate." });
            answer(StatusCode::SERVICE_UNAVAILABLE, body.to_string())
        }
        Err(error) => {
            tracing::warn!(%error, "not ready");
            let body = json!({ "error": "The database does not answer." });
            answer(StatusCode::SERVICE_UNAVAILABLE, body.to_string())
        }
    }
}

/// The same description that keys get, for tools that read it without one.
async fn public_description(State(door): State<Arc<Door>>) -> Response {
    match openapi::document(&door.app.config.public_url) {
        Ok(document) => answer(StatusCode::OK, document.get().to_owned()),
        Err(error) => refusal(&error),
    }
}

pub(super) fn answer(status: StatusCode, body: String) -> Response {
    let mut response = (status, body).into_response();
    dress(response.headers_mut());
    response
}

/// Every error is one JSON field. What caused a 500 is for the log alone.
pub(super) fn refusal(error: &Error) -> Response {
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

fn dress(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
