//! A provider of OpenID Connect in the test's own process: it does what the standard says, or lies as it is told to. It
//! checks what an honest one checks: the client's secret, the redirect address, and that who brings a code also has its
//! proof.

use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::Method;
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::hashes::sha256;
use serde_json::{Value, json};
use url::Url;

use rookery_world::World;
use rookery_world::browser::{Browser, Shown};

pub const CLIENT: &str = "rookery-at-acme";
pub const SECRET: &str = "a:client-secret/with+signs%";

/// How tokens are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    Honestly,
    /// `alg: none`, without a signature.
    Not,
    /// HMAC, with the public key as its secret.
    WithThePublicKey,
    /// A key that nobody published, under the name of one that is.
    WithAnotherKey,
    /// A key of another name, which is published only from now on.
    WithANewKey,
}

pub struct Answers {
    pub signs: Signs,
    /// Put over the claims of a token.
    pub claims: Value,
    /// What stands in the token only; the rest is told when it is asked for.
    pub keeps_email_back: bool,
    /// Put over what it says of itself.
    pub configuration: Value,
    /// Published in place of its own.
    pub keys: Option<Value>,
    /// Paths that were asked for, in their order.
    pub asked: Vec<String>,
    pub now: i64,
    waiting: Option<(String, String, String)>,
    pair: EcdsaKeyPair,
    other: EcdsaKeyPair,
    publishes_other: bool,
}

#[derive(Clone)]
pub struct Provider {
    pub issuer: String,
    pub answers: Arc<Mutex<Answers>>,
}

/// Somebody on the way to the provider: where the browser was sent, and its cookie.
pub struct Leaving {
    pub to: Url,
    pub cookie: String,
}

