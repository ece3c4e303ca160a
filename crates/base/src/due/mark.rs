//! The place from which a node reads a queue, so that it need not walk over all that was there before. What is gone stays in an
//! index for as long as somebody's snapshot is open.
//!
//! It is remembered in memory. A look at the whole, when the node starts, after an outage and once an hour, finds what stands
//! before it all the same. Places are numbers that the queue gives; which of them are safe to begin at is the queue's affair.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

/// Before every place.
pub const BEGINNING: i64 = 0;
/// Nothing should be found by it: it is for what was done to the database by other means than the service's.
const WHOLE_EVERY: TimeDelta = TimeDelta::hours(1);

#[derive(Default)]
pub struct PassMark {
    /// At the beginning while nothing is known.
    place: AtomicI64,
    /// When the last look at the whole began.
    whole_since: Mutex<Option<DateTime<Utc>>>,
}

impl PassMark {
    pub fn place(&self) -> i64 {
        self.place.load(Ordering::SeqCst)
    }

    /// After a look from there on: the next one begins here. Unless a look at the whole found something before meanwhile.
    pub fn advance(&self, from: i64, to: i64) {
        let _ = self.place.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether it is time to look at the whole. Whoever asks does it.
    pub fn whole_is_due(&self, now: DateTime<Utc>) -> bool {
        let mut since = self.whole_since();
        let is_due = since.is_none_or(|since| since + WHOLE_EVERY <= now);
        if is_due {
            *since = Some(now);
        }
        is_due
    }

    /// After a look at the whole, whatever was known before: what it had to leave stands behind the mark.
    pub fn set(&self, to: i64) {
        self.place.store(to, Ordering::SeqCst);
    }

    /// What is known may not be so any more: the database was away, and another may have taken its place.
    pub fn forget(&self) {
        *self.whole_since() = None;
        self.set(BEGINNING);
    }

    fn whole_since(&self) -> MutexGuard<'_, Option<DateTime<Utc>>> {
        self.whole_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_look_at_the_whole_found_is_not_stepped_over_by_one_that_began_before() {
        let mark = PassMark::default();
        mark.advance(BEGINNING, 7);
        // A look from 7 on is under way.
        mark.set(3);
        mark.advance(7, 9);
        assert_eq!(mark.place(), 3);
    }

    #[test]
    fn the_whole_is_looked_at_first_then_hourly_and_after_an_outage() {
        let (mark, start) = (PassMark::default(), DateTime::UNIX_EPOCH);
        assert!(mark.whole_is_due(start));
        assert!(!mark.whole_is_due(start + TimeDelta::minutes(59)));
        assert!(mark.whole_is_due(start + TimeDelta::minutes(60)));
        mark.set(5);
        mark.forget();
        assert_eq!(mark.place(), BEGINNING);
        assert!(mark.whole_is_due(start + TimeDelta::minutes(61)));
    }
}
