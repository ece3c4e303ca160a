//! One try: the frozen body of an event, signed at this moment, as one POST.
//! What came back stands in the log as it is here.

use std::time::Instant;

use chrono::{DateTime, Utc};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use serde::Serialize;

use crate::clock::{Clock, written};
use crate::ids::EventId;
use crate::net::outside::{Checked, Failure, Outside};
use crate::secrets::signed_requests::Secret;
use crate::webhooks::secret::signatures;

/// How much of an answer the log keeps.
const ANSWER_BYTES: usize = 1024;
const GONE: u16 = 410;

#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    pub began: DateTime<Utc>,
    pub ended: DateTime<Utc>,
    pub milliseconds: u64,
    pub result: Result<(u16, String), Failure>,
}

impl Try {
    pub fn is_delivered(&self) -> bool {
        matches!(self.result, Ok((200..=299, _)))
    }

    /// One that failed before anything was sent.
    pub fn failed(clock: &Clock, failure: Failure) -> Self {
        let now = clock.now();
        Self { began: now, ended: now, milliseconds: 0, result: Err(failure) }
    }

    /// The other side wants no more, ever.
    pub fn is_gone(&self) -> bool {
        matches!(self.result, Ok((GONE, _)))
    }

    /// As the log keeps and shows it.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Shown<'a> {
            at: String,
            duration: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            status: Option<u16>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            answer: Option<&'a str>,
        }
        let (status, error, answer) = match &self.result {
            Ok((status, answer)) => {
                (Some(*status), None, Some(answer.as_str()).filter(|text| !text.is_empty()))
            }
            Err(failure) => (None, Some(failure.to_string()), None),
        };
        let shown = Shown { at: written(self.began), duration: self.milliseconds, status, error, answer };
        serde_json::to_string(&shown).unwrap_or_default()
    }
}

/// What a try needs besides the event.
pub struct Letter<'a> {
    pub to: Result<Checked, Failure>,
    /// Path and query.
    pub path: &'a str,
    pub secrets: &'a [Secret],
}

pub async fn attempt(
    outside: &Outside,
    clock: &Clock,
    letter: &Letter<'_>,
    event: EventId,
    body: String,
) -> Try {
    let (began, started) = (clock.now(), Instant::now());
    let result = match &letter.to {
        Err(failure) => Err(*failure),
        Ok(to) => match request(letter, event, began.timestamp(), body) {
            None => Err(Failure::Refused),
            Some(request) => outside.send(to, request, ANSWER_BYTES).await,
        },
    };
    Try {
        began,
        ended: clock.now(),
        milliseconds: started.elapsed().as_millis() as u64,
        result: result.map(|answer| (answer.status, readable(&answer.body))),
    }
}

fn request(letter: &Letter<'_>, event: EventId, seconds: i64, body: String) -> Option<Request<Full<Bytes>>> {
    let id = event.to_string();
    let signature = signatures(letter.secrets, &id, seconds, body.as_bytes());
    Request::builder()
        .method(Method::POST)
        .uri(letter.path)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(USER_AGENT, HeaderValue::from_static("Rookery-Webhooks/1"))
        .header("webhook-id", id)
        .header("webhook-timestamp", seconds)
        .header("webhook-signature", signature)
        .body(Full::new(Bytes::from(body)))
        .ok()
}

/// Text that PostgreSQL stores and a page can show.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|letter| *letter != '\0').collect()
}
