//! Which times can be booked: a pure function of hours, exceptions, what is taken, and now. Hours are what the clock shows
//! where the host is; a time that clocks skip is never offered, and one that they show twice is offered twice.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, TimeDelta, Utc};

use rookery_base::ids::PersonId;
use rookery_base::zone::{Steady, Zone};

/// How a type is booked.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub length: TimeDelta,
    pub step: TimeDelta,
    /// Kept free on both sides.
    pub before: TimeDelta,
    pub after: TimeDelta,
    /// The soonest, and the first moment that is too far ahead, from now.
    pub notice: TimeDelta,
    pub horizon: TimeDelta,
    /// Bookings of this type on one day of a host.
    pub daily_limit: Option<usize>,
}

/// Open from a minute of the day to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub opens: i16,
    pub closes: i16,
}

/// From a moment on, until another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub struct Host {
    pub id: PersonId,
    pub name: String,
    pub zone: Zone,
    /// By weekday, Monday is 1.
    pub hours: Vec<(i16, Open)>,
    /// Days with other hours than their weekday's; one without any is closed.
    pub days: Vec<(NaiveDate, Open)>,
    /// Bookings with what is kept free around them, and what other calendars say.
    pub taken: Vec<Stretch>,
    /// When bookings of this type begin.
    pub booked: Vec<DateTime<Utc>>,
    pub last_booked_at: Option<DateTime<Utc>>,
}

/// A time that can be booked, and with whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeTime {
    pub starts_at: DateTime<Utc>,
    pub hosts: Vec<PersonId>,
}

/// How much is worked out at once.
const PART: TimeDelta = TimeDelta::days(7);

/// In their order. Nothing is worked out before somebody asks for it: twenty hosts who can be booked a year ahead every five
/// minutes have two million times, and a page shows a week.
pub fn free_times(
    rules: &Rules,
    hosts: &[Host],
    now: DateTime<Utc>,
    within: Stretch,
) -> impl Iterator<Item = FreeTime> {
    let ahead = rules.ahead(now);
    let (end, mut next) = (within.to.min(ahead.to), within.from.max(ahead.from));
    let parts = std::iter::from_fn(move || {
        let part = Stretch { from: next, to: end.min(next + PART) };
        next = part.to;
        (part.from < end).then_some(part)
    });
    parts.flat_map(move |part| {
        let mut all: BTreeMap<DateTime<Utc>, Vec<PersonId>> = BTreeMap::new();
        for host in hosts {
            for starts_at in host.free(rules, now, part) {
                all.entry(starts_at).or_default().push(host.id);
            }
        }
        all.into_iter().map(|(starts_at, hosts)| FreeTime { starts_at, hosts })
    })
}

impl Rules {
    /// As far as anything can be booked.
    pub fn ahead(&self, now: DateTime<Utc>) -> Stretch {
        Stretch { from: now, to: now + self.horizon }
    }

    /// What a booking at this time keeps from others.
    pub fn held(&self, starts_at: DateTime<Utc>) -> Stretch {
        Stretch { from: starts_at - self.before, to: starts_at + self.length + self.after }
    }
}

impl Host {
    /// Whether this very time can be booked. No other is looked at, so it costs the same however far ahead one may book.
    pub fn is_free(&self, rules: &Rules, now: DateTime<Utc>, at: DateTime<Utc>) -> bool {
        self.free(rules, now, Stretch { from: at, to: at + TimeDelta::seconds(1) }).contains(&at)
    }