impl Leaving {
    pub fn said(&self, name: &str) -> String {
        self.to
            .query_pairs()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn pair() -> EcdsaKeyPair {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key")
}

fn over(mut value: Value, patch: &Value) -> Value {
    for (name, new) in patch.as_object().into_iter().flatten() {
        match new {
            Value::Null => drop(value.as_object_mut().map(|object| object.remove(name))),
            new => value[name] = new.clone(),
        }
    }
    value
}

impl Provider {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let answers = Answers {
            signs: Signs::Honestly,
            claims: json!({}),
            keeps_email_back: false,
            configuration: json!({}),
            keys: None,
            asked: Vec::new(),
            now: 0,
            waiting: None,
            pair: pair(),
            other: pair(),
            publishes_other: false,
        };
        let provider = Self { issuer, answers: Arc::new(Mutex::new(answers)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(configuration))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/me", get(me))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    /// What it says in every token from now on.
    pub fn says(&self, claims: Value) {
        self.answers.lock().unwrap().claims = claims;
    }

    pub fn signs(&self, how: Signs) {
        self.answers.lock().unwrap().signs = how;
    }

    pub fn asked(&self, path: &str) -> usize {
        self.answers.lock().unwrap().asked.iter().filter(|asked| *asked == path).count()
    }

    /// Connects it as an owner does.
    pub async fn connect(&self, owner: &Browser<'_>) -> Shown {
        let fields = [("issuer", self.issuer.as_str()), ("client_id", CLIENT), ("client_secret", SECRET)];
        owner.post("/settings/sign-in", &fields).await
    }

    /// Somebody signs in there, and the browser is sent back with this code.
    pub fn lets_in(&self, world: &World, leaving: &Leaving) -> &'static str {
        let mut answers = self.answers.lock().unwrap();
        answers.now = world.now().timestamp();
        assert_eq!(leaving.said("client_id"), CLIENT);
        assert_eq!(leaving.said("code_challenge_method"), "S256");
        assert_eq!(leaving.said("scope"), "openid email profile");
        answers.waiting =
            Some((leaving.said("nonce"), leaving.said("code_challenge"), leaving.said("redirect_uri")));
        "a-code"
    }

    fn note(&self, path: &str) {
        self.answers.lock().unwrap().asked.push(path.to_owned());
    }
}

async fn configuration(State(provider): State<Provider>) -> String {
    provider.note("configuration");
    let at = |path: &str| format!("{}{path}", provider.issuer);
    let said = json!({
        "issuer": provider.issuer,
        "authorization_endpoint": at("/authorize?tenant=acme"),
        "token_endpoint": at("/token"),
        "jwks_uri": at("/keys"),
        "userinfo_endpoint": at("/me"),
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
    });
    over(said, &provider.answers.lock().unwrap().configuration).to_string()
}

async fn keys(State(provider): State<Provider>) -> String {
    provider.note("keys");
    let answers = provider.answers.lock().unwrap();
    let jwk = |name: &str, pair: &EcdsaKeyPair| {
        let point = pair.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": name, "x": encoded(&point[1..33]), "y": encoded(&point[33..]) })
    };
    if let Some(keys) = &answers.keys {
        return json!({ "keys": keys }).to_string();
    }
    let mut keys = vec![jwk("first", &answers.pair)];
    if answers.publishes_other {
        keys.push(jwk("second", &answers.other));
    }
    json!({ "keys": keys }).to_string()
}

async fn token(State(provider): State<Provider>, headers: HeaderMap, body: String) -> (StatusCode, String) {
    provider.note("token");
    let field = |name: &str| {
        let found = url::form_urlencoded::parse(body.as_bytes()).find(|(own, _)| own == name);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let refused = |why: &str| (StatusCode::BAD_REQUEST, json!({ "error": why }).to_string());
    let quoted = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", quoted(CLIENT), quoted(SECRET))));
    if headers.get("authorization").is_none_or(|given| given != basic.as_str()) {
        return refused("invalid_client");
    }
    let mut answers = provider.answers.lock().unwrap();
    let Some((nonce, challenge, redirect)) = answers.waiting.take() else { return refused("invalid_grant") };
    let proven = encoded(sha256(field("code_verifier"))) == challenge;
    if !proven || field("redirect_uri") != redirect || field("code") != "a-code" {
        return refused("invalid_grant");
    }
    let claims = json!({
        "iss": provider.issuer, "sub": "acct-1", "aud": CLIENT, "nonce": nonce,
        "iat": answers.now, "exp": answers.now + 300, "auth_time": answers.now,
        "email": "mia@rookery.example", "email_verified": true, "name": "Mia Account",
    });
    let mut claims = over(claims, &answers.claims);
    if answers.keeps_email_back {
        claims = over(claims, &json!({ "email": null, "email_verified": null, "name": null }));
    }
    if answers.signs == Signs::WithANewKey {
        answers.publishes_other = true;
    }
    let id_token = signed(&answers, &claims);
    (
        StatusCode::OK,
        json!({ "id_token": id_token, "access_token": "opens-me", "token_type": "Bearer" }).to_string(),
    )
}

async fn me(State(provider): State<Provider>, headers: HeaderMap) -> (StatusCode, String) {
    provider.note("me");
    if headers.get("authorization").is_none_or(|given| given != "Bearer opens-me") {
        return (StatusCode::UNAUTHORIZED, String::new());
    }
    let told = json!({ "sub": "acct-1", "email": "mia@rookery.example", "email_verified": true });
    (StatusCode::OK, over(told, &provider.answers.lock().unwrap().claims).to_string())
}

fn signed(answers: &Answers, claims: &Value) -> String {
    let (algorithm, key) = match answers.signs {
        Signs::Not => ("none", "first"),
        Signs::WithThePublicKey => ("HS256", "first"),
        Signs::WithANewKey => ("ES256", "second"),
        Signs::Honestly | Signs::WithAnotherKey => ("ES256", "first"),
    };
    let header = json!({ "alg": algorithm, "kid": key, "typ": "JWT" });
    let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let bytes = message.as_bytes();
    let by = |pair: &EcdsaKeyPair| encoded(pair.sign(&SystemRandom::new(), bytes).expect("a signature"));
    let signature = match answers.signs {
        Signs::Not => String::new(),
        Signs::WithThePublicKey => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, answers.pair.public_key().as_ref());
            encoded(hmac::sign(&key, bytes))
        }
        Signs::WithANewKey | Signs::WithAnotherKey => by(&answers.other),
        Signs::Honestly => by(&answers.pair),
    };
    format!("{message}.{signature}")
}

/// The door of a workspace, up to the provider.
pub async fn leave(world: &World, workspace: WorkspaceId, next: &str) -> Leaving {
    leave_with(world, workspace, &[("next", next)]).await
}

/// By somebody who is in and shows once more who they are.
pub async fn leave_again(world: &World, workspace: WorkspaceId) -> Leaving {
    leave_with(world, workspace, &[("next", "/settings/sign-in"), ("again", "on")]).await
}

async fn leave_with(world: &World, workspace: WorkspaceId, fields: &[(&str, &str)]) -> Leaving {
    let nobody = world.browser_with("");
    let shown = nobody.post(&format!("/sign-in/sso/{workspace}"), fields).await;
    let cookie = shown.cookie().split(';').next().expect("a cookie").to_owned();
    assert!(cookie.starts_with("__Host-rookery-sso=wsp_"), "{cookie}");
    assert!(shown.cookie().contains("HttpOnly; SameSite=Lax; Secure"), "{}", shown.cookie());
    let page = shown.page();
    let to =
        page.split(r#"content="0;url="#).nth(1).and_then(|rest| rest.split('"').next()).expect("a way on");
    let to = to.replace("&#38;", "&").replace("&amp;", "&");
    Leaving { to: to.parse().expect("an address"), cookie }
}

/// The way back, with any state, code and cookie.
pub async fn come_back(world: &World, workspace: WorkspaceId, query: &[(&str, &str)], cookie: &str) -> Shown {
    let nobody = world.browser_with("");
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let path = format!("/sign-in/sso/{workspace}/callback?{query}");
    nobody.send(nobody.request(Method::GET, &path).header("cookie", cookie)).await
}

/// The way back of somebody whom the provider lets in.
pub async fn finish(world: &World, workspace: WorkspaceId, provider: &Provider, leaving: &Leaving) -> Shown {
    let code = provider.lets_in(world, leaving);
    come_back(world, workspace, &[("code", code), ("state", &leaving.said("state"))], &leaving.cookie).await
}

/// All of it, by somebody whom the provider lets in.
pub async fn sign_in(world: &World, workspace: WorkspaceId, provider: &Provider) -> Shown {
    finish(world, workspace, provider, &leave(world, workspace, "/inbox").await).await
}
