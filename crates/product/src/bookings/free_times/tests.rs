//! Free times against the clock on the wall: every zone there is for two years, the days on which clocks change by name, and
//! each rule of a type.

use std::collections::BTreeSet;

use chrono::Timelike;

use super::*;

const MINUTE: TimeDelta = TimeDelta::minutes(1);

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn rules(minutes: i64, step: i64, days: i64) -> Rules {
    Rules {
        length: TimeDelta::minutes(minutes),
        step: TimeDelta::minutes(step),
        before: TimeDelta::zero(),
        after: TimeDelta::zero(),
        notice: TimeDelta::zero(),
        horizon: TimeDelta::days(days),
        daily_limit: None,
    }
}

/// Open every day from one hour to another.
fn host(id: i64, zone: &str, opens: i16, closes: i16) -> Host {
    Host {
        id: PersonId(id),
        name: String::new(),
        zone: Zone::known(zone).unwrap(),
        hours: (1..=7).map(|day| (day, Open { opens: opens * 60, closes: closes * 60 })).collect(),
        days: Vec::new(),
        taken: Vec::new(),
        booked: Vec::new(),
        last_booked_at: None,
    }
}

fn shown(rules: &Rules, host: &Host, now: &str) -> Vec<String> {
    let free = free_times(rules, std::slice::from_ref(host), at(now), rules.ahead(at(now)));
    free.map(|time| host.zone.shows(time.starts_at).format("%d %H:%M").to_string()).collect()
}

/// What clocks show, reckoned by jiff alone.
fn minute_there(zone: &jiff::tz::TimeZone, at: DateTime<Utc>) -> i64 {
    let there = zone.to_datetime(jiff::Timestamp::from_second(at.timestamp()).unwrap());
    i64::from(there.hour()) * 60 + i64::from(there.minute())
}

/// By definition: the clock shows an hour, and until the end always one of the hours that are open.
fn is_right(zone: &jiff::tz::TimeZone, at: DateTime<Utc>, length: i64, closes: i64) -> bool {
    minute_there(zone, at) % 60 == 0
        && (0..length).all(|minute| minute_there(zone, at + TimeDelta::minutes(minute)) < closes)
}

#[test]
fn in_every_zone_for_two_years_no_time_is_wrong_and_none_is_missing_when_clocks_change() {
    let now = at("2026-11-16T00:00:00Z");
    let (mut zones, mut changes, mut times) = (0, 0, 0);
    for name in jiff::tz::db().available() {
        let Some(zone) = Zone::known(name.as_str()) else { continue };
        let there = jiff::tz::TimeZone::get(name.as_str()).unwrap();
        let mut host = host(1, "UTC", 0, 5);
        host.zone = zone;
        let rules = rules(60, 60, 730);
        let free: BTreeSet<DateTime<Utc>> =
            free_times(&rules, &[host.clone()], now, rules.ahead(now)).map(|time| time.starts_at).collect();
        for starts_at in free.iter().step_by(97) {
            assert!(host.is_free(&rules, now, *starts_at), "{} {starts_at}", name.as_str());
            assert!(!host.is_free(&rules, now, *starts_at + MINUTE), "{} {starts_at}", name.as_str());
        }
        for starts_at in &free {
            let minute = minute_there(&there, *starts_at);
            let last = minute_there(&there, *starts_at + rules.length - MINUTE);
            assert!(minute % 60 == 0 && minute < 300 && last < 300, "{} {starts_at}", name.as_str());
        }
        let ends = now + rules.horizon - TimeDelta::days(1);
        for part in host.zone.steady(now + TimeDelta::days(2), ends).iter().skip(1) {
            changes += 1;
            let mut at = part.from - TimeDelta::hours(30);
            while at < part.from + TimeDelta::hours(30) {
                let right = is_right(&there, at, 60, 300);
                assert_eq!(free.contains(&at), right, "{} {at}", name.as_str());
                assert_eq!(host.is_free(&rules, now, at), right, "{} {at}", name.as_str());
                at += TimeDelta::minutes(15);
            }
        }
        zones += 1;
        times += free.len();
    }
    assert!(
        zones >= 590 && changes > 500 && times > zones * 3600,
        "{zones} zones, {changes} changes, {times} times"
    );
}

