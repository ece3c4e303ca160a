//! The HTTP frame of REST and MCP: size, origin, key and rate, in the order of the specification, before
//! anything is asked of an operation; one form for every answer and every error (specification 5, 7, 8).

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use chrono::{DateTime, Utc};
use tokio::sync::Semaphore;
use url::Url;

use crate::cursor;
use crate::dry_run;
use crate::idempotency::{Key, REPLAYED};
use crate::mcp::{self, Caller, McpDoor};
use crate::oauth;
use crate::registry;
use crate::{openapi, rest};
use rookery_base::app::App;
use rookery_base::breaking_changes::{self, BreakingChange};
use rookery_base::error::{Error, Result};
use rookery_base::figures::Answered;
use rookery_base::figures::traces::Trace;
use rookery_base::limits::fair_seats::Asker;
use rookery_base::limits::rate::{self, RateKey, RateLeft};
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::calls::{About, AgentCall, Did};
use rookery_base::store::connection::DatabaseConnection;
use rookery_core::workspace::clients::RESOURCE_PATH;
use rookery_core::workspace::keys::{self, Agent};
use rookery_http::answers::{answer, dress, insert, refusal, status};
use rookery_http::bodies::{Bodies, Caller as BodyOf, WholeBody};
use rookery_http::files::attached;
use rookery_http::serve::{ClientPresence, From};
use rookery_http::unauthorized_log::UnauthorizedLog;

const MCP_PATH: &str = "/mcp";
const MOST_MCP_BYTES: usize = 8 << 20;
/// Most look-ups of tokens at once, so that invalid tokens delay only each other.
const LOOK_UPS: usize = 4;
/// How long a connection to the database is held while the body arrives. Most bodies have arrived by then.
const AT_HAND: Duration = Duration::from_millis(5);

struct Door {
    app: Arc<App>,
    mcp: McpDoor,
    origins: Vec<String>,
    bodies: Arc<Bodies>,
    refusals: Arc<UnauthorizedLog>,
    look_ups: Semaphore,
    description: OnceLock<Bytes>,
}

/// The paths of REST and MCP, and the description of both.
pub fn routes(app: Arc<App>, bodies: Arc<Bodies>, refusals: Arc<UnauthorizedLog>) -> Router {
    let origins = app.config.origins();
    let (mcp, look_ups) = (McpDoor::open(), Semaphore::new(LOOK_UPS));
    let door = Arc::new(Door { app, mcp, origins, bodies, refusals, look_ups, description: OnceLock::new() });
    Router::new()
        .route("/openapi.json", get(public_description))
        .route(MCP_PATH, any(frame))
        .route(RESOURCE_PATH, any(frame))
        .route(rest::PREFIX, any(frame))
        .route(&format!("{}/", rest::PREFIX), any(frame))
        .route(&format!("{}/{{*path}}", rest::PREFIX), any(frame))
        .with_state(door)
}

