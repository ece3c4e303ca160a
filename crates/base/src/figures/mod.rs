//! What the program counts and measures while it works, for `/metrics`, and the same as spans for a collector of traces.
//! A verb says what came of it and how long it took; names and labels stand here and nowhere else.
//!
//! docs/figures.md explains each figure, packaging/monitoring has alerts and a dashboard of them.

pub mod logged_address;
pub mod process;
pub mod series;
pub mod traces;

use std::time::Duration;

use axum::http::{Method, StatusCode};
use chrono::{DateTime, Utc};

use self::series::{Counters, Histograms, SeriesName};
use self::traces::{Span, SpanKind, Trace, Traces};
use crate::clock::Clock;

pub struct Figures {
    began: DateTime<Utc>,
    pub traces: Traces,
    clock: Clock,
    requests: Counters<4>,
    request_seconds: Histograms<3>,
    mail_in: Counters<2>,
    mail_in_seconds: Histograms<1>,
    mail_connections: Counters<2>,
    mail_checks: Counters<2>,
    sends: Counters<2>,
    send_seconds: Histograms<1>,
    webhook_tries: Counters<1>,
    webhook_seconds: Histograms<0>,
    model_calls: Counters<2>,
    model_seconds: Histograms<1>,
    database_wait: Histograms<0>,
}

/// A request that was answered.
pub struct Answered<'a> {
    /// `api`, `mcp`, `tool`, `oauth`, `web` or `hook`.
    pub door: &'static str,
    pub method: &'a Method,
    /// An operation of the registry, or a page's path as the table has it; empty when it came to none.
    pub operation: &'static str,
    pub status: StatusCode,
    pub took: Duration,
    pub trace: Trace,
}

impl Figures {
    pub fn new(clock: Clock) -> Self {
        let doors = ["smtp", "lmtp"];
        let verdicts = ["accepted", "no_such_inbox", "quota", "ours", "dmarc", "malformed"];
        let mail_in: Vec<_> =
            doors.iter().flat_map(|door| verdicts.map(|verdict| [*door, verdict])).collect();
        let seats: Vec<_> = doors.iter().flat_map(|door| [[*door, "taken"], [*door, "refused"]]).collect();
        let modes = ["live", "sandbox"];
        let outcomes = ["accepted", "later", "rejected", "suppressed", "error"];
        let sends: Vec<_> = modes.iter().flat_map(|mode| outcomes.map(|outcome| [*mode, outcome])).collect();
        Self {
            began: clock.now(),
            traces: Traces::default(),
            clock,
            requests: Counters::new(
                SeriesName {
                    name: "rookery_requests_total",
                    help: "Answered requests, by door, operation or page, and status.",
                    labels: ["door", "method", "operation", "code"],
                },
                &[],
            ),
            request_seconds: Histograms::new(SeriesName {
                name: "rookery_request_seconds",
                help: "How long requests took, by door and operation or page.",
                labels: ["door", "method", "operation"],
            }),
            mail_in: Counters::new(
                SeriesName {
                    name: "rookery_mail_in_total",
                    help: "Answers to mail that others handed over, by what was decided.",
                    labels: ["protocol", "verdict"],
                },
                &mail_in,
            ),
            mail_in_seconds: Histograms::new(SeriesName {
                name: "rookery_mail_in_seconds",
                help: "From the end of a mail to its answer.",
                labels: ["protocol"],
            }),
            mail_connections: Counters::new(
                SeriesName {
                    name: "rookery_mail_connections_total",
                    help: "Connections of other mail servers, and whether there was a seat.",
                    labels: ["protocol", "outcome"],
                },
                &seats,
            ),
            mail_checks: Counters::new(
                SeriesName {
                    name: "rookery_mail_checks_total",
                    help: "What SPF, DKIM, DMARC and ARC said of mail.",
                    labels: ["check", "result"],
                },
                &[["dmarc", "pass"], ["dmarc", "fail"], ["dmarc", "temperror"], ["spf", "temperror"]],
            ),
            sends: Counters::new(
                SeriesName {
                    name: "rookery_sends_total",
                    help: "Tries to send a mail, by what came of it.",
                    labels: ["mode", "outcome"],
                },
                &sends,
            ),
            send_seconds: Histograms::new(SeriesName {
                name: "rookery_send_seconds",
                help: "How long handing over a mail took.",
                labels: ["mode"],
            }),
            webhook_tries: Counters::new(
                SeriesName {
                    name: "rookery_webhook_tries_total",
                    help: "Requests to webhooks, by what came back.",
                    labels: ["outcome"],
                },
                &[["delivered"], ["refused"], ["error"]],
            ),
            webhook_seconds: Histograms::new(SeriesName {
                name: "rookery_webhook_seconds",
                help: "How long webhooks took to answer.",
                labels: [],
            }),
            model_calls: Counters::new(
                SeriesName {
                    name: "rookery_model_calls_total",
                    help: "Questions to models, by task and outcome.",
                    labels: ["task", "outcome"],
                },
                &[["sort", "answered"], ["draft", "answered"], ["read", "answered"]],
            ),
            model_seconds: Histograms::new(SeriesName {
                name: "rookery_model_seconds",
                help: "How long models took to answer.",
                labels: ["task"],
            }),
            database_wait: Histograms::new(SeriesName {
                name: "rookery_database_wait_seconds",
                help: "How long somebody waited for a connection to the database.",
                labels: [],
            }),
        }
    }