#[test]
fn an_hour_that_clocks_skip_is_not_offered_and_one_that_comes_twice_is_offered_twice() {
    let half_hours = rules(30, 30, 1);
    for (zone, now, wanted) in [
        ("Europe/Berlin", "2031-03-29T23:00:00Z", "01:00 01:30 03:00 03:30"),
        ("Europe/Berlin", "2031-10-25T22:00:00Z", "01:00 01:30 02:00 02:30 02:00 02:30 03:00 03:30"),
        ("America/New_York", "2031-03-09T05:00:00Z", "01:00 01:30 03:00 03:30"),
        ("America/New_York", "2031-11-02T04:00:00Z", "01:00 01:30 01:00 01:30 02:00 02:30 03:00 03:30"),
        ("Australia/Lord_Howe", "2031-04-05T13:00:00Z", "01:00 01:30 01:30 02:00 02:30 03:00 03:30"),
        ("Australia/Lord_Howe", "2031-10-04T13:30:00Z", "01:00 01:30 02:30 03:00 03:30"),
        ("Asia/Kolkata", "2031-10-04T18:30:00Z", "01:00 01:30 02:00 02:30 03:00 03:30"),
        ("Africa/Casablanca", "2031-01-05T23:00:00Z", "01:00 01:30 02:00 02:30 03:00 03:30"),
    ] {
        let times = shown(&half_hours, &host(1, zone, 1, 4), now);
        let times: Vec<&str> = times.iter().map(|time| &time[3..]).collect();
        assert_eq!(times.join(" "), wanted, "{zone} {now}");
    }
    // A call of an hour does not fit where the half hour before the change is left.
    let hours = shown(&rules(60, 30, 1), &host(1, "Australia/Lord_Howe", 1, 3), "2031-10-04T13:30:00Z");
    assert_eq!(hours, ["05 01:00", "05 01:30"], "from half past one to three is an hour on that day");
}

#[test]
fn a_day_that_a_country_skipped_is_not_there() {
    // Samoa went from the 29th to the 31st of December 2011.
    let times = shown(&rules(60, 60, 4), &host(1, "Pacific/Apia", 9, 10), "2011-12-28T12:00:00Z");
    assert_eq!(times, ["28 09:00", "29 09:00", "31 09:00", "01 09:00"]);
}

#[test]
fn a_night_over_midnight_is_one_stretch() {
    let mut night = host(1, "Europe/Berlin", 22, 24);
    night.hours.extend((1..=7).map(|day| (day, Open { opens: 0, closes: 120 })));
    let times = shown(&rules(120, 60, 1), &night, "2031-01-06T20:00:00Z");
    assert_eq!(times, ["06 22:00", "06 23:00", "07 00:00"]);
}

#[test]
fn notice_horizon_exceptions_and_limits_hold() {
    let mut one = host(1, "UTC", 9, 12);
    let now = "2031-01-06T09:20:00Z";
    let mut rules = rules(60, 60, 3);
    rules.notice = TimeDelta::minutes(40);
    assert_eq!(shown(&rules, &one, now)[..3], ["06 10:00", "06 11:00", "07 09:00"], "notice");
    assert_eq!(shown(&rules, &one, now).last().unwrap(), "09 09:00", "the horizon is a moment");
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    one.days.push((day("2031-01-07"), Open { opens: 0, closes: 0 }));
    one.days.push((day("2031-01-08"), Open { opens: 14 * 60, closes: 16 * 60 }));
    assert_eq!(shown(&rules, &one, now), ["06 10:00", "06 11:00", "08 14:00", "08 15:00", "09 09:00"]);
    one.booked = vec![at("2031-01-06T09:00:00Z"), at("2031-01-08T14:00:00Z")];
    rules.daily_limit = Some(1);
    assert_eq!(shown(&rules, &one, now), ["09 09:00"], "days that are full");
    rules.daily_limit = Some(2);
    assert_eq!(shown(&rules, &one, now).len(), 5);
}

#[test]
fn what_is_taken_keeps_its_distance_on_both_sides() {
    let mut one = host(1, "UTC", 9, 13);
    let now = "2031-01-06T00:00:00Z";
    let mut rules = rules(30, 30, 1);
    one.taken.push(Stretch { from: at("2031-01-06T10:30:00Z"), to: at("2031-01-06T11:00:00Z") });
    assert_eq!(
        shown(&rules, &one, now),
        ["06 09:00", "06 09:30", "06 10:00", "06 11:00", "06 11:30", "06 12:00", "06 12:30"],
        "those that only touch are free"
    );
    (rules.before, rules.after) = (TimeDelta::minutes(10), TimeDelta::minutes(30));
    assert_eq!(shown(&rules, &one, now), ["06 09:00", "06 09:30", "06 11:30", "06 12:00", "06 12:30"]);
    // What lies inside something longer, in any order.
    one.taken.insert(0, Stretch { from: at("2031-01-06T08:00:00Z"), to: at("2031-01-06T12:00:00Z") });
    assert_eq!(shown(&rules, &one, now), ["06 12:30"]);
}

#[test]
fn several_hosts_share_times_whatever_their_zones() {
    let (berlin, london) = (host(1, "Europe/Berlin", 9, 11), host(2, "Europe/London", 9, 11));
    let now = at("2031-01-06T00:00:00Z");
    let rules = rules(60, 60, 1);
    let free: Vec<_> = free_times(&rules, &[berlin, london], now, rules.ahead(now)).collect();
    let told: Vec<(u32, Vec<i64>)> = free
        .iter()
        .map(|time| (time.starts_at.hour(), time.hosts.iter().map(|host| host.0).collect()))
        .collect();
    assert_eq!(told, [(8, vec![1]), (9, vec![1, 2]), (10, vec![2])]);
}