/// One request of a machine, from its first check to its last header.
async fn frame(State(door): State<Arc<Door>>, request: Request) -> Response {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let mut seen = Seen::default();
    let mut response = match door.handle(&parts, body, &mut seen).await {
        Ok(response) => response,
        Err(Error::Unauthorized) if parts.uri.path() == RESOURCE_PATH => {
            oauth::ask_to_sign_in(&door.app, parts.headers.contains_key(header::AUTHORIZATION))
        }
        Err(error) => refusal(&error),
    };
    let id = door.app.random.hex(32);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id);
    }
    door.add_origin(&parts.headers, headers);
    door.app.figures.answered(Answered {
        door: if is_mcp(parts.uri.path()) { "mcp" } else { "api" },
        method: &parts.method,
        operation: seen.operation,
        status: response.status(),
        took: started.elapsed(),
        trace: Trace::from_headers(&parts.headers, &id),
    });
    let from = parts.extensions.get::<From>();
    let asker = || from.map(|from| from.asker(&door.app.config.trusted_proxies, &parts.headers));
    if let (Some(caller), Some(from)) = (&seen.caller, from) {
        let now = door.app.clock.now();
        door.app.key_uses.note(caller.workspace, caller.id, now, || {
            let client = parts.headers.get(header::USER_AGENT).and_then(|client| client.to_str().ok());
            let from = from.asker(&door.app.config.trusted_proxies, &parts.headers);
            (from, client.unwrap_or_default().to_owned())
        });
    }
    // What an operation refuses is noted by it.
    if let Some(caller) = &seen.caller
        && response.status().is_client_error()
        && ["", "mcp"].contains(&seen.operation)
    {
        let call = AgentCall {
            workspace: caller.workspace,
            agent: caller.id,
            did: Did::Refused,
            operation: "",
            status: response.status().as_u16(),
            about: About::Nothing,
        };
        door.app.agent_calls.note(call, door.app.clock.now());
    }
    if seen.caller.is_none() && !door.refusals.should_log(asker()) {
        return response;
    }
    // Neither path nor query is logged: both can hold a customer's words, or a key put in the wrong place.
    tracing::info!(
        request = id,
        operation = seen.operation,
        workspace = seen.caller.as_ref().map(|actor| actor.workspace.to_string()),
        agent = seen.caller.as_ref().map(|actor| actor.id.to_string()),
        client = asker().map(|client| client.to_string()),
        status = response.status().as_u16(),
        milliseconds = started.elapsed().as_millis() as u64,
        "request"
    );
    response
}

/// The tool server, for keys and for clients that people signed in to.
fn is_mcp(path: &str) -> bool {
    [MCP_PATH, RESOURCE_PATH].contains(&path)
}

/// A request that was admitted, with its whole body.
struct Admitted {
    conn: DatabaseConnection,
    actor: Agent,
    body: WholeBody,
    left: RateLeft,
}

/// What the log line of a request says.
#[derive(Default)]
struct Seen {
    operation: &'static str,
    caller: Option<Agent>,
}

