//! A person's browser: a session cookie and the headers that browsers send with forms. It follows no redirect by
//! itself, so that a test sees each answer.

use reqwest::header::{COOKIE, HeaderMap, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_core::workspace::sessions::{self, SignedInWith};

use super::World;

/// What pages call themselves in tests: the cookie of a service with https.
const COOKIE_NAME: &str = "__Host-rookery";

pub struct Browser<'w> {
    pub world: &'w World,
    /// The text of the session's token.
    pub token: String,
    http: reqwest::Client,
}

/// An answer to a browser.
#[derive(Debug)]
pub struct Shown {
    pub status: u16,
    pub headers: HeaderMap,
    pub html: String,
}

impl World {
    /// Signs a person in, without the sign-in page.
    pub async fn browser(&self, workspace: WorkspaceId, person: PersonId) -> Browser<'_> {
        let mut tx = self.app.begin(workspace).await.expect("a transaction");
        let token = sessions::begin(&mut tx, person, "a test", SignedInWith::Link).await.expect("a session");
        tx.commit().await.expect("the commit");
        self.browser_with(&token)
    }

    /// A browser with any cookie.
    pub fn browser_with(&self, token: &str) -> Browser<'_> {
        let http = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
        Browser { world: self, token: token.to_owned(), http }
    }
}

impl Browser<'_> {
    pub async fn get(&self, path: &str) -> Shown {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a form as a page of ours does.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.request(Method::POST, path).header(ORIGIN, self.origin());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(body)).await
    }

    /// A request with the cookie and nothing else.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.world.address));
        request.header(COOKIE, format!("{COOKIE_NAME}={}", self.token))
    }

    pub async fn send(&self, request: RequestBuilder) -> Shown {
        let answer = request.send().await.expect("the service answers");
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Shown { status, headers, html: answer.text().await.expect("a text") }
    }

    /// Where our own pages are, by the settings.
    pub fn origin(&self) -> String {
        self.world.app.config.public_url.origin().ascii_serialization()
    }
}

impl Shown {
    /// Where it sends the browser.
    pub fn location(&self) -> &str {
        self.headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default()
    }

    pub fn cookie(&self) -> &str {
        self.headers.get(SET_COOKIE).and_then(|cookie| cookie.to_str().ok()).unwrap_or_default()
    }

    /// The page, which has to be one.
    #[track_caller]
    pub fn page(self) -> String {
        assert_eq!(self.status, 200, "{}", self.html);
        self.html
    }
}