    /// The times of a part of what can be booked from now.
    fn free(&self, rules: &Rules, now: DateTime<Utc>, within: Stretch) -> Vec<DateTime<Utc>> {
        let (first, end) = ((now + rules.notice).max(within.from), (now + rules.horizon).min(within.to));
        if first >= end {
            return Vec::new();
        }
        let (mut open, mut starts) = (Vec::new(), Vec::new());
        let steady = self.zone.steady(first - TimeDelta::days(2), end + TimeDelta::days(2));
        let last_day = self.zone.day(end);
        let first_day = self.zone.day(first);
        // One that is open over midnight began on the day before.
        let mut day = first_day.checked_sub_days(Days::new(1)).unwrap_or(first_day);
        // A booking may begin shortly before midnight and end on the day after.
        while day <= last_day.checked_add_days(Days::new(1)).unwrap_or(last_day) {
            for hours in self.open_on(day) {
                for part in &steady {
                    add(day, hours, part, rules.step, &mut open, &mut starts);
                }
            }
            let Some(next) = day.checked_add_days(Days::new(1)) else { break };
            day = next;
        }
        let near = Stretch { from: rules.held(first).from, to: rules.held(end).to };
        let taken = self.taken.iter().filter(|taken| taken.from < near.to && taken.to > near.from);
        let (open, taken) = (joined(open), joined(taken.copied().collect()));
        let full = self.full_days(rules, first_day, last_day);
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|at| {
            let held = rules.held(*at);
            let whole = Stretch { from: *at, to: *at + rules.length };
            *at >= first
                && *at < end
                && covers(&open, whole)
                && !meets(&taken, held)
                && (full.is_empty() || !full.contains(&self.zone.day(*at)))
        });
        starts
    }

    fn open_on(&self, day: NaiveDate) -> Vec<Open> {
        let mut own = self.days.iter().filter(|(own, _)| *own == day).map(|(_, open)| *open).peekable();
        if own.peek().is_some() {
            return own.filter(|open| open.closes > open.opens).collect();
        }
        let weekday = day.weekday().number_from_monday() as i16;
        self.hours.iter().filter(|(own, _)| *own == weekday).map(|(_, open)| *open).collect()
    }

    fn full_days(&self, rules: &Rules, first: NaiveDate, last: NaiveDate) -> Vec<NaiveDate> {
        let Some(limit) = rules.daily_limit else { return Vec::new() };
        let mut days: BTreeMap<NaiveDate, usize> = BTreeMap::new();
        for day in self.booked.iter().map(|at| self.zone.day(*at)).filter(|day| (first..=last).contains(day))
        {
            *days.entry(day).or_default() += 1;
        }
        days.into_iter().filter(|(_, many)| *many >= limit).map(|(day, _)| day).collect()
    }
}

/// When clocks show these hours of the day, as far as it is in this part of time; and the times to begin at in it.
fn add(
    day: NaiveDate,
    hours: Open,
    part: &Steady,
    step: TimeDelta,
    open: &mut Vec<Stretch>,
    starts: &mut Vec<DateTime<Utc>>,
) {
    let midnight = day.and_time(NaiveTime::MIN).and_utc() - part.ahead;
    let (opens, closes) = (
        midnight + TimeDelta::minutes(hours.opens.into()),
        midnight + TimeDelta::minutes(hours.closes.into()),
    );
    let stretch = Stretch { from: opens.max(part.from), to: closes.min(part.to) };
    if stretch.from >= stretch.to || step <= TimeDelta::zero() {
        return;
    }
    open.push(stretch);
    let mut at = opens;
    while at < stretch.to {
        if at >= stretch.from {
            starts.push(at);
        }
        at += step;
    }
}

/// In order, those that touch as one.
fn joined(mut all: Vec<Stretch>) -> Vec<Stretch> {
    all.sort_unstable();
    let mut joined: Vec<Stretch> = Vec::with_capacity(all.len());
    for next in all {
        match joined.last_mut() {
            Some(last) if next.from <= last.to => last.to = last.to.max(next.to),
            _ => joined.push(next),
        }
    }
    joined
}

fn covers(open: &[Stretch], wanted: Stretch) -> bool {
    let after = open.partition_point(|one| one.from <= wanted.from);
    after > 0 && open[after - 1].to >= wanted.to
}

fn meets(taken: &[Stretch], wanted: Stretch) -> bool {
    let after = taken.partition_point(|one| one.from < wanted.to);
    after > 0 && taken[after - 1].to > wanted.from
}

#[cfg(test)]
mod tests;
