//! What a stranger's calendar says: when somebody is busy, and what a visitor's program answered to an invitation (RFC 5545,
//! RFC 5546). Titles, places and people are not looked at.
//!
//! A rule may repeat every second for ever. Each is walked so far and no further, all of them together for a second; what
//! spins without giving a time is ended with the confined child that reads it.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::{Duration, Instant};

use calcard::common::PartialDateTime;
use calcard::common::timezone::Tz;
use calcard::icalendar::dates::{CalendarEvent, TimeOrDelta};
use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarFreeBusyType,
    ICalendarMethod, ICalendarParameterName, ICalendarParameterValue, ICalendarParticipationStatus,
    ICalendarPeriod, ICalendarProperty, ICalendarStatus, ICalendarTransparency, ICalendarValue,
};
use calcard::{Entry, Parser};
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, TimeZone, Timelike};
use serde::{Deserialize, Serialize};

/// Times of one rule, from its very first on; also spans that are told of one calendar.
pub const MOST_OCCURRENCES: usize = 10_000;
/// For all rules together.
const EXPANSION: Duration = Duration::from_secs(1);
/// A larger answer to an invitation is none.
const MOST_REPLY_BYTES: usize = 64 << 10;
const DAY: i64 = 24 * 60 * 60;

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BusySpan(pub i64, pub i64);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// In order and apart from each other.
    pub spans: Vec<BusySpan>,
    /// It was no calendar at all.
    pub is_none: bool,
    /// There is more than was walked over.
    pub is_cut: bool,
}

/// When somebody is busy between two moments, by a calendar of events or by the answer to a question for free and busy
/// times. Times without a zone are those of `zone`.
pub fn busy(bytes: &[u8], within: BusySpan, zone: &str) -> Busy {
    let text = String::from_utf8_lossy(bytes);
    let mut parser = Parser::new(&text);
    let mut found = Vec::new();
    let (mut calendars, mut is_cut) = (0, false);
    let began = Instant::now();
    let zone = Tz::from_str(zone).unwrap_or(Tz::UTC);
    loop {
        match parser.entry() {
            Entry::ICalendar(calendar) => {
                calendars += 1;
                is_cut |= !spans_of(&calendar, zone, within, began, &mut found);
            }
            Entry::Eof | Entry::TooManyComponents => break,
            _ => {}
        }
        if began.elapsed() > EXPANSION {
            is_cut = true;
            break;
        }
    }
    let mut spans = merged(found);
    is_cut |= spans.len() > MOST_OCCURRENCES;
    spans.truncate(MOST_OCCURRENCES);
    Busy { spans, is_none: calendars == 0, is_cut }
}

/// False when not all of it was walked over.
fn spans_of(
    calendar: &ICalendar,
    zone: Tz,
    within: BusySpan,
    began: Instant,
    found: &mut Vec<BusySpan>,
) -> bool {
    let zones: Vec<&ICalendarComponent> = calendar.timezones().collect();
    let mut alone = Vec::new();
    // One series at a time: whoever expands them together takes a changed time of one for that of another.
    let mut series: BTreeMap<&str, Vec<&ICalendarComponent>> = BTreeMap::new();
    for component in &calendar.components {
        match component.component_type {
            ICalendarComponentType::VFreebusy if is_one_time(component) => {
                let mut event = component.clone();
                event.component_type = ICalendarComponentType::VEvent;
                alone.push(event);
            }
            ICalendarComponentType::VFreebusy => found.extend(told_busy(component, within)),
            ICalendarComponentType::VEvent if has_length(component) => {
                series.entry(component.uid().unwrap_or_default()).or_default().push(component);
            }
            _ => {}
        }
    }
    series.entry("").or_default().extend(&alone);
    let mut whole = true;
    for (uid, components) in series {
        // Without a UID nothing belongs together.
        let groups: Vec<Vec<&ICalendarComponent>> = match uid {
            "" => components.into_iter().map(|one| vec![one]).collect(),
            _ => vec![components],
        };
        for group in groups {
            if began.elapsed() > EXPANSION {
                return false;
            }
            whole &= expand(&zones, &group, zone, within, found);
        }
    }
    whole
}

