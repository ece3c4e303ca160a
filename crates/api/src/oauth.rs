//! What MCP clients ask on the way to a token (OAuth 2.1, docs/decisions/client-sign-in.md): what this server says of itself,
//! registration, and tokens for a code or a refresh token. The page in between is `web::sign_in::consent`.
//!
//! All of it is open to strangers: look-ups wait for their turn, and only registering is counted, because it writes. Nobody is
//! locked out by address for a wrong token (docs/decisions/strangers.md).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::form_urlencoded;

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::figures::Answered;
use rookery_base::figures::traces::Trace;
use rookery_base::limits::sign_in::SignInKey;
use rookery_core::workspace::access::{By, Scope, USUAL};
use rookery_core::workspace::clients::client::OauthClient;
use rookery_core::workspace::clients::grants::{ACCESS_LASTS, BroughtGrant, GrantOutcome, redeem};
use rookery_core::workspace::clients::{
    ISSUER_PATH, OFFERED, RESOURCE_PATH, at, is_for_us, issuer, register, resource,
};
use rookery_http::answers::{answer, insert, refusal};
use rookery_http::bodies::{Bodies, Caller};
use rookery_http::serve::From;
use rookery_product::replies::revoke_key;

const MOST_BYTES: usize = 16 << 10;
/// Database connections that strangers may use here at once.
const LOOK_UPS: usize = 2;
const OF_RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OF_ISSUER: &str = "/.well-known/oauth-authorization-server";
pub const TOKEN_PATH: &str = "/oauth/token";
const REGISTER_PATH: &str = "/oauth/register";
const GRANTS: [&str; 2] = ["authorization_code", "refresh_token"];

struct Oauth {
    app: Arc<App>,
    bodies: Arc<Bodies>,
    look_ups: Semaphore,
}

pub fn routes(app: Arc<App>, bodies: Arc<Bodies>) -> Router {
    let oauth = Arc::new(Oauth { app, bodies, look_ups: Semaphore::new(LOOK_UPS) });
    // Only behind the door's own path: clients that find metadata for `/mcp` would drop the key they were given.
    Router::new()
        .route(&format!("{OF_RESOURCE}{RESOURCE_PATH}"), get(of_resource))
        .route(&format!("{OF_ISSUER}{ISSUER_PATH}"), get(of_issuer))
        .route(REGISTER_PATH, post(take_in))
        .route(TOKEN_PATH, post(give_tokens))
        .with_state(oauth)
}

/// Where a client that has no token reads how to get one.
fn challenge(app: &App, had_token: bool) -> String {
    let metadata = at(&app.config, &format!("{OF_RESOURCE}{RESOURCE_PATH}"));
    let error = if had_token { ", error=\"invalid_token\"" } else { "" };
    format!("Bearer resource_metadata=\"{metadata}\", scope=\"{}\"{error}", joined(&USUAL))
}

async fn of_resource(State(oauth): State<Arc<Oauth>>) -> Response {
    let config = &oauth.app.config;
    let told = json!({
        "resource": resource(config),
        "authorization_servers": [issuer(config)],
        "scopes_supported": USUAL,
        "bearer_methods_supported": ["header"],
        "resource_name": "Rookery",
        "resource_documentation": at(config, "/docs/agents"),
    });
    answer(StatusCode::OK, told.to_string())
}

async fn of_issuer(State(oauth): State<Arc<Oauth>>) -> Response {
    let config = &oauth.app.config;
    let told = json!({
        "issuer": issuer(config),
        "authorization_endpoint": at(config, "/oauth/authorize"),
        "token_endpoint": at(config, TOKEN_PATH),
        "registration_endpoint": at(config, REGISTER_PATH),
        "scopes_supported": OFFERED,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANTS,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
        "service_documentation": at(config, "/docs/agents"),
    });
    answer(StatusCode::OK, told.to_string())
}

/// A refusal as OAuth words it, or one of ours.
enum OauthRefusal {
    Oauth(&'static str, String),
    Ours(Error),
}

impl<E: Into<Error>> std::convert::From<E> for OauthRefusal {
    fn from(error: E) -> Self {
        Self::Ours(error.into())
    }
}

async fn take_in(State(oauth): State<Arc<Oauth>>, request: Request) -> Response {
    oauth
        .answer("oauth_register", request, async |oauth, _, asker, body| oauth.register(asker, body).await)
        .await
}

async fn give_tokens(State(oauth): State<Arc<Oauth>>, request: Request) -> Response {
    oauth
        .answer("oauth_token", request, async |oauth, headers, asker, body| {
            oauth.tokens(headers, asker, body).await
        })
        .await
}

#[derive(Deserialize)]
struct Registration {
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

impl Oauth {
    async fn answer(
        &self,
        operation: &'static str,
        request: Request,
        run: impl AsyncFnOnce(&Self, &HeaderMap, IpAddr, Body) -> Result<(StatusCode, Value), OauthRefusal>,
    ) -> Response {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let from = parts.extensions.get::<From>().copied().unwrap_or(From(Ipv4Addr::UNSPECIFIED.into()));
        let asker = from.asker(&self.app.config.trusted_proxies, &parts.headers);
        let response = match run(self, &parts.headers, asker, body).await {
            Ok((status, told)) => answer(status, told.to_string()),
            Err(OauthRefusal::Oauth(error, why)) => {
                let told = json!({ "error": error, "error_description": why });
                answer(StatusCode::BAD_REQUEST, told.to_string())
            }
            Err(OauthRefusal::Ours(error)) => refusal(&error),
        };
        let (took, status) = (started.elapsed(), response.status());
        self.app.figures.answered(Answered {
            door: "oauth",
            method: &Method::POST,
            operation,
            status,
            took,
            trace: Trace::Own,
        });
        response
    }

