//! How a connection does, in a word with its colour and icon, and what somebody should do if anything is wrong.
//! What a service sends is never shown here: errors are our own sentences.

use chrono::{DateTime, Utc};

use crate::app_mail::connect::Connection;

pub struct Shown {
    pub class: &'static str,
    pub icon: &'static str,
    pub words: &'static str,
}

pub fn of(connection: &Connection) -> Shown {
    let shown = |class, icon, words| Shown { class, icon, words };
    match () {
        () if connection.paused_at.is_some() => shown("warn-text", "pause", "Paused"),
        () if !connection.has_key => shown("warn-text", "key-round", "Needs its key"),
        () if trouble(connection).is_some() => shown("bad-text", "triangle-alert", "Refused lately"),
        () if connection.last_report_at.is_some() => shown("good", "circle-check", "Working"),
        () => shown("second", "hourglass", "Waits for a report"),
    }
}

/// The last error, when nothing went well since.
pub fn trouble(connection: &Connection) -> Option<(&str, DateTime<Utc>)> {
    let (error, at) = (connection.last_error.as_deref()?, connection.last_error_at?);
    connection.last_report_at.is_none_or(|report| report < at).then_some((error, at))
}
