//! The one clock of the program. Rules, limits and timers ask it, so a test can move time.
//!
//! In service it follows the database: set by it again and again, and in between run by a counter that only
//! goes forward. So all nodes agree, and a wall clock that is wrong or jumps sends nothing early. When the database
//! steps back, the clock does not: it runs at half speed until the database has caught up.
//! Times are cut to milliseconds, because that is what every answer shows (specification 1).

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

#[derive(Clone, Debug)]
pub struct Clock(ClockSource);

#[derive(Clone, Debug)]
enum ClockSource {
    /// The wall's, until it is set.
    System(Arc<Mutex<Option<Set>>>),
    Set(Arc<AtomicI64>),
}

/// What the database's time was at a moment that can be counted from, and how far ahead of it the clock was.
#[derive(Clone, Copy, Debug)]
struct Set {
    time: DateTime<Utc>,
    ahead: TimeDelta,
    since: Instant,
}

impl Set {
    /// The clock's time so long after it was set. What it was ahead wears off at half the speed of time, so it never
    /// stands still and never goes back, whatever the step was.
    fn after(&self, passed: TimeDelta) -> DateTime<Utc> {
        self.time + passed + (self.ahead - passed / 2).max(TimeDelta::zero())
    }

    fn passed(&self) -> TimeDelta {
        TimeDelta::from_std(self.since.elapsed()).unwrap_or(TimeDelta::MAX)
    }
}

impl Clock {
    pub fn system() -> Self {
        Self(ClockSource::System(Arc::default()))
    }

    /// A clock that stands still until it is moved.
    pub fn set_to(start: DateTime<Utc>) -> Self {
        Self(ClockSource::Set(Arc::new(AtomicI64::new(start.timestamp_millis()))))
    }

    /// The present, in whole milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time of day")]
    pub fn now(&self) -> DateTime<Utc> {
        let milliseconds = match &self.0 {
            ClockSource::System(set) => match *set.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(set) => set.after(set.passed()).timestamp_millis(),
                None => Utc::now().timestamp_millis(),
            },
            ClockSource::Set(milliseconds) => milliseconds.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_millis(milliseconds).unwrap_or_default()
    }

    /// Sets the clock by the database's. The answer took a moment to come, so this is that much late, and
    /// nothing is early. Gives how far the database has stepped back since the last time. The clock of a test stays
    /// as it is.
    pub fn follow(&self, time: DateTime<Utc>) -> TimeDelta {
        let ClockSource::System(set) = &self.0 else { return TimeDelta::zero() };
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        let (ahead, back) = match *set {
            Some(before) => {
                let passed = before.passed();
                (before.after(passed) - time, before.time + passed - time)
            }
            None => Default::default(),
        };
        *set = Some(Set { time, ahead: ahead.max(TimeDelta::zero()), since: Instant::now() });
        back.max(TimeDelta::zero())
    }

    /// Moves a set clock. The system's clock cannot be moved and stays as it is.
    pub fn advance(&self, by: TimeDelta) {
        if let ClockSource::Set(milliseconds) = &self.0 {
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
    use crate::ids::{Id, MessageId};
    use crate::random::Random;

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

    #[test]
    fn a_database_that_steps_back_never_takes_the_clock_along() {
        let (clock, random) = (Clock::system(), Random::seeded(1));
        let noon: DateTime<Utc> = "2031-01-06T12:00:00Z".parse().unwrap();
        clock.follow(noon);
        let (mut newest, mut highest) = (clock.now(), MessageId::mint(clock.now(), &random));
        for back in [1, 1_000, 3_600_000, 5, 7_200_000, 0] {
            clock.follow(noon - TimeDelta::milliseconds(back));
            let (now, id) = (clock.now(), MessageId::mint(clock.now(), &random));
            assert!(now >= newest && id > highest, "{back} ms back: {newest}, then {now}");
            (newest, highest) = (now, id);
        }
        clock.follow(noon + TimeDelta::hours(1));
        assert!(clock.now() >= noon + TimeDelta::hours(1), "a step ahead is followed at once");
    }

    #[test]
    fn after_a_step_back_time_runs_at_half_speed_until_the_database_has_caught_up() {
        let noon: DateTime<Utc> = "2031-01-06T12:00:00Z".parse().unwrap();
        let set = Set { time: noon, ahead: TimeDelta::hours(1), since: Instant::now() };
        for (passed, shown) in [(0, 60), (1, 61), (60, 90), (119, 119), (120, 120), (121, 121), (600, 600)] {
            let shown = noon + TimeDelta::minutes(shown);
            let ours = set.after(TimeDelta::minutes(passed));
            assert!((ours - shown).abs() <= TimeDelta::seconds(30), "{passed} minutes later: {ours}");
        }
    }
}
