//! `/images/…`: pictures that a mail names on the web, fetched by us for a person who asked to see them. The address is
//! signed for that person and message, so that nobody can have us fetch anything else.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use crate::visit::MemberRequest;
use rookery_base::app::App;
use rookery_base::error::{NO_ENDPOINT, Result};
use rookery_base::ids::{MessageId, PersonId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::link_tokens;
use rookery_core::conversations::messages::html;
use rookery_core::workspace::people::Person;
use rookery_http::answers::insert;

const PURPOSE: &str = "picture";
const LONGEST: usize = 2_048;

/// Writes addresses of pictures for one reader of one message.
#[derive(Clone)]
pub struct Signer {
    keys: KeyRing,
    workspace: WorkspaceId,
    person: PersonId,
    message: MessageId,
    /// What addresses begin with.
    under: String,
}

impl Signer {
    pub fn for_message(app: &App, person: &Person, message: MessageId) -> Result<Self> {
        let keys = app.config.needs_secret_key()?.clone();
        Ok(Self { keys, workspace: person.workspace, person: person.id, message, under: String::new() })
    }

    /// Puts a path in front of the addresses, for pages that are not at the root.
    pub fn under(mut self, path: &str) -> Self {
        path.clone_into(&mut self.under);
        self
    }

    /// Our own address of a picture elsewhere.
    pub fn address(&self, of: &Url) -> String {
        let token = link_tokens::token(self.keys.newest(), PURPOSE, &self.signed(of.as_str()));
        format!("{}/images/{}.{token}.{}", self.under, self.message, URL_SAFE_NO_PAD.encode(of.as_str()))
    }

    fn is_by(&self, address: &str, token: &str) -> bool {
        link_tokens::is_ours(&self.keys, PURPOSE, &self.signed(address), token)
    }

    fn signed(&self, address: &str) -> String {
        format!("{} {} {} {address}", self.workspace, self.person, self.message)
    }
}

/// `GET /images/{signed}`
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let signed = asked.param("signed").unwrap_or_default();
    let message = signed.split('.').next().and_then(|id| id.parse().ok()).ok_or(NO_ENDPOINT)?;
    if asked.app().config.content_url.is_some() {
        return Err(NO_ENDPOINT);
    }
    // What a person can see may have changed since the address was written.
    html::parts(&mut *asked.reading().await?, &asked.person, message).await?;
    fetch(asked.app(), &Signer::for_message(asked.app(), &asked.person, message)?, signed).await
}

/// The picture that an address of this signer names.
pub async fn fetch(app: &App, signer: &Signer, signed: &str) -> Result<Response> {
    let mut parts = signed.splitn(3, '.');
    let mut next = || parts.next().ok_or(NO_ENDPOINT);
    let (message, token, address) = (next()?, next()?, next()?);
    let address = URL_SAFE_NO_PAD.decode(address).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let address = address.filter(|address| address.len() <= LONGEST).ok_or(NO_ENDPOINT)?;
    if message != signer.message.to_string() || !signer.is_by(&address, token) {
        return Err(NO_ENDPOINT);
    }
    let address = Url::parse(&address).map_err(|_| NO_ENDPOINT)?;
    let mut response = match app.pictures.fetch(signer.workspace, &address).await {
        Some(picture) => {
            let mut response = Response::new(Body::from(picture.bytes));
            let kind = HeaderValue::from_static(picture.content_type);
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            insert(response.headers_mut(), "cache-control", "private, max-age=86400");
            response
        }
        // No picture: the browser shows the words that stand for it.
        None => StatusCode::NOT_FOUND.into_response(),
    };
    insert(response.headers_mut(), "content-security-policy", "sandbox; default-src 'none'");
    Ok(response)
}
