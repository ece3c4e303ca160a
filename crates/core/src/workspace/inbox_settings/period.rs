//! From when until when an automatic reply is sent. Both ends are moments, so a change of clocks or zones moves neither;
//! whether a period holds is decided by comparing times when mail arrives (docs/decisions/out-of-office.md).

use chrono::{DateTime, TimeDelta, Utc};

use rookery_base::error::{Error, Result};

/// Nobody plans further ahead, and nothing that is stored may be out of the database's range.
const FURTHEST: TimeDelta = TimeDelta::days(5 * 366);
const TOO_FAR: &str = "must be within five years";

/// An end that is left out is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyPeriod {
    pub from: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
}

impl ReplyPeriod {
    pub fn is_always(&self) -> bool {
        self.from.is_none() && self.until.is_none()
    }

    pub fn check(&self, now: DateTime<Utc>) -> Result<()> {
        let is_far = |at: Option<DateTime<Utc>>| at.is_some_and(|at| (at - now).abs() > FURTHEST);
        if is_far(self.from) {
            return Err(Error::problem("from", TOO_FAR));
        }
        if is_far(self.until) {
            return Err(Error::problem("until", TOO_FAR));
        }
        match self.from.zip(self.until) {
            Some((from, until)) if until <= from => Err(Error::problem("until", "must be after “From”")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_after_it_begins_and_is_near() {
        let now: DateTime<Utc> = "2031-01-06T09:00:00Z".parse().unwrap();
        let day = |n| Some(now + TimeDelta::days(n));
        for (from, until, fits) in [
            (None, None, true),
            (day(-3), None, true),
            (None, day(3), true),
            (day(1), day(2), true),
            (day(2), day(2), false),
            (day(2), day(1), false),
            (day(-1831), None, false),
            (None, Some(DateTime::<Utc>::MAX_UTC), false),
            (Some(DateTime::<Utc>::MIN_UTC), None, false),
        ] {
            assert_eq!(ReplyPeriod { from, until }.check(now).is_ok(), fits, "{from:?} {until:?}");
        }
    }
}
