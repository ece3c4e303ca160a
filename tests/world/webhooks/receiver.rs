//! A real HTTP server that webhooks are sent to. It keeps what it got and answers as it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use standardwebhooks::Webhook;

/// What came in, to the byte.
#[derive(Clone, Debug)]
pub struct Got {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body is JSON")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("a header is text")
    }

    /// The signatures of the header, each for itself.
    pub fn signatures(&self) -> Vec<&str> {
        self.header("webhook-signature").split(' ').collect()
    }

    /// Whether one of the signatures is what a foreign library signs. Its own check asks for the time of day,
    /// and the story's clock is elsewhere; tests/clients does that with real processes.
    pub fn verifies(&self, secret: &str) -> bool {
        let webhook = Webhook::new(secret).expect("a secret");
        let seconds = self.header("webhook-timestamp").parse().expect("whole seconds");
        let signed = webhook.sign(self.header("webhook-id"), seconds, &self.body).expect("a signature");
        self.signatures().contains(&signed.as_str())
    }
}

#[derive(Clone, Debug)]
pub struct Answering {
    pub status: u16,
    pub body: String,
    pub after: Duration,
    pub location: Option<String>,
}

impl Answering {
    pub fn with(status: u16) -> Self {
        Self { status, body: String::new(), after: Duration::ZERO, location: None }
    }
}

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    got: Arc<Mutex<Vec<Got>>>,
    answering: Arc<Mutex<Answering>>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let receiver =
            Self { url, got: Arc::default(), answering: Arc::new(Mutex::new(Answering::with(200))) };
        let router = Router::new().fallback(receive).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    /// From now on.
    pub fn answers(&self, status: u16) {
        self.answers_with(Answering::with(status));
    }

    pub fn answers_with(&self, answering: Answering) {
        *self.answering.lock().unwrap() = answering;
    }

    /// Everything so far.
    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// How many so far.
    pub fn count(&self) -> usize {
        self.got.lock().unwrap().len()
    }

    /// Everything so far, which is then forgotten.
    pub fn take(&self) -> Vec<Got> {
        std::mem::take(&mut self.got.lock().unwrap())
    }

    /// The one request there was.
    #[track_caller]
    pub fn only(&self) -> Got {
        let got = self.take();
        assert_eq!(got.len(), 1, "{got:#?}");
        got.into_iter().next().unwrap()
    }
}

async fn receive(State(receiver): State<Receiver>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a body");
    let (method, path) = (parts.method.to_string(), parts.uri.to_string());
    receiver.got.lock().unwrap().push(Got { method, path, headers: parts.headers, body });
    let answering = receiver.answering.lock().unwrap().clone();
    tokio::time::sleep(answering.after).await;
    let status = StatusCode::from_u16(answering.status).expect("a status");
    let mut response = (status, answering.body).into_response();
    if let Some(location) = answering.location {
        response.headers_mut().insert("location", location.parse().expect("a header"));
    }
    response
}
