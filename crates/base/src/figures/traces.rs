//! Traces, when an operator names a collector (`ROOKERY_TRACES_URL`): one span for each request, tool call, page, mail, send
//! and webhook, as OTLP in JSON over HTTP. A span holds names of ours and numbers, never what somebody wrote.
//!
//! Nothing waits for the collector: spans that do not fit into the queue are dropped and counted.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use chrono::{DateTime, Utc};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use url::{Position, Url};

use crate::net::outside::{Outside, OutsideFailure};
use crate::random::Random;
use crate::shutdown::Stop;

/// Spans that wait, and spans that are sent together.
const QUEUE: usize = 4096;
const TOGETHER: usize = 512;
const LINGER: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Traces {
    queue: OnceLock<Sender<Span>>,
    dropped: AtomicU64,
}

/// Whose side of a call it was, by OpenTelemetry's numbers.
#[derive(Clone, Copy, Debug)]
pub enum SpanKind {
    Server = 2,
    Client = 3,
    Consumer = 5,
}

/// The trace that something belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// One of its own.
    Own,
    /// One that others know: the caller's, or the request's.
    Of { id: String, parent: Option<String> },
    /// The caller traces, but wants nothing of this kept.
    Unwanted,
}

pub struct Span {
    pub name: String,
    pub kind: SpanKind,
    pub trace: Trace,
    pub ended: DateTime<Utc>,
    pub took: Duration,
    pub attributes: Vec<(&'static str, String)>,
    pub failed: bool,
}

impl Trace {
    /// By the caller's `traceparent` (W3C), else a trace with the id of the request.
    pub fn from_headers(headers: &HeaderMap, request: &str) -> Self {
        let given = headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(parent);
        match given {
            Some((_, _, false)) => Self::Unwanted,
            Some((id, parent, true)) => Self::Of { id, parent: Some(parent) },
            None => Self::Of { id: request.to_owned(), parent: None },
        }
    }
}

/// The trace, the caller's span, and whether they are kept.
fn parent(text: &str) -> Option<(String, String, bool)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    let zero = |text: &str| text.bytes().all(|b| b == b'0');
    let sound = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
    if !sound || zero(trace) || zero(span) {
        return None;
    }
    let kept = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    Some((trace.to_lowercase(), span.to_lowercase(), kept))
}

impl Traces {
    /// From now on spans are kept for whoever holds the other end. Nothing when that was done before.
    pub fn begin(&self) -> Option<Receiver<Span>> {
        let (sender, receiver) = channel(QUEUE);
        self.queue.set(sender).ok().map(|()| receiver)
    }

    /// Keeps a span, when spans are kept and its caller wants it.
    pub fn note(&self, span: impl FnOnce() -> Span) {
        let Some(queue) = self.queue.get() else { return };
        let span = span();
        if span.trace != Trace::Unwanted && queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn lost(&self, spans: usize) {
        self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
    }
}

/// Sends spans to the collector until the service stops; then those that are left.
pub async fn export(
    traces: &Traces,
    mut queue: Receiver<Span>,
    outside: Outside,
    url: Url,
    random: Random,
    stop: Stop,
) {
    let mut reachable = true;
    loop {
        let mut spans = Vec::new();
        let stopping = tokio::select! {
            _ = queue.recv_many(&mut spans, TOGETHER) => false,
            () = stop.wait() => true,
        };
        if !stopping && spans.len() < TOGETHER {
            // A moment for company.
            tokio::select! {
                () = tokio::time::sleep(LINGER) => {}
                () = stop.wait() => {}
            }
        }
        while spans.len() < TOGETHER
            && let Ok(span) = queue.try_recv()
        {
            spans.push(span);
        }
        if spans.is_empty() && stopping {
            return;
        }
        match post(&outside, &url, &document(&spans, &random)).await {
            Ok(200..=299) => reachable = true,
            answered => {
                traces.lost(spans.len());
                // Said once, not every second.
                if std::mem::take(&mut reachable) {
                    tracing::warn!(?answered, "the collector of ROOKERY_TRACES_URL does not take traces");
                }
            }
        }
    }
}

async fn post(outside: &Outside, url: &Url, document: &Value) -> Result<u16, OutsideFailure> {
    let to = outside.check(url).await?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(document.to_string())))
        .map_err(|_| OutsideFailure::Internal)?;
    Ok(outside.send(&to, request, 0).await?.status)
}

