//! A booking as calendars read it (RFC 5545, 5546): one event, times in UTC, the inbox as organizer, the recipient as the only
//! attendee. The same booking gives the same text. Names and words of others are escaped, so that they add nothing.

use chrono::{DateTime, Utc};

use rookery_base::ids::{BookingId, Id, PersonId};

/// Longest line in bytes, without its end.
const LINE: usize = 75;
/// What a UID ends with that we made, before the host's name.
const MARK: &str = "@";

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Method {
        Request = "REQUEST",
        Cancel = "CANCEL",
        /// A file that somebody fetches: nobody answers it.
        Publish = "PUBLISH",
    }
}

#[derive(Clone, Debug)]
pub struct Invitation<'a> {
    pub method: Method,
    pub uid: String,
    pub sequence: i32,
    pub stamp: DateTime<Utc>,
    pub starts_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
    pub summary: &'a str,
    pub description: &'a str,
    pub place: &'a str,
    pub url: Option<&'a str>,
    /// None in a file that nobody answers.
    pub people: Option<People<'a>>,
}

/// Names and addresses.
#[derive(Clone, Copy, Debug)]
pub struct People<'a> {
    pub organizer: (&'a str, &'a str),
    pub attendee: (&'a str, &'a str),
    /// Their calendar program is to answer. The host's is not: it would answer to the whole team.
    pub answers: bool,
}

/// What the visitor's calendar knows a booking by.
pub fn uid(series: BookingId, mail_name: &str) -> String {
    format!("{series}{MARK}{mail_name}")
}

/// The same for the host, whose event is another one.
pub fn uid_of_host(series: BookingId, host: PersonId, mail_name: &str) -> String {
    format!("{series}-{host}{MARK}{mail_name}")
}

/// The series that a calendar names, and the host if it is the host's, when the UID is one of ours.
pub fn series_of(uid: &str, mail_name: &str) -> Option<(BookingId, Option<PersonId>)> {
    let (named, name) = uid.trim().split_once(MARK)?;
    if !name.eq_ignore_ascii_case(mail_name) || !named.starts_with(BookingId::PREFIX) {
        return None;
    }
    match named.split_once('-') {
        Some((series, host)) if host.starts_with(PersonId::PREFIX) => {
            Some((series.parse().ok()?, Some(host.parse().ok()?)))
        }
        Some(_) => None,
        None => Some((named.parse().ok()?, None)),
    }
}

impl Invitation<'_> {
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(1024);
        let mut line = |name: &str, value: &str| fold(&mut text, &format!("{name}:{value}"));
        line("BEGIN", "VCALENDAR");
        line("PRODID", "-//Rookery//Bookings//EN");
        line("VERSION", "2.0");
        line("CALSCALE", "GREGORIAN");
        line("METHOD", self.method.as_str());
        line("BEGIN", "VEVENT");
        line("UID", &escaped(&self.uid));
        line("SEQUENCE", &self.sequence.to_string());
        line("DTSTAMP", &moment(self.stamp));
        line("DTSTART", &moment(self.starts_at));
        line("DTEND", &moment(self.ends_at));
        line("SUMMARY", &escaped(self.summary));
        if !self.description.is_empty() {
            line("DESCRIPTION", &escaped(self.description));
        }
        if !self.place.is_empty() {
            line("LOCATION", &escaped(self.place));
        }
        if let Some(url) = self.url {
            line("URL", &address(url));
        }
        line("STATUS", if self.method == Method::Cancel { "CANCELLED" } else { "CONFIRMED" });
        line("TRANSP", "OPAQUE");
        if let Some(People { organizer, attendee, answers }) = self.people {
            line(&format!("ORGANIZER;CN={}", parameter(organizer.0)), &mailto(organizer.1));
            let state = if answers { "PARTSTAT=NEEDS-ACTION;RSVP=TRUE" } else { "PARTSTAT=ACCEPTED" };
            let role = format!("CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;{state}");
            line(&format!("ATTENDEE;{role};CN={}", parameter(attendee.0)), &mailto(attendee.1));
        }
        line("END", "VEVENT");
        line("END", "VCALENDAR");
        text
    }
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y%m%dT%H%M%SZ").to_string()
}

/// A text value (RFC 5545, 3.3.11).
fn escaped(text: &str) -> String {
    let mut value = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\\' | ';' | ',' => value.extend(['\\', letter]),
            '\n' => value.push_str("\\n"),
            other if is_unfit(other) => {}
            other => value.push(other),
        }
    }
    value
}

