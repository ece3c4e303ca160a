//! A workspace's time zone: which day and week it is there, and the same hour some days later. jiff does the arithmetic, never
//! PostgreSQL: the two know different names of zones, and a statement that stores mail must not fail over one. A name
//! that nobody knows any more counts as UTC.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, TimeDelta, Utc, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, civil};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::WorkspaceId;

#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

/// A time in which clocks there do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    /// How far clocks are ahead of UTC.
    pub ahead: TimeDelta,
}

impl Zone {
    pub fn named(name: &str) -> Self {
        Self(TimeZone::get(name).unwrap_or(TimeZone::UTC))
    }

    /// One that there is, by any name it ever had: browsers report old ones.
    pub fn known(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some()).map(Self)
    }

    /// The workspace's.
    pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Self> {
        let name = sqlx::query_scalar!("select time_zone from workspaces where id = $1", workspace.0)
            .fetch_one(conn)
            .await?;
        Ok(Self::named(&name))
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The day it is there.
    pub fn day(&self, at: DateTime<Utc>) -> NaiveDate {
        let local = self.local(at).map(|local| local.date());
        let day = local.and_then(|date| {
            NaiveDate::from_ymd_opt(date.year().into(), date.month() as u32, date.day() as u32)
        });
        day.unwrap_or(at.date_naive())
    }

    /// The time of the day there: `22:10`.
    pub fn clock(&self, at: DateTime<Utc>) -> String {
        let local = self.local(at).map(|local| (local.hour(), local.minute()));
        local
            .map_or_else(|| at.format("%H:%M").to_string(), |(hour, minute)| format!("{hour:02}:{minute:02}"))
    }

    /// The Monday of the week it is there.
    pub fn week(&self, at: DateTime<Utc>) -> NaiveDate {
        self.day(at).week(Weekday::Mon).first_day()
    }

    /// When the next day begins there.
    pub fn midnight_after(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        let next = self.local(at).and_then(|local| local.date().tomorrow().ok());
        let begins = next.and_then(|day| self.instant(day.to_datetime(civil::Time::midnight())));
        begins.unwrap_or(at + Days::new(1))
    }

    /// When a day is over there.
    pub fn end_of(&self, day: NaiveDate) -> Option<DateTime<Utc>> {
        let next = day.checked_add_days(Days::new(1))?;
        let (month, day) = (i8::try_from(next.month()).ok()?, i8::try_from(next.day()).ok()?);
        let next = civil::Date::new(i16::try_from(next.year()).ok()?, month, day).ok()?;
        self.instant(next.to_datetime(civil::Time::midnight()))
    }

    /// The same hour, so many days later.
    pub fn days_later(&self, at: DateTime<Utc>, days: u16) -> DateTime<Utc> {
        let span = jiff::Span::new().days(i64::from(days));
        let later = self.local(at).and_then(|local| local.checked_add(span).ok());
        later.and_then(|later| self.instant(later)).unwrap_or(at + Days::new(days.into()))
    }

    /// What clocks show there.
    pub fn shows(&self, at: DateTime<Utc>) -> NaiveDateTime {
        at.naive_utc() + self.ahead(at)
    }

    /// How far clocks there are ahead of UTC.
    pub fn ahead(&self, at: DateTime<Utc>) -> TimeDelta {
        let offset = Timestamp::from_millisecond(at.timestamp_millis()).map(|at| self.0.to_offset(at));
        offset.map_or(TimeDelta::zero(), |offset| TimeDelta::seconds(offset.seconds().into()))
    }

    /// Whether clocks show this very time once more, before or after: they are set back.
    pub fn comes_twice(&self, at: DateTime<Utc>) -> bool {
        let local = self.local(at);
        local.is_some_and(|local| {
            matches!(self.0.to_ambiguous_timestamp(local).offset(), AmbiguousOffset::Fold { .. })
        })
    }

    /// The whole time between two moments, parted where clocks change.
    pub fn steady(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Steady> {
        let mut all = Vec::new();
        let (mut begins, mut ahead) = (from, self.ahead(from));
        let start = Timestamp::from_millisecond(from.timestamp_millis()).ok();
        for change in start.iter().flat_map(|start| self.0.following(*start)) {
            let at = DateTime::from_timestamp_millis(change.timestamp().as_millisecond());
            let Some(at) = at.filter(|at| *at < to) else { break };
            all.push(Steady { from: begins, to: at, ahead });
            (begins, ahead) = (at, self.ahead(at));
        }
        all.push(Steady { from: begins, to, ahead });
        all
    }

    fn local(&self, at: DateTime<Utc>) -> Option<civil::DateTime> {
        Some(self.0.to_datetime(Timestamp::from_millisecond(at.timestamp_millis()).ok()?))
    }

    /// An hour that is skipped becomes the one after it, and of an hour that comes twice the first is meant.
    fn instant(&self, local: civil::DateTime) -> Option<DateTime<Utc>> {
        let at = self.0.to_ambiguous_timestamp(local).compatible().ok()?;
        DateTime::from_timestamp_millis(at.as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn days_and_weeks_begin_when_they_begin_there() {
        let (kolkata, unknown) = (Zone::named("Asia/Calcutta"), Zone::named("Mars/Base"));
        let late = at("2031-01-05T20:00:00Z");
        assert_eq!(kolkata.day(late).to_string(), "2031-01-06", "it is Monday there already");
        assert_eq!(kolkata.week(late).to_string(), "2031-01-06");
        assert_eq!(kolkata.midnight_after(late), at("2031-01-06T18:30:00Z"));
        assert_eq!((unknown.name(), unknown.day(late).to_string()), ("UTC", "2031-01-05".to_owned()));
        assert_eq!(unknown.week(late).to_string(), "2030-12-30");
        assert_eq!(unknown.midnight_after(late), at("2031-01-06T00:00:00Z"));
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        assert_eq!(kolkata.end_of(day("2031-01-06")), Some(at("2031-01-06T18:30:00Z")));
        assert_eq!(kolkata.end_of(day("+262142-12-31")), None);
    }

    #[test]
    fn the_same_hour_later_is_the_same_hour_when_clocks_changed_in_between() {
        let berlin = Zone::named("Europe/Berlin");
        assert_eq!(berlin.days_later(at("2031-03-29T11:00:00Z"), 2), at("2031-03-31T10:00:00Z"));
        // 2:30 is skipped on the day the clocks go forward.
        assert_eq!(berlin.days_later(at("2031-03-29T01:30:00Z"), 1), at("2031-03-30T01:30:00Z"));
        assert_eq!(berlin.midnight_after(at("2031-03-30T12:00:00Z")), at("2031-03-30T22:00:00Z"));
    }

    #[test]
    fn time_is_parted_where_clocks_change() {
        let lord_howe = Zone::known("Australia/Lord_Howe").unwrap();
        let parts = lord_howe.steady(at("2031-01-01T00:00:00Z"), at("2032-01-01T00:00:00Z"));
        let ahead: Vec<i64> = parts.iter().map(|part| part.ahead.num_minutes()).collect();
        assert_eq!(ahead, [660, 630, 660], "half an hour, twice a year");
        assert!(parts.windows(2).all(|both| both[0].to == both[1].from));
        let twice = at("2031-04-05T15:10:00Z");
        assert_eq!(lord_howe.shows(twice).to_string(), "2031-04-06 01:40:00");
        assert!(lord_howe.comes_twice(twice) && lord_howe.comes_twice(twice - TimeDelta::minutes(30)));
        assert!(!lord_howe.comes_twice(twice + TimeDelta::minutes(30)));
        assert!(Zone::known("Mars/Base").is_none() && Zone::known("Asia/Calcutta").is_some());
    }
}
