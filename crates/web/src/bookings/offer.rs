//! Offering times in a reply: the next free ones as the composer shows them, in the zone of who writes, and what those that are
//! ticked become in the mail: links with the time in words, in the customer's zone, and one to all times. Whether they are
//! free is asked again when they are put in; the page that a link opens asks once more.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::customer::bookings::page::{city, clock, named, read_time};
use crate::customer::bookings::times::zone_of;
use crate::show::Times;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::{BookingTypeId, WorkspaceId};
use rookery_base::languages::Language;
use rookery_base::zone::Zone;
use rookery_core::conversations::conversation::Conversation;
use rookery_product::bookings::free_times::{Host, free_times};
use rookery_product::bookings::link::{OfferLinks, offer_links};
use rookery_product::bookings::types::{self, BookingType};
use rookery_product::bookings::{read, schedule};
use rookery_reading::html::written;

/// More choices are none.
const MOST_OFFERED: usize = 5;
/// So many of a form or an address are read.
pub const MOST_READ: usize = 2 * MOST_OFFERED;
/// Days with free times that the composer shows, and times of a day.
const DAYS: usize = 5;
const OF_A_DAY: usize = 8;
/// Ticked at the beginning: the first time of so many days.
const TICKED: usize = 3;

/// The times of a type that can be ticked.
pub struct Offering {
    pub type_id: String,
    pub days: Vec<OfferedDay>,
    /// Whose clocks they are shown by, and by whose the mail says them.
    pub own_zone: String,
    pub mail_zone: String,
    pub problem: Option<&'static str>,
}

pub struct OfferedDay {
    pub heading: String,
    pub times: Vec<OfferedTime>,
}

pub struct OfferedTime {
    pub value: String,
    pub label: String,
    pub is_ticked: bool,
}

/// Why times are not put into the mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferRefusal {
    TooMany,
    /// One of them is not free any more.
    Gone,
}

impl OfferRefusal {
    /// As the address of the composer has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooMany => "many",
            Self::Gone => "taken",
        }
    }

    fn sentence(name: &str) -> Option<&'static str> {
        match name {
            "many" => Some("Select up to five times. With more, it’s harder to choose."),
            "taken" => Some("One of these times is no longer available. Select another."),
            _ => None,
        }
    }
}

/// What the composer is asked for after a refusal: the times of the type again, what was wrong, and those that were ticked.
pub fn again(own: BookingTypeId, refused: OfferRefusal, ticked: &[&str]) -> String {
    let mut query = format!("offer={own}&offered={}", refused.name());
    for at in ticked.iter().filter_map(|at| read_time(at)) {
        let _ = write!(query, "&time={}", named(at));
    }
    query
}

/// The next free times of a type. `offered` of the address says what was wrong with those that were ticked, which `time` has.
pub async fn load(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    conversation: &Conversation,
    own: &BookingType,
) -> Result<Option<Offering>> {
    let (workspace, times) = (asked.person.workspace, asked.times());
    let Some(bookable) = schedule::of_type(conn, workspace, own.id).await? else { return Ok(None) };
    let Some(email) = &conversation.contact.email else { return Ok(None) };
    let hosts = if bookable.is_active {
        schedule::hosts(conn, &bookable, times.now, None).await?
    } else {
        Vec::new()
    };
    let mail_zone = zone_for(conn, workspace, &email.to_lowercase(), &hosts).await?;
    let ahead = bookable.rules.ahead(times.now);
    let free = free_times(&bookable.rules, &hosts, times.now, ahead).map(|time| time.starts_at);
    let ticked = asked.visit.queries().all("time").take(MOST_READ);
    let ticked: Vec<DateTime<Utc>> = ticked.filter_map(read_time).collect();
    Ok(Some(Offering {
        type_id: own.id.to_string(),
        days: by_day(free, &times, &ticked),
        own_zone: city(&Zone::named(times.zone.iana_name().unwrap_or("UTC"))),
        mail_zone: city(&mail_zone),
        problem: asked.query("offered").and_then(OfferRefusal::sentence),
    }))
}

/// The first days with times. Of a day with many those that are spread over it, and those that were ticked before.
fn by_day(
    free: impl Iterator<Item = DateTime<Utc>>,
    times: &Times,
    ticked: &[DateTime<Utc>],
) -> Vec<OfferedDay> {
    let mut days: Vec<(String, Vec<DateTime<Utc>>)> = Vec::new();
    for at in free {
        let heading = times.heading(&at);
        if days.last().is_none_or(|(day, _)| *day != heading) {
            if days.len() == DAYS {
                break;
            }
            days.push((heading, Vec::new()));
        }
        if let Some((_, own)) = days.last_mut() {
            own.push(at);
        }
    }
    let shown = days.into_iter().enumerate().map(|(n, (heading, all))| {
        let most = all.len().min(OF_A_DAY);
        let mut spread: Vec<_> = (0..most).map(|place| all[place * all.len() / most]).collect();
        spread.extend(all.iter().filter(|at| ticked.contains(at)));
        spread.sort_unstable();
        spread.dedup();
        let times = spread.into_iter().enumerate().map(|(place, at)| OfferedTime {
            value: named(at),
            label: times.time_of_day(&at),
            is_ticked: if ticked.is_empty() { n < TICKED && place == 0 } else { ticked.contains(&at) },
        });
        OfferedDay { heading, times: times.collect() }
    });
    shown.collect()
}