fn document(spans: &[Span], random: &Random) -> Value {
    let attribute = |name: &str, value: &str| json!({ "key": name, "value": { "stringValue": value } });
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            let ended = span.ended.timestamp_nanos_opt().unwrap_or_default();
            let took = i64::try_from(span.took.as_nanos()).unwrap_or_default();
            let attributes: Vec<Value> =
                span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
            let (trace, parent) = match &span.trace {
                Trace::Of { id, parent } => (id.clone(), parent.as_ref()),
                Trace::Own | Trace::Unwanted => (random.hex(32), None),
            };
            let mut written = json!({
                "traceId": trace,
                "spanId": random.hex(16),
                "name": span.name,
                "kind": span.kind as u8,
                "startTimeUnixNano": (ended - took).to_string(),
                "endTimeUnixNano": ended.to_string(),
                "attributes": attributes,
                "status": if span.failed { json!({ "code": 2 }) } else { json!({}) },
            });
            if let Some(parent) = parent {
                written["parentSpanId"] = json!(parent);
            }
            written
        })
        .collect();
    let resource =
        [attribute("service.name", "rookery"), attribute("service.version", env!("CARGO_PKG_VERSION"))];
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "rookery" }, "spans": spans }],
    }] })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0bb902b7-01";

    fn trace(given: Option<&str>) -> Trace {
        let mut headers = HeaderMap::new();
        if let Some(given) = given {
            headers.insert("traceparent", HeaderValue::from_str(given).unwrap());
        }
        Trace::from_headers(&headers, "0123456789abcdef0123456789abcdef")
    }

    #[test]
    fn a_caller_that_traces_is_followed() {
        let (id, parent) =
            ("4bf92f3577b34da6a3ce929d0e0e4736".to_owned(), Some("00f067aa0bb902b7".to_owned()));
        assert_eq!(trace(Some(GIVEN)), Trace::Of { id, parent });
        assert_eq!(trace(Some(&GIVEN.replace("-01", "-00"))), Trace::Unwanted);
    }

    #[test]
    fn what_is_no_trace_begins_one_of_the_requests_own() {
        let broken = [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0bb902b7-01",
            "00-00000000000000000000000000000000-00f067aa0bb902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473X-00f067aa0bb902b7-01",
        ];
        for given in broken.map(Some).into_iter().chain([None]) {
            let own = Trace::Of { id: "0123456789abcdef0123456789abcdef".into(), parent: None };
            assert_eq!(trace(given), own, "{given:?}");
        }
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let traces = Traces::default();
        let span = || Span {
            name: "GET /inbox".into(),
            kind: SpanKind::Server,
            trace: Trace::Own,
            ended: DateTime::UNIX_EPOCH,
            took: Duration::from_millis(3),
            attributes: vec![("code", "200".into())],
            failed: false,
        };
        traces.note(|| panic!("nobody wants spans yet"));
        let queue = traces.begin().unwrap();
        assert!(traces.begin().is_none());
        traces.note(|| Span { trace: Trace::Unwanted, ..span() });
        assert_eq!(queue.len(), 0, "its caller wants none");
        for _ in 0..QUEUE + 5 {
            traces.note(span);
        }
        assert_eq!((traces.dropped(), queue.len()), (5, QUEUE));
        let document = document(&[span()], &Random::seeded(1));
        let written = &document["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!((&written["name"], &written["kind"]), (&json!("GET /inbox"), &json!(2)));
        assert_eq!(written["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(written["startTimeUnixNano"], "-3000000");
    }
}