/// An event with a start and neither an end nor a duration takes no time (RFC 5545, 3.6.1), unless it is a day.
fn has_length(event: &ICalendarComponent) -> bool {
    let is_day = event.property(&ICalendarProperty::Dtstart).and_then(|entry| entry.values.first());
    let is_day = matches!(is_day, Some(ICalendarValue::PartialDateTime(at)) if at.hour.is_none());
    is_day
        || event.has_property(&ICalendarProperty::Dtend)
        || event.has_property(&ICalendarProperty::Duration)
}

fn takes_time(event: &ICalendarComponent) -> bool {
    event.status() != Some(&ICalendarStatus::Cancelled)
        && event.transparency() != Some(&ICalendarTransparency::Transparent)
}

/// The times of one series. False when its rule goes on behind the last one that was walked to.
fn expand(
    zones: &[&ICalendarComponent],
    series: &[&ICalendarComponent],
    zone: Tz,
    within: BusySpan,
    found: &mut Vec<BusySpan>,
) -> bool {
    let mut calendar = ICalendar::default();
    let first = series.iter().find(|event| event.has_property(&ICalendarProperty::Rrule));
    let start = first.or(series.first()).and_then(|event| event.property(&ICalendarProperty::Dtstart));
    // The crate takes a rule's own zone from its start's name of a zone, and knows none where a start is in UTC.
    let start_zone = match start.map(zone_of) {
        Some(ZoneName::Utc) => Tz::UTC,
        Some(ZoneName::Zone(name)) => {
            let known = zones.iter().filter_map(|one| one.timezone()).find(|(own, _)| *own == name);
            known.map(|(_, known)| known).or_else(|| Tz::from_str(name).ok()).unwrap_or(zone)
        }
        Some(ZoneName::Nothing) | None => zone,
    };
    let default = if matches!(start.map(zone_of), Some(ZoneName::Utc)) { Tz::UTC } else { zone };
    calendar.components.push(ICalendarComponent::new(ICalendarComponentType::VCalendar));
    calendar.components.extend(zones.iter().map(|one| (*one).clone()));
    for event in series {
        let mut event = (*event).clone();
        // A changed time has a higher number than its series, and would not be found.
        event.entries.retain(|entry| entry.name != ICalendarProperty::Sequence);
        for entry in event.entries.iter_mut().filter(|entry| entry.name == ICalendarProperty::Rrule) {
            for value in &mut entry.values {
                if let ICalendarValue::RecurrenceRule(rule) = value {
                    rule.until = rule.until.take().map(|until| on_the_wall(until, start_zone));
                }
            }
        }
        calendar.components.push(event);
    }
    let expanded = calendar.expand_dates(default, MOST_OCCURRENCES);
    let is_whole = expanded.events.len() < MOST_OCCURRENCES;
    for event in expanded.events {
        let own = calendar.component_by_id(event.comp_id);
        if own.is_none_or(|own| !takes_time(own)) {
            continue;
        }
        let BusySpan(from, to) = instants(event, start_zone);
        if to > from && from < within.1 && to > within.0 {
            found.push(BusySpan(from.max(within.0), to.min(within.1)));
        }
        if found.len() > 4 * MOST_OCCURRENCES {
            let sorted = merged(std::mem::take(found));
            *found = sorted;
            if found.len() > 4 * MOST_OCCURRENCES {
                return false;
            }
        }
    }
    is_whole
}

enum ZoneName<'a> {
    Utc,
    Zone(&'a str),
    Nothing,
}

fn zone_of(entry: &ICalendarEntry) -> ZoneName<'_> {
    if let Some(ICalendarValue::PartialDateTime(at)) = entry.values.first()
        && at.tz_hour.is_some()
    {
        return ZoneName::Utc;
    }
    match entry.parameter(&ICalendarParameterName::Tzid).and_then(ICalendarParameterValue::as_text) {
        Some(name) => ZoneName::Zone(name),
        None => ZoneName::Nothing,
    }
}

/// The end of a rule is told in UTC, and its times are walked by the clock on the wall. A day is meant to its end.
fn on_the_wall(until: PartialDateTime, zone: Tz) -> PartialDateTime {
    let wall = match until.to_date_time() {
        Some(at) if until.hour.is_none() => at.date_time + TimeDelta::seconds(DAY - 1),
        Some(at) if until.tz_hour.is_some() => match at.to_date_time_with_tz(Tz::UTC) {
            Some(at) => at.with_timezone(&zone).naive_local(),
            None => return until,
        },
        _ => return until,
    };
    PartialDateTime {
        year: u16::try_from(wall.year()).ok(),
        month: u8::try_from(wall.month()).ok(),
        day: u8::try_from(wall.day()).ok(),
        hour: u8::try_from(wall.hour()).ok(),
        minute: u8::try_from(wall.minute()).ok(),
        second: u8::try_from(wall.second()).ok(),
        tz_hour: None,
        tz_minute: None,
        tz_minus: false,
    }
}

