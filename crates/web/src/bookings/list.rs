//! `/bookings`: bookings that are not over, by day, of everybody or of oneself. Times are the reader's; the visitor's clock
//! stands beside when it shows something else.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::{Times, filters};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::zone::Zone;
use rookery_core::workspace::people::Person;
use rookery_product::bookings::read::{self, After, BookingReader, BookingRow, upcoming};

const MOST: i64 = 100;

#[derive(Template)]
#[template(path = "bookings/list.html")]
struct ListPage {
    shell: Shell,
    mine: bool,
    /// The heading of a day and what is booked then.
    days: Vec<(String, Vec<BookingEntry>)>,
    /// The address of the next page.
    more: Option<String>,
}

pub struct BookingEntry {
    pub own: BookingRow,
    /// From and to, by the reader's clock.
    pub from: String,
    pub to: String,
    /// The same in the visitor's zone, if their clock shows another time.
    pub theirs: Option<String>,
    pub may_cancel: bool,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mine = asked.query("of") == Some("me");
    let after = asked.query("after").and_then(|text| {
        let (at, id) = text.split_once('.')?;
        Some(After { starts_at: DateTime::from_timestamp_millis(at.parse().ok()?)?, id: id.parse().ok()? })
    });
    let mut reading = asked.reading().await?;
    let person = &asked.person;
    let now = asked.times().now;
    let (host, audiences) = (mine.then_some(person.id), person.audiences());
    let reader = BookingReader { audiences: &audiences, person: Some(person.id) };
    let mut found = upcoming(&mut reading, person.workspace, now, host, reader, after, MOST).await?;
    read::hide_conversations(&mut reading, person.workspace, &audiences, &mut found).await?;
    let shell = Shell::load(&mut reading, &asked, Here::Bookings).await?;
    let last = found.last().filter(|_| found.len() as i64 == MOST);
    let query = if mine { "of=me&" } else { "" };
    let more =
        last.map(|last| format!("/bookings?{query}after={}.{}", last.starts_at.timestamp_millis(), last.id));
    let mut days: Vec<(String, Vec<BookingEntry>)> = Vec::new();
    for own in found {
        let heading = shell.times.heading(&own.starts_at);
        if days.last().is_none_or(|(day, _)| *day != heading) {
            days.push((heading, Vec::new()));
        }
        if let Some((_, rows)) = days.last_mut() {
            rows.push(row(own, &shell.times, person));
        }
    }
    respond::page(&ListPage { shell, mine, days, more })
}

pub fn row(own: BookingRow, times: &Times, person: &Person) -> BookingEntry {
    let there = own.time_zone.as_deref().map(Zone::named);
    let here = Zone::named(times.zone.iana_name().unwrap_or("UTC"));
    let theirs = there.filter(|there| there.shows(own.starts_at) != here.shows(own.starts_at));
    BookingEntry {
        from: times.time_of_day(&own.starts_at),
        to: times.time_of_day(&own.ends_at),
        theirs: theirs.map(|there| there.shows(own.starts_at).format("%a %H:%M").to_string()),
        may_cancel: may_cancel(&own, person),
        own,
    }
}

/// Whether the person may cancel it: the host may, and so may owners and admins.
pub fn may_cancel(booking: &BookingRow, person: &Person) -> bool {
    booking.host == person.id || person.role.administers()
}

impl BookingEntry {
    fn who(&self) -> &str {
        self.own.name.as_deref().unwrap_or("Somebody who was erased")
    }

    fn rsvp(&self) -> Option<&'static str> {
        match self.own.rsvp.as_deref()? {
            "accepted" => Some("accepted"),
            _ => Some("maybe"),
        }
    }

    fn starts_at(&self) -> &DateTime<Utc> {
        &self.own.starts_at
    }
}