/// What is put under the words of a mail.
pub struct OfferedWords {
    pub text: String,
    /// The same with formatting. Of a single link there is none.
    pub html: Option<String>,
}

/// The ticked times of a form in words. With none it is the link to all.
pub async fn put_in_words(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    conversation: &Conversation,
    id: BookingTypeId,
    ticked: &[&str],
) -> Result<Result<OfferedWords, OfferRefusal>> {
    let (app, workspace) = (asked.visit.app(), asked.person.workspace);
    let own = types::find(conn, &asked.person, id).await?;
    let links = offer_links(app, conn, workspace, own.id, conversation).await?;
    let name = own.settings.name;
    let Some(mut chosen) = ticked.iter().map(|at| read_time(at)).collect::<Option<Vec<_>>>() else {
        return Ok(Err(OfferRefusal::Gone));
    };
    chosen.sort_unstable();
    chosen.dedup();
    if chosen.is_empty() {
        return Ok(Ok(OfferedWords { text: format!("{name}: {}\n", links.link(None)), html: None }));
    }
    if chosen.len() > MOST_OFFERED {
        return Ok(Err(OfferRefusal::TooMany));
    }
    let now = app.clock.now();
    let hosts = schedule::hosts(conn, &links.bookable, now, None).await?;
    let is_free = |at: &DateTime<Utc>| hosts.iter().any(|host| host.is_free(&links.bookable.rules, now, *at));
    if !chosen.iter().all(is_free) {
        return Ok(Err(OfferRefusal::Gone));
    }
    let zone = zone_for(conn, workspace, &links.email, &hosts).await?;
    Ok(Ok(in_words(&name, &chosen, &zone, now, &links)))
}

/// What is written is the sender's to change, so it is in the language of the app.
fn in_words(
    name: &str,
    chosen: &[DateTime<Utc>],
    zone: &Zone,
    now: DateTime<Utc>,
    links: &OfferLinks<'_>,
) -> OfferedWords {
    let (language, today) = (Language::accepted("en"), zone.day(now));
    let begins = match chosen {
        [_] => format!("Would this time work for {name} ({} time)?", city(zone)),
        _ => format!("Choose a time for {name} ({} time):", city(zone)),
    };
    let (mut text, mut html) = (format!("{begins}\n\n"), format!("{}<ul>", written::from_text(&begins)));
    for at in chosen {
        let (time, link) =
            (format!("{}, {}", language.date(zone.day(*at), today), clock(zone, *at)), links.link(Some(*at)));
        let _ = writeln!(text, "- {time}: {link}");
        // Our own words and addresses: there is nothing to escape.
        let _ = write!(html, "<li><a href=\"{link}\">{time}</a></li>");
    }
    let all = links.link(None);
    let _ = writeln!(text, "\nSee all times: {all}");
    let _ = write!(html, "</ul><div><a href=\"{all}\">See all times</a></div>");
    OfferedWords { text, html: Some(html) }
}

/// Where the customer is, if they booked before; otherwise where the first host is, as on the page.
async fn zone_for(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    email: &str,
    hosts: &[Host],
) -> Result<Zone> {
    let known = read::zone_of_address(conn, workspace, email).await?;
    Ok(known.unwrap_or_else(|| zone_of(hosts)))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use jiff::tz::TimeZone;
    use rookery_core::workspace::preferences::Dates;

    use super::*;

    #[test]
    fn a_day_with_many_times_shows_some_of_all_of_it_and_the_first_of_three_days_are_ticked() {
        let now: DateTime<Utc> = "2031-01-06T08:00:00Z".parse().unwrap();
        let times = Times { now, zone: TimeZone::UTC, dates: Dates::default() };
        let free = (0..7_i64).flat_map(|day| {
            let many = if day == 1 { 2 } else { 16 };
            (0..many).map(move |n| now + TimeDelta::days(day) + TimeDelta::minutes(30 * n))
        });
        let days = by_day(free.clone(), &times, &[]);
        let many: Vec<usize> = days.iter().map(|day| day.times.len()).collect();
        assert_eq!(many, [8, 2, 8, 8, 8]);
        let labels: Vec<&str> = days[0].times.iter().map(|time| time.label.as_str()).collect();
        assert_eq!(labels, ["08:00", "09:00", "10:00", "11:00", "12:00", "13:00", "14:00", "15:00"]);
        let all = days.iter().flat_map(|day| &day.times);
        let ticked: Vec<&str> = all.filter(|time| time.is_ticked).map(|time| time.value.as_str()).collect();
        assert_eq!(ticked, ["2031-01-06T08:00Z", "2031-01-07T08:00Z", "2031-01-08T08:00Z"]);
        // What was ticked before a refusal is what is ticked after it, also between those that are shown; 21:00 is not free.
        let before = [now + TimeDelta::minutes(90), now + TimeDelta::hours(13)];
        let days = by_day(free, &times, &before);
        assert_eq!(days[0].times.len(), 9);
        let all = days.iter().flat_map(|day| &day.times);
        let ticked: Vec<&str> = all.filter(|time| time.is_ticked).map(|time| time.value.as_str()).collect();
        assert_eq!(ticked, ["2031-01-06T09:30Z"]);
    }
}
