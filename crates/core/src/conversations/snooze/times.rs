//! The times that a snooze is offered until, as a person's clock has them: later today, tomorrow, Monday, in a week, or
//! a day and hour of their own. A pure function of now and the zone.
//!
//! An hour that a zone skips becomes the one after it, and of an hour that comes twice the first is meant.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use jiff::civil::{self, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use rookery_base::error::{Error, Result};

/// When a working day begins, and when what is for later today comes back.
const MORNING: i8 = 9;
const EVENING: i8 = 18;
/// From this hour on, there is no later today.
const LATE: i8 = 17;

rookery_base::text_enum! {
    /// One of the times that have a name, as forms have it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NamedTime {
        LaterToday = "today",
        Tomorrow = "tomorrow",
        Monday = "monday",
        InAWeek = "week",
    }
}

impl NamedTime {
    pub fn label(self) -> &'static str {
        match self {
            Self::LaterToday => "Later today",
            Self::Tomorrow => "Tomorrow",
            Self::Monday => "Monday",
            Self::InAWeek => "In a week",
        }
    }

    fn at(self, now: &jiff::Zoned) -> Option<DateTime<Utc>> {
        let today = now.date();
        let morning_of = |day: civil::Date| at_hour(day, MORNING, now.time_zone());
        match self {
            Self::LaterToday if now.hour() < LATE => at_hour(today, EVENING, now.time_zone()),
            Self::LaterToday => None,
            Self::Tomorrow => morning_of(today.tomorrow().ok()?),
            Self::Monday => morning_of(today.nth_weekday(1, Weekday::Monday).ok()?),
            Self::InAWeek => morning_of(today.checked_add(7.days()).ok()?),
        }
    }
}

