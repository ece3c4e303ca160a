//! Business hours: from when until when a week's days are open, by the clock of a zone. The clock on the wall is what
//! counts, so a change of it needs nothing: every instant has one local time.

use chrono::{DateTime, Utc};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use rookery_base::error::{Error, Result};

/// A day has so many minutes on the wall; `24:00` is its end.
const DAY: u16 = 24 * 60;
const BACKWARDS: &str =
    "must end after it begins. Past midnight, end it at 24:00 and begin the next day at 00:00";
pub const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// From Monday on; nothing when closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours(pub [Option<HoursSpan>; 7]);

/// Minutes since midnight: the first that is open, and the first that is not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoursSpan(pub u16, pub u16);

impl Hours {
    /// Nine to five, five days a week.
    pub fn usual() -> Self {
        let work = Some(HoursSpan(9 * 60, 17 * 60));
        Self([work, work, work, work, work, None, None])
    }

    pub fn is_open(&self, now: DateTime<Utc>, zone: &TimeZone) -> bool {
        let Ok(now) = Timestamp::from_second(now.timestamp()) else { return false };
        let local = now.to_zoned(zone.clone());
        let day = usize::from(local.weekday().to_monday_zero_offset().unsigned_abs());
        let minute = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        self.0[day].is_some_and(|HoursSpan(from, to)| (from..to).contains(&minute))
    }
}

impl HoursSpan {
    /// As the fields of a form have it: `09:00` and `17:30`.
    pub fn read(day: &str, from: &str, to: &str) -> Result<Self> {
        let (from, to) = (minute(day, from)?, minute(day, to)?);
        if from < to { Ok(Self(from, to)) } else { Err(Error::problem(day, BACKWARDS)) }
    }

    pub fn from(&self) -> String {
        clock(self.0)
    }

    pub fn to(&self) -> String {
        clock(self.1)
    }
}

fn clock(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn minute(day: &str, text: &str) -> Result<u16> {
    let number = |text: &str| -> Option<u16> {
        (!text.is_empty() && text.len() <= 2).then_some(())?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        text.parse().ok()
    };
    let read = || {
        let (hour, minute) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
        let (hour, minute) = (number(hour)?, number(minute)?);
        (minute < 60).then_some(hour * 60 + minute).filter(|minute| *minute <= DAY)
    };
    read().ok_or_else(|| Error::problem(day, "must have times such as 09:00 and 17:30"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(hours: &Hours, zone: &str, now: &str) -> bool {
        hours.is_open(now.parse().unwrap(), &TimeZone::get(zone).unwrap())
    }

    #[test]
    fn a_day_is_open_from_its_first_minute_to_the_one_before_its_last() {
        let usual = Hours::usual();
        // Monday, then Sunday.
        for (now, wanted) in [
            ("2031-01-06T08:59:59Z", false),
            ("2031-01-06T09:00:00Z", true),
            ("2031-01-06T16:59:59Z", true),
            ("2031-01-06T17:00:00Z", false),
            ("2031-01-05T12:00:00Z", false),
        ] {
            assert_eq!(open(&usual, "UTC", now), wanted, "{now}");
        }
        // The same instant is Tuesday morning on Kiritimati.
        assert!(open(&usual, "Pacific/Kiritimati", "2031-01-06T19:00:00Z"));
        assert!(!open(&usual, "America/New_York", "2031-01-06T13:59:00Z"), "Monday, 08:59");
        assert!(open(&usual, "America/New_York", "2031-01-06T14:00:00Z"));
        let whole = Hours([Some(HoursSpan(0, DAY)); 7]);
        assert!(open(&whole, "UTC", "2031-01-06T23:59:59Z") && open(&whole, "UTC", "2031-01-07T00:00:00Z"));
    }

    #[test]
    fn nine_is_nine_before_and_after_the_clock_changes() {
        let mut days = Hours::usual().0;
        days[6] = Some(HoursSpan(60, 3 * 60));
        let hours = Hours(days);
        let berlin = "Europe/Berlin";
        // Friday before and Monday after the clocks go forward, then back.
        for (before, after) in [
            ("2031-03-28T08:00:00Z", "2031-03-31T07:00:00Z"),
            ("2031-10-24T07:00:00Z", "2031-10-27T08:00:00Z"),
        ] {
            for nine in [before, after] {
                let nine: DateTime<Utc> = nine.parse().unwrap();
                let zone = TimeZone::get(berlin).unwrap();
                assert!(hours.is_open(nine, &zone), "{nine}");
                assert!(!hours.is_open(nine - chrono::TimeDelta::minutes(1), &zone), "{nine}");
            }
        }
        // Sunday from one to three: an hour of it is skipped in spring, and comes twice in autumn.
        let minutes = |from: &str| {
            let from: DateTime<Utc> = from.parse().unwrap();
            let zone = TimeZone::get(berlin).unwrap();
            let at = |minute| from + chrono::TimeDelta::minutes(minute);
            (0..360).filter(|minute| hours.is_open(at(*minute), &zone)).count()
        };
        assert_eq!((minutes("2031-03-29T23:00:00Z"), minutes("2031-10-25T22:00:00Z")), (60, 180));
    }

    #[test]
    fn hours_are_read_as_people_write_them() {
        let read = |from, to| HoursSpan::read("Monday", from, to).map_err(|error| error.sentence());
        assert_eq!(read("9:00", " 17:30 "), Ok(HoursSpan(540, 1050)));
        assert_eq!(read("0", "24:00"), Ok(HoursSpan(0, DAY)));
        assert_eq!(read("17:00", "09:00"), Err(format!("Monday: {BACKWARDS}")));
        for wrong in ["", "9h", "24:01", "-1:00", "9:60", "١:00", "99999999999:00", "9:5:5"] {
            assert!(read(wrong, "23:00").is_err(), "{wrong}");
        }
        let span = HoursSpan(545, DAY);
        assert_eq!((span.from(), span.to()), ("09:05".into(), "24:00".into()));
    }
}