/// When it is. Days are days on the wall, and may have an hour more or less than others.
fn instants(event: CalendarEvent<DateTime<Tz>, TimeOrDelta<DateTime<Tz>, TimeDelta>>, zone: Tz) -> BusySpan {
    let from = if event.start.timezone().is_floating() {
        // The clock shows it twice that day, or not at all.
        instant(event.start.naive_local(), zone)
    } else {
        event.start.timestamp()
    };
    let to = match event.end {
        TimeOrDelta::Time(end) if end.timezone().is_floating() => instant(end.naive_local(), zone),
        TimeOrDelta::Time(end) => end.timestamp(),
        TimeOrDelta::Delta(delta) if delta.num_seconds() % DAY == 0 && delta.num_seconds() > 0 => {
            let zone = if event.start.timezone().is_floating() { zone } else { event.start.timezone() };
            match event.start.naive_local().checked_add_signed(delta) {
                Some(end) => instant(end, zone),
                None => from,
            }
        }
        TimeOrDelta::Delta(delta) => from.saturating_add(delta.num_seconds()),
    };
    BusySpan(from, to)
}

/// The first of two, and of none the one an hour later.
fn instant(wall: NaiveDateTime, zone: Tz) -> i64 {
    let local = |wall: NaiveDateTime| zone.from_local_datetime(&wall).earliest();
    let found = local(wall).or_else(|| local(wall.checked_add_signed(TimeDelta::hours(1))?));
    found.map_or(wall.and_utc().timestamp(), |at| at.timestamp())
}

/// Radicale answers with a component for each time, with its kind as a property. It is read like an event.
fn is_one_time(component: &ICalendarComponent) -> bool {
    component.entries.iter().any(|entry| {
        matches!(&entry.name, ICalendarProperty::Other(name) if name.eq_ignore_ascii_case("FBTYPE"))
            && !matches!(entry.values.first(), Some(ICalendarValue::Text(kind)) if kind.eq_ignore_ascii_case("FREE"))
    })
}

/// What a server says of itself: periods that are not free.
fn told_busy(component: &ICalendarComponent, within: BusySpan) -> Vec<BusySpan> {
    let mut spans = Vec::new();
    let mut add = |from: Option<i64>, to: Option<i64>| {
        if let (Some(from), Some(to)) = (from, to)
            && to > from
            && from < within.1
            && to > within.0
            && spans.len() <= MOST_OCCURRENCES
        {
            spans.push(BusySpan(from.max(within.0), to.min(within.1)));
        }
    };
    let at = |at: &PartialDateTime| at.to_date_time_with_tz(Tz::UTC).map(|at| at.timestamp());
    for entry in component.properties(&ICalendarProperty::Freebusy) {
        let is_free = entry.params.iter().any(|param| {
            param.name == ICalendarParameterName::Fbtype
                && matches!(param.value, ICalendarParameterValue::Fbtype(ICalendarFreeBusyType::Free))
        });
        for value in entry.values.iter().filter(|_| !is_free) {
            let ICalendarValue::Period(period) = value else { continue };
            let (from, to) = match period {
                ICalendarPeriod::Range { start, end } => (at(start), at(end)),
                ICalendarPeriod::Duration { start, duration } => {
                    (at(start), at(start).map(|from| from.saturating_add(duration.as_seconds())))
                }
            };
            add(from, to);
        }
    }
    spans
}

/// In order; what meets is one.
fn merged(mut spans: Vec<BusySpan>) -> Vec<BusySpan> {
    spans.sort_unstable();
    let mut apart: Vec<BusySpan> = Vec::with_capacity(spans.len());
    for span in spans {
        match apart.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => apart.push(span),
        }
    }
    apart
}

/// What a visitor's calendar program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub uid: String,
    /// Of the invitation that it answers.
    pub sequence: i64,
    /// Who answers, in lower case.
    pub attendee: String,
    pub said: RsvpAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsvpAnswer {
    Accepted,
    Tentative,
    Declined,
}

