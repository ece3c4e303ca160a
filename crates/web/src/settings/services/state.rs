//! How a connection does, in a word with its colour and icon, and what somebody should do if anything is wrong.
//! What a service sends is never shown here: errors are our own sentences.

use chrono::{DateTime, Utc};

use rookery_product::app_mail::connect::ServiceConnection;

pub struct ServiceState {
    pub class: &'static str,
    pub icon: &'static str,
    pub words: &'static str,
}

pub fn describe(connection: &ServiceConnection) -> ServiceState {
    let shown = |class, icon, words| ServiceState { class, icon, words };
    if connection.paused_at.is_some() {
        shown("warn-text", "pause", "Paused")
    } else if !connection.has_key {
        shown("warn-text", "key-round", "Needs its key")
    } else if trouble(connection).is_some() {
        shown("bad-text", "triangle-alert", "Refused lately")
    } else if connection.last_report_at.is_some() {
        shown("good", "circle-check", "Working")
    } else {
        shown("second", "hourglass", "Waits for a report")
    }
}

/// The last error, when nothing went well since.
pub fn trouble(connection: &ServiceConnection) -> Option<(&str, DateTime<Utc>)> {
    let (error, at) = (connection.last_error.as_deref()?, connection.last_error_at?);
    connection.last_report_at.is_none_or(|report| report < at).then_some((error, at))
}