impl FromStr for NamedTime {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::named(text).ok_or_else(|| Error::problem("until", "is not one of the times that are offered"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnoozeChoice {
    pub named: NamedTime,
    pub at: DateTime<Utc>,
}

/// What is offered now, soonest first. Two names for one time are one choice.
pub fn choices(now: DateTime<Utc>, zone: &TimeZone) -> Vec<SnoozeChoice> {
    let Some(local) = local(now, zone) else { return Vec::new() };
    let all =
        NamedTime::ALL.into_iter().filter_map(|named| named.at(&local).map(|at| SnoozeChoice { named, at }));
    let ahead: Vec<_> = all.filter(|choice| choice.at > now).collect();
    let is_monday = |choice: &SnoozeChoice| choice.named == NamedTime::Monday;
    let is_again = |choice: &SnoozeChoice| {
        is_monday(choice) && ahead.iter().any(|other| !is_monday(other) && other.at == choice.at)
    };
    ahead.iter().copied().filter(|choice| !is_again(choice)).collect()
}

/// When a named time is, asked for now. It may not be offered any more.
pub fn named(named: NamedTime, now: DateTime<Utc>, zone: &TimeZone) -> Result<DateTime<Utc>> {
    let at = local(now, zone).and_then(|local| named.at(&local)).filter(|at| *at > now);
    at.ok_or_else(|| Error::problem("until", "is over for today: choose another time"))
}

/// A day and hour of a person's own, as the fields of a form have them: `2031-03-30` and `09:30`.
pub fn own(date: &str, time: &str, zone: &TimeZone) -> Result<DateTime<Utc>> {
    let date: civil::Date =
        date.parse().map_err(|_| Error::problem("date", "must be a day, such as 2031-03-30"))?;
    let time = if time.is_empty() { "09:00" } else { time };
    let time: civil::Time =
        time.parse().map_err(|_| Error::problem("time", "must be a time of day, such as 09:30"))?;
    instant(date.to_datetime(time), zone).ok_or_else(|| Error::problem("date", "must be a day within a year"))
}

/// The day it is there, as a form writes it.
pub fn day(now: DateTime<Utc>, zone: &TimeZone) -> String {
    local(now, zone).map(|local| local.date().to_string()).unwrap_or_default()
}

fn local(now: DateTime<Utc>, zone: &TimeZone) -> Option<jiff::Zoned> {
    Some(Timestamp::from_second(now.timestamp()).ok()?.to_zoned(zone.clone()))
}

fn at_hour(day: civil::Date, hour: i8, zone: &TimeZone) -> Option<DateTime<Utc>> {
    instant(day.at(hour, 0, 0, 0), zone)
}

fn instant(local: civil::DateTime, zone: &TimeZone) -> Option<DateTime<Utc>> {
    let at = zone.to_ambiguous_zoned(local).compatible().ok()?;
    DateTime::from_timestamp(at.timestamp().as_second(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// What is offered, in UTC.
    fn offered(now: &str, name: &str) -> Vec<(&'static str, String)> {
        let choices = choices(at(now), &zone(name));
        choices
            .iter()
            .map(|choice| (choice.named.as_str(), choice.at.format("%a %F %H:%M").to_string()))
            .collect()
    }

    fn as_strs<'a>(offered: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
        offered.iter().map(|(name, time)| (*name, time.as_str())).collect()
    }

    /// proves: APP-4
    #[test]
    fn times_are_offered_as_the_persons_clock_has_them() {
        // A Wednesday, noon in Berlin, two hours ahead of UTC.
        let berlin = offered("2031-07-09T10:00:00Z", "Europe/Berlin");
        assert_eq!(
            as_strs(&berlin),
            [
                ("today", "Wed 2031-07-09 16:00"),
                ("tomorrow", "Thu 2031-07-10 07:00"),
                ("monday", "Mon 2031-07-14 07:00"),
                ("week", "Wed 2031-07-16 07:00"),
            ]
        );
        // The same instant is Thursday already on Kiritimati, fourteen hours ahead.
        let kiritimati = offered("2031-07-09T10:00:00Z", "Pacific/Kiritimati");
        assert_eq!(kiritimati[0], ("today", "Thu 2031-07-10 04:00".to_owned()));
        // And in Nepal a quarter of an hour counts: nine there is 03:15.
        let nepal = offered("2031-07-09T02:00:00Z", "Asia/Kathmandu");
        assert_eq!(nepal[1], ("tomorrow", "Thu 2031-07-10 03:15".to_owned()));
    }

    #[test]
    fn the_evening_of_today_is_offered_until_it_is_near() {
        assert_eq!(offered("2031-07-09T16:59:59Z", "UTC")[0].0, "today");
        assert_eq!(offered("2031-07-09T17:00:00Z", "UTC")[0].0, "tomorrow");
        assert!(named(NamedTime::LaterToday, at("2031-07-09T17:00:00Z"), &TimeZone::UTC).is_err());
        assert!(named(NamedTime::LaterToday, at("2031-07-09T09:00:00Z"), &TimeZone::UTC).is_ok());
    }

    #[test]
    fn no_time_is_offered_twice() {
        // On a Sunday tomorrow is Monday, on a Monday the next one is a week away.
        let names = |now| -> Vec<_> { offered(now, "UTC").into_iter().map(|(name, _)| name).collect() };
        assert_eq!(names("2031-07-13T09:00:00Z"), ["today", "tomorrow", "week"]);
        assert_eq!(names("2031-07-14T09:00:00Z"), ["today", "tomorrow", "week"]);
        assert_eq!(names("2031-07-15T09:00:00Z"), ["today", "tomorrow", "monday", "week"]);
    }

    #[test]
    fn nine_stays_nine_over_a_change_of_the_clock() {
        // Saturday before Berlin's clocks go forward, and before they go back.
        let spring = offered("2031-03-29T12:00:00Z", "Europe/Berlin");
        assert_eq!(spring[1], ("tomorrow", "Sun 2031-03-30 07:00".to_owned()));
        let autumn = offered("2031-10-25T12:00:00Z", "Europe/Berlin");
        assert_eq!(autumn[1], ("tomorrow", "Sun 2031-10-26 08:00".to_owned()));
    }

    #[test]
    fn an_hour_that_is_skipped_is_the_next_and_one_that_comes_twice_the_first() {
        let berlin = zone("Europe/Berlin");
        assert_eq!(own("2031-03-30", "02:30", &berlin).unwrap(), at("2031-03-30T01:30:00Z"));
        assert_eq!(own("2031-10-26", "02:30", &berlin).unwrap(), at("2031-10-26T00:30:00Z"));
        // Lord Howe moves its clocks by half an hour.
        let lord_howe = zone("Australia/Lord_Howe");
        assert_eq!(own("2031-10-05", "02:15", &lord_howe).unwrap(), at("2031-10-04T15:45:00Z"));
    }

    #[test]
    fn a_day_that_a_zone_skipped_is_still_a_time() {
        // Samoa had no 30 December 2011.
        let samoa = zone("Pacific/Apia");
        assert_eq!(own("2011-12-30", "09:00", &samoa).unwrap(), at("2011-12-30T19:00:00Z"));
    }

    #[test]
    fn a_day_or_time_that_is_none_says_so() {
        for (date, time, field) in
            [("2031-02-30", "09:00", "date"), ("soon", "09:00", "date"), ("2031-02-03", "25:00", "time")]
        {
            let error = own(date, time, &TimeZone::UTC).unwrap_err().sentence();
            assert!(error.starts_with(&format!("{field}: must be a")), "{error}");
        }
        assert_eq!(own("2031-02-03", "", &TimeZone::UTC).unwrap(), at("2031-02-03T09:00:00Z"));
        assert!("never".parse::<NamedTime>().is_err());
    }
}