/// Reads an answer to one invitation, of one attendee. Anything else is none, and whatever a parser does with it as well.
pub fn reply(bytes: &[u8]) -> Option<Reply> {
    if bytes.len() > MOST_REPLY_BYTES {
        return None;
    }
    std::panic::catch_unwind(|| read_reply(&String::from_utf8_lossy(bytes))).ok().flatten()
}

fn read_reply(text: &str) -> Option<Reply> {
    let Entry::ICalendar(calendar) = Parser::new(text).entry() else { return None };
    let method = calendar.components.first()?.property(&ICalendarProperty::Method)?.values.first();
    if !matches!(method, Some(ICalendarValue::Method(ICalendarMethod::Reply))) {
        return None;
    }
    let mut events = calendar.components.iter().filter(|one| one.component_type.is_event());
    let event = events.next().filter(|_| events.next().is_none())?;
    let mut attendees = event.properties(&ICalendarProperty::Attendee);
    let attendee = attendees.next().filter(|_| attendees.next().is_none())?;
    // Invitations of ours do not repeat.
    if event.is_recurrent_or_override() {
        return None;
    }
    let said = attendee.params.iter().find_map(|param| match &param.value {
        ICalendarParameterValue::Partstat(said) => Some(said),
        _ => None,
    })?;
    let said = match said {
        ICalendarParticipationStatus::Accepted => RsvpAnswer::Accepted,
        ICalendarParticipationStatus::Tentative => RsvpAnswer::Tentative,
        ICalendarParticipationStatus::Declined => RsvpAnswer::Declined,
        _ => return None,
    };
    let sequence = event.property(&ICalendarProperty::Sequence).and_then(|entry| entry.values.first());
    Some(Reply {
        uid: event.uid()?.to_owned(),
        // It may be left out of the answer to the first.
        sequence: sequence.map_or(Some(0), ICalendarValue::as_integer)?,
        attendee: attendee.calendar_address()?.trim().to_lowercase(),
        said,
    })
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<DateTime<Utc>>().unwrap().timestamp()
    }

    fn read_spans(events: &str, zone: &str) -> Vec<String> {
        let text =
            format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}END:VCALENDAR\r\n", events.replace('\n', "\r\n"));
        let within = BusySpan(at("2031-01-01T00:00:00Z"), at("2032-01-01T00:00:00Z"));
        let busy = busy(text.as_bytes(), within, zone);
        assert!(!busy.is_none);
        let shown = |at: i64| DateTime::from_timestamp(at, 0).unwrap().format("%m-%dT%H:%M").to_string();
        busy.spans.iter().map(|span| format!("{}/{}", shown(span.0), shown(span.1))).collect()
    }

    fn event(lines: &str) -> String {
        format!("BEGIN:VEVENT\nUID:a\n{lines}\nEND:VEVENT\n")
    }

    #[test]
    fn one_event_is_busy_in_its_own_zone_or_that_of_the_host() {
        let berlin =
            event("DTSTART;TZID=Europe/Berlin:20310106T100000\nDTEND;TZID=Europe/Berlin:20310106T110000");
        assert_eq!(read_spans(&berlin, "UTC"), ["01-06T09:00/01-06T10:00"]);
        let utc = event("DTSTART:20310106T100000Z\nDURATION:PT30M");
        assert_eq!(read_spans(&utc, "America/New_York"), ["01-06T10:00/01-06T10:30"]);
        let floating = event("DTSTART:20310106T100000\nDTEND:20310106T110000");
        assert_eq!(read_spans(&floating, "America/New_York"), ["01-06T15:00/01-06T16:00"]);
        let day = event("DTSTART;VALUE=DATE:20310106");
        assert_eq!(read_spans(&day, "America/New_York"), ["01-06T05:00/01-07T05:00"]);
        // The day on which the clocks go back has 25 hours.
        let long = event("DTSTART;VALUE=DATE:20311026\nDTEND;VALUE=DATE:20311027");
        assert_eq!(read_spans(&long, "Europe/Berlin"), ["10-25T22:00/10-26T23:00"]);
    }

    #[test]
    fn what_takes_no_time_is_free() {
        for line in ["TRANSP:TRANSPARENT", "STATUS:CANCELLED"] {
            let one = event(&format!("DTSTART:20310106T100000Z\nDTEND:20310106T110000Z\n{line}"));
            assert_eq!(read_spans(&one, "UTC"), [""; 0], "{line}");
        }
        assert_eq!(read_spans(&event("DTSTART:20310106T100000Z"), "UTC"), [""; 0]);
        assert_eq!(read_spans(&event("DTSTART:20310106T100000Z\nDTEND:20310106T090000Z"), "UTC"), [""; 0]);
        assert_eq!(read_spans("", "UTC"), [""; 0]);
        assert!(busy(b"<html>Sign in</html>", BusySpan(0, 1), "UTC").is_none);
    }

    #[test]
    fn a_series_keeps_its_hour_on_the_wall_and_ends_when_it_says() {
        let weekly = "DTSTART;TZID=Europe/Berlin:20310324T100000\nDTEND;TZID=Europe/Berlin:20310324T110000\n";
        let rule = |rule: &str| read_spans(&event(&format!("{weekly}RRULE:FREQ=WEEKLY;{rule}")), "UTC");
        let both = ["03-24T09:00/03-24T10:00", "03-31T08:00/03-31T09:00"];
        assert_eq!(rule("COUNT=2"), both, "the clocks change in between");
        // The last one begins at the very end, which is told in UTC.
        assert_eq!(rule("UNTIL=20310331T080000Z"), both);
        assert_eq!(rule("UNTIL=20310331"), both);
        assert_eq!(rule("UNTIL=20310331T075959Z"), both[..1]);
        let utc = event("DTSTART:20310106T100000Z\nDTEND:20310106T110000Z\nRRULE:FREQ=DAILY;COUNT=2");
        assert_eq!(
            read_spans(&utc, "America/New_York"),
            ["01-06T10:00/01-06T11:00", "01-07T10:00/01-07T11:00"]
        );
        let old = event("DTSTART:20110106T100000Z\nDTEND:20110106T110000Z\nRRULE:FREQ=DAILY");
        assert_eq!(read_spans(&old, "UTC").len(), 365);
    }

    #[test]
    fn a_time_that_was_moved_or_left_out_is_not_busy_twice() {
        let series = event(
            "SEQUENCE:1\nDTSTART;TZID=Europe/Berlin:20310106T100000\nDTEND;TZID=Europe/Berlin:20310106T110000\n\
             RRULE:FREQ=DAILY;COUNT=4\nEXDATE;TZID=Europe/Berlin:20310107T100000",
        );
        // Its number is another than that of its series.
        let moved = event(
            "SEQUENCE:3\nRECURRENCE-ID;TZID=Europe/Berlin:20310108T100000\n\
             DTSTART;TZID=Europe/Berlin:20310108T150000\nDTEND;TZID=Europe/Berlin:20310108T160000",
        );
        let cancelled = event(
            "SEQUENCE:3\nSTATUS:CANCELLED\nRECURRENCE-ID;TZID=Europe/Berlin:20310109T100000\n\
             DTSTART;TZID=Europe/Berlin:20310109T100000\nDTEND;TZID=Europe/Berlin:20310109T110000",
        );
        let other = series.replace("UID:a", "UID:b").replace("COUNT=4", "COUNT=1");
        let expected = ["01-06T09:00/01-06T10:00", "01-08T14:00/01-08T15:00"];
        assert_eq!(read_spans(&format!("{series}{moved}{cancelled}{other}"), "UTC"), expected);
    }

    #[test]
    fn an_hour_that_comes_twice_or_never_is_about_where_it_should_be() {
        let nightly = |day: &str| {
            let lines =
                format!("DTSTART;TZID=Europe/Berlin:{day}T023000\nDURATION:PT10M\nRRULE:FREQ=DAILY;COUNT=2");
            read_spans(&event(&lines), "UTC")
        };
        assert_eq!(nightly("20311025"), ["10-25T00:30/10-25T00:40", "10-26T00:30/10-26T00:40"]);
        assert_eq!(nightly("20310329"), ["03-29T01:30/03-29T01:40", "03-30T01:30/03-30T01:40"]);
    }

    #[test]
    fn a_rule_of_every_second_is_walked_so_far_and_no_further() {
        let secondly = event("DTSTART:20310106T100000Z\nDURATION:PT1S\nRRULE:FREQ=SECONDLY");
        let began = Instant::now();
        // Ten thousand seconds that meet.
        assert_eq!(read_spans(&secondly, "UTC"), ["01-06T10:00/01-06T12:46"]);
        let many: String = (0..300).map(|n| secondly.replace("UID:a", &format!("UID:{n}"))).collect();
        let text = format!("BEGIN:VCALENDAR\r\n{}END:VCALENDAR\r\n", many.replace('\n', "\r\n"));
        let within = BusySpan(at("2031-01-01T00:00:00Z"), at("2032-01-01T00:00:00Z"));
        assert!(busy(text.as_bytes(), within, "UTC").is_cut);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn what_a_server_says_of_free_and_busy_is_taken_as_it_is() {
        let answer = "BEGIN:VFREEBUSY\nFREEBUSY;FBTYPE=BUSY:20310106T090000Z/20310106T100000Z,20310107T090000Z/PT30M\n\
                      FREEBUSY;FBTYPE=FREE:20310108T090000Z/PT30M\nFREEBUSY:20310106T093000Z/20310106T103000Z\nEND:VFREEBUSY\n";
        assert_eq!(read_spans(answer, "UTC"), ["01-06T09:00/01-06T10:30", "01-07T09:00/01-07T09:30"]);
        let one = |kind: &str, day: u8| {
            format!(
                "BEGIN:VFREEBUSY\nDTSTART:2031010{day}T090000Z\nDTEND:2031010{day}T100000Z\nFBTYPE:{kind}\nEND:VFREEBUSY\n"
            )
        };
        let apart = one("BUSY", 6) + &one("FREE", 7) + &one("BUSY-TENTATIVE", 8);
        assert_eq!(read_spans(&apart, "UTC"), ["01-06T09:00/01-06T10:00", "01-08T09:00/01-08T10:00"]);
        let asked = "BEGIN:VFREEBUSY\nDTSTART:20310101T000000Z\nDTEND:20310201T000000Z\nEND:VFREEBUSY\n";
        assert_eq!(read_spans(asked, "UTC"), Vec::<String>::new(), "what was asked about is not busy");
    }

    fn answer(lines: &str) -> Option<Reply> {
        let text = format!("BEGIN:VCALENDAR\nVERSION:2.0\n{lines}\nEND:VCALENDAR\n");
        reply(text.replace('\n', "\r\n").as_bytes())
    }

    #[test]
    fn an_answer_says_what_to_which_invitation_and_who_says_it() {
        let declined = "METHOD:REPLY\nBEGIN:VEVENT\nUID:x@y\nSEQUENCE:2\nDTSTAMP:20310106T100000Z\n\
                        ATTENDEE;CN=\"Ada; B\";PARTSTAT=DECLINED:MAILTO:Ada@Customer.example\nEND:VEVENT";
        let read = Reply {
            uid: "x@y".into(),
            sequence: 2,
            attendee: "ada@customer.example".into(),
            said: RsvpAnswer::Declined,
        };
        assert_eq!(answer(declined), Some(read.clone()));
        let first = answer(&declined.replace("SEQUENCE:2\n", "").replace("DECLINED", "ACCEPTED"));
        assert_eq!(first, Some(Reply { sequence: 0, said: RsvpAnswer::Accepted, ..read }));
        for (what, changed) in [
            ("another method", declined.replace("REPLY", "REQUEST")),
            ("no method", declined.replace("METHOD:REPLY\n", "")),
            ("no decision", declined.replace("DECLINED", "NEEDS-ACTION")),
            ("delegated", declined.replace("DECLINED", "DELEGATED")),
            (
                "two attendees",
                declined.replace("END:VEVENT", "ATTENDEE;PARTSTAT=DECLINED:mailto:b@c\nEND:VEVENT"),
            ),
            ("two events", format!("{declined}\nBEGIN:VEVENT\nUID:z\nEND:VEVENT")),
            ("one of a series", declined.replace("UID", "RECURRENCE-ID:20310106T100000Z\nUID")),
            ("no id", declined.replace("UID:x@y\n", "")),
        ] {
            assert_eq!(answer(&changed), None, "{what}");
        }
        assert_eq!(reply(b""), None);
        assert_eq!(reply(&vec![b'a'; MOST_REPLY_BYTES + 1]), None);
    }
}
