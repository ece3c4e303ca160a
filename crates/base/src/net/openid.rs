//! A provider of OpenID Connect: what it says of itself, the keys it signs with, and the code of a sign-in exchanged for
//! whom it vouches for. A customer names the provider, so every word goes through [`Outside`], bounded in size and time.
//!
//! What a provider says of itself is kept for an hour. A token with a key that is not known asks for the keys anew, at most
//! once a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use crate::net::outside::{CheckedTarget, Outside, OutsideAnswer, OutsideFailure};
use crate::secrets::hashes::sha256;
use crate::secrets::id_tokens::{self, Expected, Identity, KeySet, Untrusted};

const MOST_BYTES: usize = 128 << 10;
const KEPT: TimeDelta = TimeDelta::hours(1);
const KEYS_AGAIN: TimeDelta = TimeDelta::minutes(1);
/// Providers that are kept at the same time; more are asked each time.
const MOST_KEPT: usize = 1000;
const WELL_KNOWN: &str = "/.well-known/openid-configuration";
const SCOPE: &str = "openid email profile";
/// In seconds, 30 days: however long ago somebody showed a provider who they are. Who is asked how old it may be says how
/// old it is.
const ANY_AGE: &str = "2592000";

/// Why a sign-in did not come about. The texts appear in the log, and to whoever sets it up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenIdTrouble {
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, OutsideFailure),
    #[error("{0} answered with status {1}")]
    Status(String, u16),
    #[error("{0} answered with something that is not what OpenID Connect asks for")]
    Malformed(String),
    #[error("the provider publishes no key of a kind that is accepted (RS256, PS256, ES256 or EdDSA)")]
    NoKey,
    #[error("the provider calls itself {0}")]
    OtherName(String),
    #[error("the provider refused: {0}")]
    Refused(String),
    #[error("{0}")]
    Untrusted(#[from] Untrusted),
}

/// What a provider says of itself.
#[derive(Clone, Debug)]
pub struct Provider {
    issuer: String,
    authorization: Url,
    token: Url,
    keys: Url,
    user_info: Option<Url>,
    /// The client's secret goes into the form, because the header is not offered.
    secret_in_form: bool,
    /// Its answers say whose they are (RFC 9207).
    pub names_itself: bool,
    /// Its tokens say when somebody showed it who they are. Google's do not, and it takes no `prompt=login`.
    tells_when: bool,
}

/// Who we are to a provider.
pub struct OpenIdClient<'a> {
    pub id: &'a str,
    pub secret: &'a str,
    pub redirect: &'a Url,
}

/// What only the browser that began a sign-in can bring back: both are made of its cookie and the state.
pub struct BrowserProof {
    pub verifier: String,
    pub nonce: String,
}

impl BrowserProof {
    /// `secret` has 256 bits that only the browser has; `state` is of this sign-in.
    pub fn from_secret(secret: &str, state: &str) -> Self {
        let made = |what: &str| URL_SAFE_NO_PAD.encode(sha256(format!("{what}\0{secret}\0{state}")));
        Self { verifier: made("verifier"), nonce: made("nonce") }
    }

    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(sha256(&self.verifier))
    }
}

#[derive(Clone)]
struct Kept {
    provider: Arc<Provider>,
    keys: Arc<KeySet>,
    until: DateTime<Utc>,
    keys_at: DateTime<Utc>,
}

#[derive(Default)]
pub struct Openid(Mutex<HashMap<String, Kept>>);

impl Openid {
    /// What a provider says of itself; it has to be the one that was asked.
    pub async fn provider(
        &self,
        outside: &Outside,
        issuer: &str,
        now: DateTime<Utc>,
    ) -> Result<Arc<Provider>, OpenIdTrouble> {
        Ok(self.known(outside, issuer, now).await?.provider)
    }

    /// Asks anew, whatever is kept: somebody sets the provider up.
    pub async fn probe(
        &self,
        outside: &Outside,
        issuer: &str,
        now: DateTime<Utc>,
    ) -> Result<(), OpenIdTrouble> {
        self.kept().remove(issuer);
        if self.known(outside, issuer, now).await?.keys.is_empty() {
            Err(OpenIdTrouble::NoKey)
        } else {
            Ok(())
        }
    }