/// A quoted value of a parameter (RFC 6868).
fn parameter(text: &str) -> String {
    let mut value = String::from("\"");
    for letter in text.chars() {
        match letter {
            '^' => value.push_str("^^"),
            '\n' => value.push_str("^n"),
            '"' => value.push_str("^'"),
            other if is_unfit(other) => {}
            other => value.push(other),
        }
    }
    value.push('"');
    value
}

fn mailto(text: &str) -> String {
    format!("mailto:{}", address(text))
}

fn address(text: &str) -> String {
    text.chars().filter(|letter| !is_unfit(*letter) && *letter != '\n').collect()
}

/// Controls, and what some readers take for the end of a line.
fn is_unfit(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Lines of at most 75 bytes, none parted inside a letter.
fn fold(text: &mut String, line: &str) {
    let mut room = LINE;
    for letter in line.chars() {
        if letter.len_utf8() > room {
            text.push_str("\r\n ");
            room = LINE - 1;
        }
        text.push(letter);
        room -= letter.len_utf8();
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn invitation<'a>(name: &'a str, words: &'a str) -> Invitation<'a> {
        let at = |text: &str| text.parse().unwrap();
        Invitation {
            method: Method::Request,
            uid: uid(BookingId(7), "mail.example"),
            sequence: 2,
            stamp: at("2031-01-06T08:00:00Z"),
            starts_at: at("2031-01-07T09:30:00Z"),
            ends_at: at("2031-01-07T10:00:00Z"),
            summary: words,
            description: words,
            place: words,
            url: Some("https://rookery.example/booking/x"),
            people: Some(People {
                organizer: (name, "help@acme.example"),
                attendee: (name, "ada@customer.example"),
                answers: true,
            }),
        }
    }

    #[test]
    fn an_invitation_is_one_event_in_utc() {
        let text = invitation("Ada \"A\" ^1", "Call; then, \\ maybe\nmore").text().replace("\r\n ", "");
        for line in [
            "BEGIN:VCALENDAR",
            "METHOD:REQUEST",
            "UID:bkg_0000000000007@mail.example",
            "SEQUENCE:2",
            "DTSTAMP:20310106T080000Z",
            "DTSTART:20310107T093000Z",
            "DTEND:20310107T100000Z",
            "SUMMARY:Call\\; then\\, \\\\ maybe\\nmore",
            "ORGANIZER;CN=\"Ada ^'A^' ^^1\":mailto:help@acme.example",
            "STATUS:CONFIRMED",
        ] {
            assert!(text.split("\r\n").any(|own| own == line), "{line} is not in {text}");
        }
        let mut cancelled = invitation("Ada", "Call");
        cancelled.method = Method::Cancel;
        let text = cancelled.text();
        assert!(text.contains("METHOD:CANCEL\r\n") && text.contains("STATUS:CANCELLED\r\n"), "{text}");
    }

    #[test]
    fn a_uid_names_its_series_and_no_other_text_does() {
        let made = uid(BookingId(7), "mail.example");
        assert_eq!(series_of(&made, "mail.example"), Some((BookingId(7), None)));
        assert_eq!(
            series_of(&made.replace("mail.example", "MAIL.example"), "mail.example"),
            Some((BookingId(7), None))
        );
        let of_host = uid_of_host(BookingId(7), PersonId(3), "mail.example");
        assert_eq!(series_of(&of_host, "mail.example"), Some((BookingId(7), Some(PersonId(3)))));
        for other in
            ["bkg_7@mail.example", &made.replace('@', "-x@"), &made.replace("mail", "other"), "", "@"]
        {
            assert_eq!(series_of(other, "mail.example"), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn whatever_names_and_words_hold_there_is_one_event_with_sound_lines(name in ".*", words in "(?s).*") {
            let text = invitation(&name, &words).text();
            let lines: Vec<&str> = text.strip_suffix("\r\n").unwrap().split("\r\n").collect();
            prop_assert!(lines.iter().all(|line| line.len() <= LINE && !line.contains(['\r', '\n'])));
            let unfolded = text.replace("\r\n ", "");
            let names: Vec<&str> =
                unfolded.split("\r\n").map(|line| line.split([':', ';']).next().unwrap()).collect();
            let count = |wanted: &str| names.iter().filter(|name| **name == wanted).count();
            for once in ["UID", "SUMMARY", "ORGANIZER", "ATTENDEE", "DTSTART", "METHOD"] {
                prop_assert_eq!(count(once), 1, "{}", once);
            }
            prop_assert_eq!(count("BEGIN"), 2);
        }
    }
}