impl Door {
    async fn handle(&self, parts: &Parts, body: Body, seen: &mut Seen) -> Result<Response> {
        let Parts { method, uri, headers, .. } = parts;
        let is_mcp = is_mcp(uri.path());
        self.check_origin(headers)?;
        if is_mcp {
            self.check_host(headers)?;
        }
        if method == Method::OPTIONS {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        if is_mcp && method != Method::POST {
            // Clients find out by any method that they have to sign in.
            if uri.path() == RESOURCE_PATH {
                self.judge(&self.app, Credential::from_parts(parts)?).await?;
            }
            let mut response = mcp::refuse_method();
            dress(response.headers_mut());
            return Ok(response);
        }
        let most = if is_mcp { MOST_MCP_BYTES } else { rest::most_body_bytes(uri.path()) };
        if body.size_hint().lower() > most as u64 {
            return Err(Error::TooLarge);
        }
        let client =
            parts.extensions.get::<ClientPresence>().cloned().unwrap_or_else(ClientPresence::staying);
        let credential = Credential::from_parts(parts)?;
        let app = Arc::new(self.app.asked_by(credential.asker()));
        let admitted = tokio::select! {
            admitted = self.admit(&app, credential, body, most, parts, seen) => admitted?,
            // Nothing was changed until here.
            () = client.clone().left() => return Ok(nobody()),
        };
        let Admitted { conn, actor, body, left } = match admitted {
            Ok(admitted) => admitted,
            Err(refused) => return Ok(refused),
        };

        let mut ending = None;
        let answered = if is_mcp {
            drop(conn);
            seen.operation = "mcp";
            self.answer_mcp(app, headers, actor, body.bytes.clone()).await
        } else {
            let query = uri.query().unwrap_or_default();
            match rest::route(method.as_str(), uri.path(), query, &body.bytes) {
                Ok((entry, id, given)) => {
                    seen.operation = entry.spec.name;
                    ending = breaking_changes::first(self.app.breaking_changes, entry.spec.name);
                    let request = registry::Request { id, given, key: Key::of_headers(headers) };
                    let called = entry.call(&app, &actor, conn, request);
                    let done = tokio::select! {
                        done = called => done,
                        () = client.left(), if entry.spec.waits => return Ok(nobody()),
                    };
                    match done {
                        Ok(done) => self.hand_over(done, uri).await,
                        Err(error) => Err(error),
                    }
                }
                Err(error) => Err(error),
            }
        };
        let mut response = answered.unwrap_or_else(|error| refusal(&error));
        for (name, value) in ending.into_iter().flat_map(BreakingChange::headers) {
            insert(response.headers_mut(), name, &value);
        }
        Ok(self.with_limit(response, left))
    }

    /// The HTTP response to an answer: JSON, or a file to be saved.
    async fn hand_over(&self, done: registry::OperationAnswer, uri: &Uri) -> Result<Response> {
        let Some(file) = done.file else {
            let mut response = answer(status(done.status), done.body);
            if done.replayed {
                insert(response.headers_mut(), REPLAYED, "true");
            }
            if done.dry {
                insert(response.headers_mut(), dry_run::HEADER, "true");
            }
            if let Some(next) = done.next {
                let here = self.app.config.public_url.as_str();
                let link = cursor::link(here, uri.path(), uri.query().unwrap_or_default(), &next);
                insert(response.headers_mut(), "link", &link);
            }
            return Ok(response);
        };
        let mut response = attached(self.app.blobs.read(&file.blob).await?, &file.filename);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// Checks the key and the rate limit and reads the body. The inner error is the response to a request that is refused.
    async fn admit(
        &self,
        app: &App,
        credential: Credential,
        body: Body,
        most: usize,
        head: &Parts,
        seen: &mut Seen,
    ) -> Result<Result<Admitted, Response>> {
        let (mut conn, actor) = self.judge(app, credential).await?;
        seen.caller = Some(actor.clone());
        let asked = self.app.clock.now();
        let counted = match self.count(&mut conn, &actor, 1, asked).await? {
            Ok(left) => left,
            Err(retry_after) => return Ok(Err(self.slow_down(retry_after))),
        };
        let (mut conn, body) = match self.read(app, conn, body, most, &actor).await {
            Ok(read) => read,
            Err(error) => return Ok(Err(self.with_limit(refusal(&error), counted))),
        };
        let counts_as = if is_mcp(head.uri.path()) {
            mcp::request_count(&body.bytes)
        } else {
            rest::request_count(head.method.as_str(), head.uri.path(), &body.bytes)
        };
        let left = match counts_as - 1 {
            0 => counted,
            more => match self.count(&mut conn, &actor, more, self.app.clock.now()).await? {
                Ok(left) => left,
                Err(retry_after) => {
                    let subject = RateKey::Requests(actor.workspace, actor.id);
                    self.app.rate.give_back(subject, self.app.config.request_limit(), asked).await;
                    return Ok(Err(self.slow_down(retry_after)));
                }
            },
        };
        Ok(Ok(Admitted { conn, actor, body, left }))
    }

    /// Whose key or token it is. Only the head of the request was read before this.
    async fn judge(&self, app: &App, credential: Credential) -> Result<(DatabaseConnection, Agent)> {
        let directory = &app.directory;
        let key_hash = match credential {
            Credential::Key(hash) => hash,
            Credential::Token(token) => {
                let turn = self.look_ups.acquire().await.map_err(Error::internal)?;
                let mut conn = app.connection().await?;
                let actor = keys::authenticate_client(&mut conn, &token, app.clock.now()).await?;
                let actor = actor.ok_or(Error::Unauthorized)?;
                drop(turn);
                return Ok((app.connection_turns_out_of(conn, actor.workspace).await?, actor));
            }
        };
        let workspace = directory.workspace_of_key(key_hash).await?.ok_or(Error::Unauthorized)?;
        let mut conn = app.connection_of(workspace).await?;
        match keys::authenticate(&mut conn, workspace, key_hash).await? {
            Some(actor) => Ok((conn, actor)),
            None => {
                directory.refuse(key_hash);
                Err(Error::Unauthorized)
            }
        }
    }

    /// Reads the body. The connection to the database is given back while a slow client sends it.
    async fn read(
        &self,
        app: &App,
        conn: DatabaseConnection,
        body: Body,
        most: usize,
        actor: &Agent,
    ) -> Result<(DatabaseConnection, WholeBody)> {
        let mut reading = pin!(self.bodies.read(body, most, BodyOf::Workspace(actor.workspace)));
        if let Ok(read) = tokio::time::timeout(AT_HAND, reading.as_mut()).await {
            return Ok((conn, read?));
        }
        drop(conn);
        let whole = reading.await?;
        Ok((app.connection_of(actor.workspace).await?, whole))
    }

    async fn answer_mcp(
        &self,
        app: Arc<App>,
        headers: &HeaderMap,
        actor: Agent,
        body: Bytes,
    ) -> Result<Response> {
        actor.may_work()?;
        let caller = Caller { app, actor };
        let mut response = self.mcp.answer(headers, Arc::new(caller), body).await;
        dress(response.headers_mut());
        Ok(response)
    }

    /// Counts a request, or each message of an array. What is refused does not count, not even in part.
    async fn count(
        &self,
        conn: &mut sqlx::PgConnection,
        actor: &Agent,
        times: usize,
        now: DateTime<Utc>,
    ) -> Result<Result<RateLeft, Duration>> {
        let limit = self.app.config.request_limit();
        let subject = RateKey::Requests(actor.workspace, actor.id);
        let mut left = RateLeft { remaining: 0, reset: Duration::ZERO };
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

    fn slow_down(&self, retry_after: Duration) -> Response {
        let refused = refusal(&rate::slow_down(self.app.config.request_limit(), retry_after));
        self.with_limit(refused, RateLeft { remaining: 0, reset: retry_after })
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

    /// Refuses a Host that is not ours: somebody may have pointed another name at this server (DNS rebinding).
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
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type, Idempotency-Key"),
            (
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, Dry-Run, Link",
            ),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }

    /// How much of the limit is left. A 404 does not say: answers about what a key cannot see are all alike.
    fn with_limit(&self, mut response: Response, left: RateLeft) -> Response {
        let limit = self.app.config.request_limit();
        let (status, headers) = (response.status(), response.headers_mut());
        let policy = format!("\"requests\";q={};w={}", limit.most, limit.window.num_seconds());
        insert(headers, "ratelimit-policy", &policy);
        if status != StatusCode::NOT_FOUND {
            let remaining = format!("\"requests\";r={};t={}", left.remaining, left.reset.as_secs());
            insert(headers, "ratelimit", &remaining);
        }
        response
    }
}

/// How a request proves who it is. A token is accepted only at the path for clients that people signed in to, and a key
/// everywhere else.
enum Credential {
    Key([u8; 32]),
    Token(Token),
}

impl Credential {
    fn from_parts(parts: &Parts) -> Result<Self> {
        let given = bearer(&parts.headers)?;
        let found = if parts.uri.path() == RESOURCE_PATH {
            Token::read(given).map(Self::Token)
        } else if given.starts_with("rk_") && given.len() <= 100 {
            Some(Self::Key(keys::hash(given)))
        } else {
            None
        };
        found.ok_or(Error::Unauthorized)
    }

    fn asker(&self) -> Asker {
        let (Self::Key(hash) | Self::Token(Token { hash, .. })) = self;
        let first: [u8; 8] = std::array::from_fn(|at| hash[at]);
        Asker::Program(u64::from_le_bytes(first))
    }
}

/// The one bearer key or token. The scheme's letter case does not matter; two headers are one too many.
fn bearer(headers: &HeaderMap) -> Result<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Err(Error::Unauthorized) };
    let (scheme, key) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or(Error::Unauthorized)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(key.trim()) } else { Err(Error::Unauthorized) }
}

/// The same description that keys get, for tools that read it without one. All of them get the same bytes.
async fn public_description(State(door): State<Arc<Door>>) -> Response {
    let made = match door.description.get() {
        Some(made) => Ok(made.clone()),
        None => openapi::document(&door.app)
            .map(|document| door.description.get_or_init(|| document.get().to_owned().into()).clone()),
    };
    match made {
        Ok(made) => answer(StatusCode::OK, made),
        Err(error) => refusal(&error),
    }
}

/// The response for a client that has left, which nobody reads.
fn nobody() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