    pub fn answered(&self, answered: Answered<'_>) {
        let Answered { door, method, operation, status, took, trace } = answered;
        let operation = if operation.is_empty() { "none" } else { operation };
        let (method, code) = (of_method(method), of_status(status));
        self.requests.count([door, method, operation, code]);
        self.request_seconds.note([door, method, operation], took);
        self.traces.note(|| Span {
            name: format!("{method} {operation}"),
            kind: SpanKind::Server,
            trace,
            ended: self.clock.now(),
            took,
            attributes: vec![
                ("rookery.door", door.to_owned()),
                ("http.request.method", method.to_owned()),
                ("http.response.status_code", status.as_str().to_owned()),
            ],
            failed: status.is_server_error(),
        });
    }

    /// A mail was answered, once for each answer.
    pub fn mail_answered(&self, protocol: &'static str, answers: &[String], took: Duration) {
        for answer in answers {
            self.mail_in.count([protocol, verdict(answer)]);
        }
        self.mail_in_seconds.note([protocol], took);
        let first = answers.first().map_or("none", |answer| verdict(answer));
        self.span(SpanKind::Consumer, "receive mail", took, first, first == "ours");
    }

    /// A recipient or a mail was refused before it was handed over.
    pub fn mail_refused(&self, protocol: &'static str, answer: &str) {
        self.mail_in.count([protocol, verdict(answer)]);
    }

    pub fn mail_connected(&self, protocol: &'static str, seated: bool) {
        self.mail_connections.count([protocol, if seated { "taken" } else { "refused" }]);
    }

    pub fn mail_checked(&self, checks: [(&'static str, &'static str); 4]) {
        for (check, result) in checks {
            self.mail_checks.count([check, result]);
        }
    }

    pub fn sent(&self, live: bool, outcome: &'static str, took: Duration) {
        let mode = if live { "live" } else { "sandbox" };
        self.sends.count([mode, outcome]);
        self.send_seconds.note([mode], took);
        self.span(SpanKind::Client, "send mail", took, outcome, outcome == "error");
    }

    /// `status` is what a webhook answered, when it did.
    pub fn webhook_tried(&self, status: Option<u16>, took: Duration) {
        let outcome = match status {
            Some(200..=299) => "delivered",
            Some(_) => "refused",
            None => "error",
        };
        self.webhook_tries.count([outcome]);
        self.webhook_seconds.note([], took);
        self.span(SpanKind::Client, "deliver webhook", took, outcome, outcome == "error");
    }

    /// `outcome` is `answered`, or why there was no answer.
    pub fn model_asked(&self, task: &'static str, outcome: &'static str, took: Duration) {
        self.model_calls.count([task, outcome]);
        self.model_seconds.note([task], took);
        self.span(SpanKind::Client, "ask a model", took, outcome, outcome != "answered");
    }

