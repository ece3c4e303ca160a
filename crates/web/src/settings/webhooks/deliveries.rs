//! Rows of a delivery log as pages show them: one line each, and the one that is open with every try, what we sent and
//! what came back. What came back is a stranger's text.

use chrono::{DateTime, TimeDelta, Utc};
use hyper::StatusCode;

use crate::settings::webhooks::json;
use crate::show::grouped_of;
use rookery_base::error::Result;
use rookery_base::store::db::{Handle, Snapshot};
use rookery_core::events::read;
use rookery_webhooks::attempt::{LoggedTry, headers};
use rookery_webhooks::log::LogEntry;

/// All tries of a delivery.
const TRIES: usize = 9;
/// What is due so soon is worth waiting for on the page.
const SOON: TimeDelta = TimeDelta::seconds(5);

/// A line of the log.
pub struct DeliveryLine {
    pub place: String,
    pub event: String,
    pub kind: String,
    pub class: &'static str,
    pub icon: &'static str,
    pub state: &'static str,
    /// How it ended: `200 · 84 ms`
    pub end: String,
    pub at: DateTime<Utc>,
    /// Where it is opened, or closed.
    pub path: String,
    pub open: Option<Opened>,
}

pub struct Opened {
    pub next: Option<DateTime<Utc>>,
    /// `fourth of nine`
    pub which: String,
    pub tries: Vec<TryShown>,
    /// What was sent every time; nothing when it is no longer kept.
    pub body: Option<String>,
}

pub struct TryShown {
    pub at: DateTime<Utc>,
    pub class: &'static str,
    pub words: String,
    pub duration: String,
    pub headers: Vec<(&'static str, String)>,
    pub answer: Option<String>,
}

impl DeliveryLine {
    pub fn from_entry(entry: &LogEntry, path: String) -> Self {
        let tries = tries_of(entry);
        let last = tries.last();
        let (class, icon, state) = match (entry.state.as_str(), last) {
            ("delivered", _) => ("good", "circle-check", "Delivered"),
            ("failed", _) => ("bad-text", "circle-x", "Failed"),
            ("skipped", _) => ("third", "ban", "Skipped"),
            (_, None) => ("second", "clock", "Waiting"),
            (_, Some(_)) => ("warn-text", "rotate-cw", "Will be tried again"),
        };
        let end = match (entry.state.as_str(), last, tries.len()) {
            ("delivered", Some(last), 1) => {
                format!("{} · {} ms", brief(last), grouped_of(last.duration as i64))
            }
            ("delivered", Some(last), many) => format!("{} · {many} tries", brief(last)),
            ("failed", Some(last), many) => format!("{} · gave up after {}", brief(last), counted(many)),
            ("skipped", ..) => "The webhook was stopped".to_owned(),
            (_, Some(last), many) => format!("{} · {}", brief(last), counted(many)),
            (_, None, _) => "On its way".to_owned(),
        };
        Self {
            place: entry.place.to_string(),
            event: entry.event.to_string(),
            kind: entry.r#type.clone(),
            class,
            icon,
            state,
            end,
            at: entry.place.at(),
            path,
            open: None,
        }
    }
}

/// Whether something of these is about to happen: the page looks again soon.
pub fn is_moving(entries: &[LogEntry], now: DateTime<Utc>) -> bool {
    entries.iter().any(|entry| entry.due_at.is_some_and(|due| due <= now + SOON))
}

/// Everything of one delivery.
pub async fn opened(instant: &mut Snapshot, entry: &LogEntry) -> Result<Opened> {
    let workspace = instant.frame().workspace;
    let body = read::find(instant, workspace, entry.event).await?.map(|event| json::spaced(&event.body));
    let tries = tries_of(entry);
    let shown = tries.iter().rev().map(|one| {
        let at: DateTime<Utc> = one.at.parse().unwrap_or_default();
        let signature = one.signature.as_deref();
        TryShown {
            at,
            class: if one.status.is_some_and(|status| (200..300).contains(&status)) {
                "good"
            } else {
                "bad-text"
            },
            words: whole(one),
            duration: format!("{} ms", grouped_of(one.duration as i64)),
            headers: signature.map_or_else(Vec::new, |signature| {
                headers(entry.event, at.timestamp(), signature).into_iter().collect()
            }),
            answer: one.answer.clone(),
        }
    });
    Ok(Opened {
        next: entry.due_at.filter(|_| !tries.is_empty()),
        which: format!("{} of {TRIES} tries", tries.len() + 1),
        tries: shown.collect(),
        body,
    })
}

fn tries_of(entry: &LogEntry) -> Vec<LoggedTry> {
    serde_json::from_value(entry.tries.clone()).unwrap_or_default()
}

fn counted(tries: usize) -> String {
    if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
}

/// `500`, or why there was no answer.
fn brief(one: &LoggedTry) -> String {
    match (one.status, one.error.as_deref()) {
        (Some(status), _) => status.to_string(),
        (None, Some("timeout")) => "No answer in time".to_owned(),
        (None, error) => capital(error.unwrap_or("no answer")),
    }
}

/// `500 Internal Server Error`
fn whole(one: &LoggedTry) -> String {
    let reason = one.status.and_then(|status| StatusCode::from_u16(status).ok()?.canonical_reason());
    match (one.status, reason) {
        (Some(status), Some(reason)) => format!("{status} {reason}"),
        _ => brief(one),
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
