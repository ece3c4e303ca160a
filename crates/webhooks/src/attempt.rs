//! One try: the frozen body of an event, signed at this moment, as one POST.
//! What came back stands in the log as it is here.

use std::time::Instant;

use chrono::{DateTime, Utc};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde::{Deserialize, Serialize};

use crate::secret::signatures;
use rookery_base::clock::{Clock, written};
use rookery_base::ids::EventId;
use rookery_base::net::outside::{CheckedTarget, Outside, OutsideFailure};
use rookery_base::secrets::signed_requests::SharedSecret;

/// How much of an answer the log keeps.
const ANSWER_BYTES: usize = 1024;
const GONE: u16 = 410;

#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    pub began: DateTime<Utc>,
    pub ended: DateTime<Utc>,
    pub milliseconds: u64,
    /// As it was sent; nothing when nothing was.
    pub signature: Option<String>,
    pub result: Result<(u16, String), OutsideFailure>,
}

/// A try as the log keeps and shows it.
#[derive(Debug, Deserialize, Serialize)]
pub struct LoggedTry {
    pub at: String,
    /// In milliseconds.
    pub duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The first bytes of what came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Try {
    pub fn is_delivered(&self) -> bool {
        matches!(self.result, Ok((200..=299, _)))
    }

    /// One that failed before anything was sent.
    pub fn failed(clock: &Clock, failure: OutsideFailure) -> Self {
        let now = clock.now();
        Self { began: now, ended: now, milliseconds: 0, signature: None, result: Err(failure) }
    }

    /// The other side wants no more, ever.
    pub fn is_gone(&self) -> bool {
        matches!(self.result, Ok((GONE, _)))
    }

    /// As the log keeps it.
    pub fn to_json(&self) -> String {
        let (status, error, answer) = match &self.result {
            Ok((status, answer)) => {
                (Some(*status), None, Some(answer.clone()).filter(|text| !text.is_empty()))
            }
            Err(failure) => (None, Some(failure.to_string()), None),
        };
        let (at, duration) = (written(self.began), self.milliseconds);
        let logged = LoggedTry { at, duration, status, error, answer, signature: self.signature.clone() };
        serde_json::to_string(&logged).unwrap_or_default()
    }
}

/// What a try needs besides the event.
pub struct DeliveryEndpoint<'a> {
    pub to: Result<CheckedTarget, OutsideFailure>,
    /// Path and query.
    pub path: &'a str,
    pub secrets: &'a [SharedSecret],
}

pub async fn attempt(
    outside: &Outside,
    clock: &Clock,
    letter: &DeliveryEndpoint<'_>,
    event: EventId,
    body: String,
) -> Try {
    let (began, started) = (clock.now(), Instant::now());
    let signature = signatures(letter.secrets, &event.to_string(), began.timestamp(), body.as_bytes());
    let (result, signature) = match &letter.to {
        Err(failure) => (Err(*failure), None),
        Ok(to) => match request(letter.path, &headers(event, began.timestamp(), &signature), body) {
            None => (Err(OutsideFailure::Refused), None),
            Some(request) => (outside.send(to, request, ANSWER_BYTES).await, Some(signature)),
        },
    };
    Try {
        began,
        ended: clock.now(),
        milliseconds: started.elapsed().as_millis() as u64,
        signature,
        result: result.map(|answer| (answer.status, readable(&answer.body))),
    }
}

/// The headers of a try, besides those of any request.
pub fn headers(event: EventId, seconds: i64, signature: &str) -> [(&'static str, String); 5] {
    [
        ("content-type", "application/json".to_owned()),
        ("user-agent", "Rookery-Webhooks/1".to_owned()),
        ("webhook-id", event.to_string()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signature.to_owned()),
    ]
}

fn request(path: &str, headers: &[(&str, String)], body: String) -> Option<Request<Full<Bytes>>> {
    let empty = Request::builder().method(Method::POST).uri(path);
    let request = headers.iter().fold(empty, |request, (name, value)| request.header(*name, value));
    request.body(Full::new(Bytes::from(body))).ok()
}

/// Text that PostgreSQL stores and a page can show.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|letter| *letter != '\0').collect()
}
