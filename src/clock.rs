//! The one clock of the program. Rules, limits and timers ask it, so a test can move time.
//!
//! In service it follows the database: set by it again and again, and in between run by a counter that only
//! goes forward. So all nodes agree, and a wall clock that is wrong or jumps sends nothing early.
//! Times are cut to milliseconds, because that is what every answer shows (specification 1).

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// The wall's, until it is set.
    System(Arc<Mutex<Option<Set>>>),
    Set(Arc<AtomicI64>),
}

/// What the time was at a moment that can be counted from.
#[derive(Clone, Copy, Debug)]
struct Set {
    time: DateTime<Utc>,
    since: Instant,
}

impl Clock {
    pub fn system() -> Self {
        Self(Source::System(Arc::default()))
    }

    /// A clock that stands still until it is moved.
    pub fn set_to(start: DateTime<Utc>) -> Self {
        Self(Source::Set(Arc::new(AtomicI64::new(start.timestamp_millis()))))
    }

    /// The present, in whole milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time of day")]
    pub fn now(&self) -> DateTime<Utc> {
        let milliseconds = match &self.0 {
            Source::System(set) => match *set.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(Set { time, since }) => {
                    let passed = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
                    time.timestamp_millis().saturating_add(passed)
                }
                None => Utc::now().timestamp_millis(),
            },
            Source::Set(milliseconds) => milliseconds.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_millis(milliseconds).unwrap_or_default()
    }

    /// Sets the clock by the database's. The answer took a moment to come, so this is that much late, and
    /// nothing is early. The clock of a test stays as it is.
    pub fn follow(&self, time: DateTime<Utc>) {
        if let Source::System(set) = &self.0 {
            *set.lock().unwrap_or_else(PoisonError::into_inner) = Some(Set { time, since: Instant::now() });
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_follows_another_forgets_the_wall_and_never_goes_back() {
        let clock = Clock::system();
        let theirs: DateTime<Utc> = "2001-01-01T00:00:00Z".parse().unwrap();
        assert!(clock.now() > theirs);
        clock.follow(theirs);
        let first = clock.now();
        assert!(first >= theirs && first < theirs + TimeDelta::minutes(1), "{first}");
        assert!(clock.now() >= first);
    }
}