    async fn register(&self, asker: IpAddr, body: Body) -> Result<(StatusCode, Value), OauthRefusal> {
        let now = self.app.clock.now();
        self.app.sign_in_limit.try_one(&[SignInKey::NetworkClients(asker)], now)?;
        let body = self.bodies.read(body, MOST_BYTES, Caller::Stranger(asker)).await?;
        let wrong = |why: &str| OauthRefusal::Oauth("invalid_client_metadata", why.to_owned());
        let asked: Registration = serde_json::from_slice(&body.bytes)
            .map_err(|_| wrong("The body must be a JSON object with redirect_uris."))?;
        let can = |asked: &Option<Vec<String>>, needed: &str| {
            asked.as_ref().is_none_or(|asked| asked.iter().any(|asked| asked == needed))
        };
        if !can(&asked.grant_types, GRANTS[0]) || !can(&asked.response_types, "code") {
            return Err(wrong("Only the authorization code grant is offered."));
        }
        let _turn = self.look_ups.acquire().await.map_err(Error::internal)?;
        let client = match register(&self.app, asked.client_name.as_deref(), asked.redirect_uris).await {
            Err(Error::Problems(problems)) => {
                return Err(OauthRefusal::Oauth(
                    "invalid_redirect_uri",
                    Error::Problems(problems).sentence(),
                ));
            }
            other => other?,
        };
        let OauthClient { id, name, redirects } = client;
        let told = json!({
            "client_id": id,
            "client_id_issued_at": now.timestamp(),
            "client_name": name,
            "redirect_uris": redirects,
            "grant_types": GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        Ok((StatusCode::CREATED, told))
    }

    async fn tokens(
        &self,
        headers: &HeaderMap,
        asker: IpAddr,
        body: Body,
    ) -> Result<(StatusCode, Value), OauthRefusal> {
        let invalid = |why: &str| OauthRefusal::Oauth("invalid_request", why.to_owned());
        let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") {
            return Err(invalid("The body must be a form: application/x-www-form-urlencoded."));
        }
        let body = self.bodies.read(body, MOST_BYTES, Caller::Stranger(asker)).await?;
        let fields: Vec<(String, String)> = form_urlencoded::parse(&body.bytes).into_owned().collect();
        let get = |name: &str| {
            let mut given = fields.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
            match (given.next(), given.next()) {
                (_, Some(_)) => Err(invalid("A parameter came twice.")),
                (given, None) => Ok(given.filter(|given| !given.is_empty())),
            }
        };
        let need =
            |name: &str| get(name)?.ok_or_else(|| invalid(&format!("The parameter {name} is missing.")));
        let grant = need("grant_type")?;
        let brought = match GRANTS.iter().position(|known| *known == grant) {
            Some(0) => BroughtGrant::Code {
                code: need("code")?,
                verifier: need("code_verifier")?,
                redirect: get("redirect_uri")?,
            },
            Some(_) => BroughtGrant::Refresh(need("refresh_token")?),
            None => {
                let why = "Only authorization_code and refresh_token are offered.".to_owned();
                return Err(OauthRefusal::Oauth("unsupported_grant_type", why));
            }
        };
        if !is_for_us(&self.app.config, get("resource")?) {
            let why = format!("Tokens of this server are good for {} only.", resource(&self.app.config));
            return Err(OauthRefusal::Oauth("invalid_target", why));
        }
        let _turn = self.look_ups.acquire().await.map_err(Error::internal)?;
        match redeem(&self.app, need("client_id")?, brought).await? {
            GrantOutcome::Given(tokens) => Ok((
                StatusCode::OK,
                json!({
                    "access_token": tokens.access,
                    "token_type": "Bearer",
                    "expires_in": ACCESS_LASTS.num_seconds(),
                    "refresh_token": tokens.refresh,
                    "scope": tokens.scopes.join(" "),
                }),
            )),
            GrantOutcome::Refused => Err(refused()),
            GrantOutcome::Reused(workspace, agent) => {
                tracing::warn!(%workspace, %agent, "a code or refresh token of a client came twice: its agent ends");
                revoke_key::revoke(&self.app, workspace, &By::System, agent).await?;
                Err(refused())
            }
        }
    }
}

/// The one refusal for codes and tokens that are unknown, expired, used, or of another client.
fn refused() -> OauthRefusal {
    OauthRefusal::Oauth("invalid_grant", "This is not good, or not any more. Sign in again.".to_owned())
}

fn joined(scopes: &[Scope]) -> String {
    let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    names.join(" ")
}

/// The answer to whoever comes to the door without a token that is good.
pub fn ask_to_sign_in(app: &App, had_token: bool) -> Response {
    let body =
        json!({ "error": "Sign in first. WWW-Authenticate says where; at /mcp an API key is enough." });
    let mut response = answer(StatusCode::UNAUTHORIZED, body.to_string());
    insert(response.headers_mut(), "www-authenticate", &challenge(app, had_token));
    response
}
