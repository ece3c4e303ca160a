//! The one clock of the program. Rules, limits and timers ask it, so a test can move time.
//!
//! Times are cut to milliseconds here, because that is what every answer shows (specification 1).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Set(Arc<AtomicI64>),
}

impl Clock {
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still until it is moved.
    pub fn set_to(start: DateTime<Utc>) -> Self {
        Self(Source::Set(Arc::new(AtomicI64::new(start.timestamp_millis()))))
    }

    /// The present, in whole milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time of day")]
    pub fn now(&self) -> DateTime<Utc> {
        let milliseconds = match &self.0 {
            Source::System => Utc::now().timestamp_millis(),
            Source::Set(milliseconds) => milliseconds.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_millis(milliseconds).unwrap_or_default()
    }

    /// Moves a set clock. The system's clock cannot be moved and stays as it is.
    pub fn advance(&self, by: TimeDelta) {
        if let Source::Set(milliseconds) = &self.0 {
            milliseconds.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}

/// The form of every timestamp that leaves the service: `yyyy-mm-ddThh:mm:ss.mmmZ`.
pub fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