    pub fn waited_for_the_database(&self, took: Duration) {
        self.database_wait.note([], took);
    }

    fn span(&self, kind: SpanKind, name: &str, took: Duration, outcome: &str, failed: bool) {
        self.traces.note(|| Span {
            name: name.to_owned(),
            kind,
            trace: Trace::Own,
            ended: self.clock.now(),
            took,
            attributes: vec![("rookery.outcome", outcome.to_owned())],
            failed,
        });
    }

    /// Everything that was counted here.
    pub fn write(&self, text: &mut String) {
        self.requests.write(text);
        self.request_seconds.write(text);
        self.mail_in.write(text);
        self.mail_in_seconds.write(text);
        self.mail_connections.write(text);
        self.mail_checks.write(text);
        self.sends.write(text);
        self.send_seconds.write(text);
        self.webhook_tries.write(text);
        self.webhook_seconds.write(text);
        self.model_calls.write(text);
        self.model_seconds.write(text);
        self.database_wait.write(text);
        let help = "Spans that did not reach the collector of traces.";
        series::total(text, "rookery_spans_dropped_total", help, self.traces.dropped() as f64);
        process::write(text, self.began);
    }
}

fn of_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        _ => "other",
    }
}

/// Those that we answer with; another by its hundred.
fn of_status(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200 => "200",
        201 => "201",
        202 => "202",
        204 => "204",
        206 => "206",
        303 => "303",
        304 => "304",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        409 => "409",
        413 => "413",
        429 => "429",
        500 => "500",
        503 => "503",
        other => match other / 100 {
            1 | 2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            _ => "5xx",
        },
    }
}

/// What an answer of the mail servers says, by its codes (RFC 3463).
pub fn verdict(answer: &str) -> &'static str {
    match answer.get(..9).unwrap_or_default() {
        "550 5.1.1" => "no_such_inbox",
        "550 5.7.1" => "dmarc",
        "451 4.7.0" => "name_servers_slow",
        "452 4.2.2" => "quota",
        "452 4.3.1" => "no_room",
        "552 5.3.4" => "too_large",
        "554 5.4.6" => "loop",
        "451 4.3.0" => "ours",
        _ if answer.starts_with('2') => "accepted",
        _ if answer.starts_with('4') => "later",
        _ => "malformed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_written() {
        let figures = Figures::new(Clock::set_to(DateTime::UNIX_EPOCH));
        let took = Duration::from_millis(7);
        figures.answered(Answered {
            door: "api",
            method: &Method::GET,
            operation: "list_conversations",
            status: StatusCode::OK,
            took,
            trace: Trace::Own,
        });
        figures.mail_answered("smtp", &["250 2.0.0 Ok, abc".to_owned()], took);
        figures.mail_refused("smtp", "550 5.1.1 No such inbox here");
        figures.sent(true, "accepted", took);
        figures.webhook_tried(Some(410), took);
        let mut text = String::new();
        figures.write(&mut text);
        for line in [
            "rookery_requests_total{door=\"api\",method=\"GET\",operation=\"list_conversations\",code=\"200\"} 1",
            "rookery_mail_in_total{protocol=\"smtp\",verdict=\"accepted\"} 1",
            "rookery_mail_in_total{protocol=\"smtp\",verdict=\"no_such_inbox\"} 1",
            "rookery_mail_in_total{protocol=\"lmtp\",verdict=\"accepted\"} 0",
            "rookery_sends_total{mode=\"live\",outcome=\"accepted\"} 1",
            "rookery_webhook_tries_total{outcome=\"refused\"} 1",
            "rookery_webhook_seconds_count 1",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
    }

    #[test]
    fn answers_are_told_apart_by_their_codes() {
        for (answer, wanted) in [
            ("250 2.0.0 Ok, 1", "accepted"),
            ("451 4.3.0 Something is wrong on our side, try again later", "ours"),
            ("452 4.3.1 No room for the mail, try again later", "no_room"),
            ("554 5.6.0 a reason", "malformed"),
            ("421 4.7.0 Too many", "later"),
            ("", "malformed"),
        ] {
            assert_eq!(verdict(answer), wanted, "{answer}");
        }
    }
}
