//! Sending later: the times a menu offers, and reading the one that was chosen.
//! Both are in the person's own zone.

use chrono::{DateTime, Utc};
use jiff::civil;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::show::Times;

/// One choice of the menu.
pub struct Later {
    pub label: &'static str,
    /// `Tue 17 Nov, 08:00`
    pub shown: String,
    /// `2026-11-17T08:00`, as a field for date and time has it.
    pub value: String,
}

/// This evening, tomorrow morning, Monday morning: those that are still to come and different.
pub fn choices(times: &Times) -> Vec<Later> {
    let now = now(times);
    let on = |days: i64, hour: i8| {
        let day = now.date().checked_add(days.days()).ok()?;
        day.at(hour, 0, 0, 0).to_zoned(times.zone.clone()).ok()
    };
    let to_monday = i64::from(8 - now.date().weekday().to_monday_one_offset());
    let mut choices: Vec<Later> = Vec::new();
    for (label, at) in
        [("This evening", on(0, 18)), ("Tomorrow morning", on(1, 8)), ("On Monday", on(to_monday, 8))]
    {
        let Some(at) = at.filter(|at| *at > now) else { continue };
        let value = at.strftime("%Y-%m-%dT%H:%M").to_string();
        if choices.iter().all(|choice| choice.value != value) {
            choices.push(Later { label, shown: shown(times, &at), value });
        }
    }
    choices
}

fn shown(times: &Times, at: &Zoned) -> String {
    let at = DateTime::from_timestamp_millis(at.timestamp().as_millisecond()).unwrap_or_default();
    times.coming(&at)
}

/// The moment that a field for date and time names, for this person.
pub fn read(times: &Times, value: &str) -> Option<DateTime<Utc>> {
    let local: civil::DateTime = value.trim().parse().ok()?;
    let at = local.to_zoned(times.zone.clone()).ok()?;
    DateTime::from_timestamp_millis(at.timestamp().as_millisecond())
}

/// A moment as a field for date and time has it, for this person.
pub fn field(times: &Times, at: &DateTime<Utc>) -> String {
    let at = Timestamp::from_millisecond(at.timestamp_millis()).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(times.zone.clone()).strftime("%Y-%m-%dT%H:%M").to_string()
}

fn now(times: &Times) -> Zoned {
    let now = Timestamp::from_millisecond(times.now.timestamp_millis()).unwrap_or(Timestamp::UNIX_EPOCH);
    now.to_zoned(times.zone.clone())
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use rookery_core::workspace::preferences::Dates;

    #[test]
    fn times_are_the_persons_own() {
        let times = Times {
            // A Sunday in Berlin, an hour ahead.
            now: "2031-01-05T16:59:00Z".parse().unwrap(),
            zone: TimeZone::get("Europe/Berlin").unwrap(),
            dates: Dates::default(),
        };
        let values: Vec<_> = choices(&times).into_iter().map(|choice| choice.value).collect();
        assert_eq!(values, ["2031-01-05T18:00", "2031-01-06T08:00"], "Monday is tomorrow, and said once");
        assert_eq!(read(&times, "2031-01-06T08:00").unwrap().to_rfc3339(), "2031-01-06T07:00:00+00:00");
        assert_eq!(field(&times, &"2031-01-06T07:00:00Z".parse().unwrap()), "2031-01-06T08:00");
        // The hour that the clocks leave out is the one after it.
        assert_eq!(read(&times, "2031-03-30T02:30").unwrap().to_rfc3339(), "2031-03-30T01:30:00+00:00");
        for wrong in ["", "tomorrow", "2031-13-01T08:00", "2031-01-06"] {
            assert!(read(&times, wrong).is_none() || wrong == "2031-01-06", "{wrong}");
        }
    }
}