    /// Whom the provider vouches for, for the code that a browser brought back.
    pub async fn identity(
        &self,
        outside: &Outside,
        provider: &Provider,
        client: &OpenIdClient<'_>,
        code: &str,
        proof: &BrowserProof,
        now: DateTime<Utc>,
    ) -> Result<Identity, OpenIdTrouble> {
        let tokens = exchange(outside, provider, client, code, proof).await?;
        let expected = Expected { issuer: &provider.issuer, client_id: client.id, nonce: &proof.nonce };
        let known = self.known(outside, &provider.issuer, now).await?;
        let judge = |keys: &KeySet| id_tokens::verify(keys, &tokens.id_token, &expected, now);
        let mut identity = match judge(&known.keys) {
            Err(Untrusted::UnknownKey) => judge(&*self.keys_again(outside, provider, &known, now).await?)?,
            judged => judged?,
        };
        if !provider.tells_when {
            identity.proved_at = identity.proved_at.or(Some(now));
        }
        match (&identity.email, &provider.user_info, tokens.access_token) {
            // The standard lets a provider keep the address for whoever asks with the access token.
            (None, Some(url), Some(access)) => {
                let told = more(outside, url, &access, &identity.subject).await?;
                Ok(Identity { proved_at: identity.proved_at, ..told })
            }
            _ => Ok(identity),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn known(
        &self,
        outside: &Outside,
        issuer: &str,
        now: DateTime<Utc>,
    ) -> Result<Kept, OpenIdTrouble> {
        let kept = self.kept().get(issuer).filter(|kept| kept.until > now).cloned();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let provider = Arc::new(discover(outside, issuer).await?);
        let keys = Arc::new(fetch_keys(outside, &provider.keys).await?);
        let kept = Kept { provider, keys, until: now + KEPT, keys_at: now };
        self.keep(issuer, &kept, now);
        Ok(kept)
    }

    /// Keys that were published since. Whoever makes up names of keys makes us ask once a minute.
    async fn keys_again(
        &self,
        outside: &Outside,
        provider: &Provider,
        known: &Kept,
        now: DateTime<Utc>,
    ) -> Result<Arc<KeySet>, OpenIdTrouble> {
        if known.keys_at + KEYS_AGAIN > now {
            return Err(Untrusted::UnknownKey.into());
        }
        self.keep(&provider.issuer, &Kept { keys_at: now, ..known.clone() }, now);
        let keys = Arc::new(fetch_keys(outside, &provider.keys).await?);
        self.keep(&provider.issuer, &Kept { keys: keys.clone(), keys_at: now, ..known.clone() }, now);
        Ok(keys)
    }

    fn keep(&self, issuer: &str, what: &Kept, now: DateTime<Utc>) {
        let mut kept = self.kept();
        if kept.len() >= MOST_KEPT {
            kept.retain(|_, kept| kept.until > now);
        }
        if kept.len() < MOST_KEPT || kept.contains_key(issuer) {
            kept.insert(issuer.to_owned(), what.clone());
        }
    }
}

impl Provider {
    /// Where the browser goes. `again` has the provider ask who they are, whoever is signed in there; only its token says
    /// whether it did, because the browser could leave the question out.
    pub fn address(&self, client: &OpenIdClient<'_>, state: &str, proof: &BrowserProof, again: bool) -> Url {
        let mut url = self.authorization.clone();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client.id),
            ("redirect_uri", client.redirect.as_str()),
            ("scope", SCOPE),
            ("state", state),
            ("nonce", &proof.nonce),
            ("code_challenge", &proof.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        if again && self.tells_when {
            url.query_pairs_mut().extend_pairs([("prompt", "login"), ("max_age", "0")]);
        } else {
            url.query_pairs_mut().append_pair("max_age", ANY_AGE);
        }
        url
    }
}

#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
    userinfo_endpoint: Option<Url>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: Option<bool>,
    claims_supported: Option<Vec<String>>,
}

async fn discover(outside: &Outside, issuer: &str) -> Result<Provider, OpenIdTrouble> {
    let malformed = || OpenIdTrouble::Malformed(issuer.to_owned());
    let url: Url =
        format!("{}{WELL_KNOWN}", issuer.trim_end_matches('/')).parse().map_err(|_| malformed())?;
    let answer = ask(outside, &url, Request::builder().method(Method::GET), Bytes::new()).await?;
    let said: Configuration = serde_json::from_slice(&good(&url, answer)?).map_err(|_| malformed())?;
    if said.issuer != issuer {
        return Err(OpenIdTrouble::OtherName(said.issuer.chars().take(200).collect()));
    }
    // The browser goes there, and is not sent to where we would not go.
    outside
        .check(&said.authorization_endpoint)
        .await
        .map_err(|failure| OpenIdTrouble::Unreachable(named(&said.authorization_endpoint), failure))?;
    let ways = said.token_endpoint_auth_methods_supported.unwrap_or_default();
    let offers = |way: &str| ways.iter().any(|one| one == way);
    Ok(Provider {
        issuer: said.issuer,
        authorization: said.authorization_endpoint,
        token: said.token_endpoint,
        keys: said.jwks_uri,
        user_info: said.userinfo_endpoint,
        secret_in_form: offers("client_secret_post") && !offers("client_secret_basic"),
        names_itself: said.authorization_response_iss_parameter_supported == Some(true),
        tells_when: said.claims_supported.is_none_or(|claims| claims.iter().any(|one| one == "auth_time")),
    })
}

async fn fetch_keys(outside: &Outside, url: &Url) -> Result<KeySet, OpenIdTrouble> {
    let answer = ask(outside, url, Request::builder().method(Method::GET), Bytes::new()).await?;
    KeySet::read(&good(url, answer)?).ok_or_else(|| OpenIdTrouble::Malformed(named(url)))
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

async fn exchange(
    outside: &Outside,
    provider: &Provider,
    client: &OpenIdClient<'_>,
    code: &str,
    proof: &BrowserProof,
) -> Result<Tokens, OpenIdTrouble> {
    let (request, form) = asking(provider, client, code, proof);
    let answer = ask_once(outside, &provider.token, request, form.into()).await?;
    if matches!(answer.status, 400 | 401) {
        return Err(OpenIdTrouble::Refused(why(&answer.body)));
    }
    let body = good(&provider.token, answer)?;
    serde_json::from_slice(&body).map_err(|_| OpenIdTrouble::Malformed(named(&provider.token)))
}

/// The request for a token, and its form.
fn asking(
    provider: &Provider,
    client: &OpenIdClient<'_>,
    code: &str,
    proof: &BrowserProof,
) -> (hyper::http::request::Builder, String) {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs([
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", client.redirect.as_str()),
        ("code_verifier", &proof.verifier),
    ]);
    let mut request = Request::builder().method(Method::POST);
    if provider.secret_in_form {
        form.extend_pairs([("client_id", client.id), ("client_secret", client.secret)]);
    } else {
        let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = STANDARD.encode(format!("{}:{}", encoded(client.id), encoded(client.secret)));
        request = request.header(AUTHORIZATION, format!("Basic {pair}"));
    }
    (request.header(CONTENT_TYPE, "application/x-www-form-urlencoded"), form.finish())
}

async fn more(outside: &Outside, url: &Url, access: &str, subject: &str) -> Result<Identity, OpenIdTrouble> {
    let request = Request::builder().method(Method::GET).header(AUTHORIZATION, format!("Bearer {access}"));
    let answer = ask(outside, url, request, Bytes::new()).await?;
    Ok(id_tokens::user_info(&good(url, answer)?, subject)?)
}

async fn ask(
    outside: &Outside,
    url: &Url,
    request: hyper::http::request::Builder,
    body: Bytes,
) -> Result<OutsideAnswer, OpenIdTrouble> {
    let (to, request) = addressed(outside, url, request, body).await?;
    let answer = outside.send(&to, request, MOST_BYTES).await;
    answer.map_err(|failure| OpenIdTrouble::Unreachable(named(url), failure))
}

/// For what may be asked only once: a code that comes twice is a stolen one to the provider (RFC 6749, 4.1.2).
async fn ask_once(
    outside: &Outside,
    url: &Url,
    request: hyper::http::request::Builder,
    body: Bytes,
) -> Result<OutsideAnswer, OpenIdTrouble> {
    let (to, request) = addressed(outside, url, request, body).await?;
    let answer = outside.send_once(&to, request, MOST_BYTES).await;
    answer.map_err(|failure| OpenIdTrouble::Unreachable(named(url), failure))
}

async fn addressed(
    outside: &Outside,
    url: &Url,
    request: hyper::http::request::Builder,
    body: Bytes,
) -> Result<(CheckedTarget, Request<Full<Bytes>>), OpenIdTrouble> {
    let unreachable = |failure| OpenIdTrouble::Unreachable(named(url), failure);
    let to = outside.check(url).await.map_err(unreachable)?;
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let request = request
        .uri(path)
        .header(ACCEPT, "application/json")
        .body(Full::new(body))
        .map_err(|_| unreachable(OutsideFailure::Internal))?;
    Ok((to, request))
}

/// The whole body of an answer that is one.
fn good(url: &Url, answer: OutsideAnswer) -> Result<Vec<u8>, OpenIdTrouble> {
    match answer.status {
        200 if answer.whole && answer.body.len() < MOST_BYTES => Ok(answer.body),
        200 => Err(OpenIdTrouble::Malformed(named(url))),
        status => Err(OpenIdTrouble::Status(named(url), status)),
    }
}

/// `invalid_client`, or whatever the provider says of it: a word of the standard, nothing else of what strangers wrote.
pub fn word(text: &str) -> String {
    let sound = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    text.chars().filter(sound).take(60).collect()
}

fn why(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct ErrorAnswer {
        error: String,
    }
    serde_json::from_slice::<ErrorAnswer>(body)
        .map_or_else(|_| "no reason given".to_owned(), |said| word(&said.error))
}

fn named(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The challenge of RFC 7636, appendix B.
    #[test]
    fn a_proof_is_of_one_browser_and_one_sign_in() {
        let told = BrowserProof {
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into(),
            nonce: String::new(),
        };
        assert_eq!(told.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, same) =
            (BrowserProof::from_secret("browser", "state"), BrowserProof::from_secret("browser", "state"));
        assert_eq!((&one.verifier, &one.nonce), (&same.verifier, &same.nonce));
        assert_ne!(one.verifier, one.nonce);
        for other in
            [BrowserProof::from_secret("browser", "other"), BrowserProof::from_secret("other", "state")]
        {
            assert!(other.verifier != one.verifier && other.nonce != one.nonce);
        }
        assert_eq!(one.verifier.len(), 43);
    }

    #[test]
    fn what_a_provider_says_of_a_refusal_is_a_word() {
        assert_eq!(why(br#"{"error":"invalid_client"}"#), "invalid_client");
        assert_eq!(why(br#"{"error":"<b>x</b> y"}"#), "bxby");
        assert_eq!(why(b"<html>"), "no reason given");
    }
}
