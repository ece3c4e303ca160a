//! The page of times: days with what is free, the first one on top, weeks as links. Without script a list offers zones; a
//! script names the browser's own. A time that is chosen leads to the details, or to moving.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, TimeDelta, Utc, Weekday};

use crate::customer::bookings::page::{
    BookingPageContext, Carried, Top, city, clock, day_and_month, named, query, weekday,
};
use crate::customer::bookings::words::BookingWord;
use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::languages::{Language, Phrase};
use rookery_base::zone::Zone;
use rookery_product::bookings::free_times::{Host, Stretch, free_times};
use rookery_product::bookings::read;
use rookery_product::bookings::schedule::{self, Bookable};

/// Offered to visitors whose browser runs no script, beside their own and the host's.
const ZONES: [&str; 30] = [
    "Pacific/Honolulu",
    "America/Los_Angeles",
    "America/Denver",
    "America/Chicago",
    "America/New_York",
    "America/Bogota",
    "America/Halifax",
    "America/Sao_Paulo",
    "Atlantic/Azores",
    "UTC",
    "Europe/London",
    "Europe/Lisbon",
    "Europe/Berlin",
    "Europe/Paris",
    "Europe/Madrid",
    "Europe/Athens",
    "Africa/Lagos",
    "Africa/Johannesburg",
    "Europe/Istanbul",
    "Asia/Dubai",
    "Asia/Karachi",
    "Asia/Kolkata",
    "Asia/Dhaka",
    "Asia/Bangkok",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Perth",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Pacific/Apia",
];

#[derive(Template)]
#[template(path = "customer/bookings/times.html")]
struct TimesPage {
    top: Top,
    title: String,
    about: String,
    length: String,
    place: String,
    with: Option<String>,
    /// The address that a chosen time leads to.
    action: String,
    carried: Carried,
    zones: Vec<(String, String, bool)>,
    first: Option<(String, String)>,
    days: Vec<DayTimes>,
    earlier: Option<String>,
    later: Option<String>,
    span: String,
    notice: Option<&'static str>,
    /// What was booked by an offer before.
    booked: Option<String>,
    is_offer: bool,
}

struct DayTimes {
    day: NaiveDate,
    weekday: &'static str,
    date: String,
    times: Vec<(String, String)>,
}

impl TimesPage {
    fn say(&self, word: impl Phrase) -> &'static str {
        self.top.language.say(word)
    }
}

/// The page with all times, and what is said of the one that was wanted.
pub async fn times(
    visit: &Visit,
    place: &BookingPageContext,
    notice: Option<BookingWord>,
    status: StatusCode,
) -> Result<Response> {
    let app = visit.app();
    let (bookable, now) = (&place.bookable, app.clock.now());
    let mut conn = app.connection_of(bookable.workspace).await?;
    let hosts = schedule::hosts(&mut conn, bookable, now, None).await?;
    let booked = match &place.offer {
        Some(offer) => {
            let (workspace, id) = (bookable.workspace, bookable.id);
            read::next_of_type(&mut conn, workspace, offer.conversation, id, now).await?
        }
        None => None,
    };
    drop(conn);
    let choosing = Choosing {
        top: place.top(),
        bookable,
        hosts: &hosts,
        moved: None,
        zone: place.zone.clone(),
        week: visit.query("week").and_then(|day| day.parse().ok()),
        title: bookable.name.clone(),
        action: place.path(),
        carried: place.carried.clone(),
        notice: notice.map(|word| place.language.say(word)),
        booked,
        is_offer: place.offer.is_some(),
        now,
    };
    choosing.page(status)
}

/// Everything that a page of times shows, for a new booking or one that is to be moved.
pub struct Choosing<'a> {
    pub top: Top,
    pub bookable: &'a Bookable,
    pub hosts: &'a [Host],
    /// When the booking that is to be moved begins. This time is not offered.
    pub moved: Option<DateTime<Utc>>,
    pub zone: Option<Zone>,
    pub week: Option<NaiveDate>,
    pub title: String,
    pub action: String,
    pub carried: Carried,
    pub notice: Option<&'static str>,
    /// When what was booked by the same offer begins.
    pub booked: Option<DateTime<Utc>>,
    pub is_offer: bool,
    pub now: DateTime<Utc>,
}

impl Choosing<'_> {
    pub fn page(self, status: StatusCode) -> Result<Response> {
        let language = self.top.language;
        let zone = self.zone.clone().unwrap_or_else(|| zone_of(self.hosts));
        let today = zone.day(self.now);
        let ahead = self.bookable.rules.ahead(self.now);
        let soonest = self.free(ahead).next();
        let written =
            |at: DateTime<Utc>| format!("{}, {}", language.date(zone.day(at), today), clock(&zone, at));
        let first = soonest.map(|at| (named(at), written(at)));
        let booked = self.booked.map(written);
        // Without a wish, the week in which something is free.
        let soonest = soonest.map_or(today, |at| zone.day(at));
        let monday = monday(self.week.unwrap_or(soonest).clamp(today, far(today)));
        let next = monday.checked_add_days(Days::new(7)).unwrap_or(monday);
        let days = self.days(&zone, monday, next, today);
        let week = |day: NaiveDate| {
            format!("{}{}", self.action, query(&self.carried, &[("week", &day.to_string())]))
        };
        let earlier = (monday > today).then(|| week(monday.checked_sub_days(Days::new(7)).unwrap_or(monday)));
        // Where nothing is free at all, once was enough to look through everything.
        let later = Stretch { from: before(next), to: ahead.to };
        let is_more = first.is_some() && self.free(later).any(|at| zone.day(at) >= next);
        let sunday = next.pred_opt().unwrap_or(next);
        let (from, to) = (day_and_month(language, monday.max(today)), day_and_month(language, sunday));
        let with = match self.hosts {
            [host] => Some(language.fill(BookingWord::With, &[("name", &host.name)])),
            _ => None,
        };
        let minutes = self.bookable.rules.length.num_minutes().to_string();
        let page = TimesPage {
            title: self.title,
            about: self.bookable.about.clone(),
            length: language.fill(BookingWord::Minutes, &[("n", &minutes)]),
            place: self.bookable.place.clone(),
            with,
            zones: zones(language, &zone, self.hosts, self.now),
            first,
            days,
            earlier,
            later: is_more.then(|| week(next)),
            span: language.fill(BookingWord::FromTo, &[("from", &from), ("to", &to)]),
            action: self.action,
            carried: self.carried,
            notice: self.notice,
            booked: booked.map(|time| language.fill(BookingWord::BookedBefore, &[("time", &time)])),
            is_offer: self.is_offer,
            top: self.top,
        };
        respond::page_with(status, &page)
    }

    fn free(&self, within: Stretch) -> impl Iterator<Item = DateTime<Utc>> {
        let hosts = if self.bookable.is_active { self.hosts } else { &[] };
        free_times(&self.bookable.rules, hosts, self.now, within)
            .map(|time| time.starts_at)
            .filter(|at| Some(*at) != self.moved)
    }

    /// Those of the week from `monday` until `next` that are not over; a day off at its end is left out.
    fn days(&self, zone: &Zone, monday: NaiveDate, next: NaiveDate, today: NaiveDate) -> Vec<DayTimes> {
        let language = self.top.language;
        let mut days: Vec<DayTimes> = monday
            .iter_days()
            .take(7)
            .filter(|day| *day >= today)
            .map(|day| DayTimes {
                day,
                weekday: weekday(language, day),
                date: day_and_month(language, day),
                times: Vec::new(),
            })
            .collect();
        let week = Stretch { from: before(monday), to: before(next) + TimeDelta::days(2) };
        for at in self.free(week) {
            let day = zone.day(at);
            if let Some(own) = days.iter_mut().find(|own| own.day == day) {
                own.times.push((named(at), clock(zone, at)));
            }
        }
        let is_weekend = |day: NaiveDate| matches!(day.weekday(), Weekday::Sat | Weekday::Sun);
        days.retain(|day| !day.times.is_empty() || !is_weekend(day.day));
        days
    }
}

/// The time zone of the host, or of the first of several.
pub fn zone_of(hosts: &[Host]) -> Zone {
    hosts.first().map_or_else(|| Zone::named("UTC"), |host| host.zone.clone())
}

fn monday(day: NaiveDate) -> NaiveDate {
    day.week(Weekday::Mon).checked_first_day().unwrap_or(day)
}

/// A moment that is before this day in every time zone.
fn before(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc() - TimeDelta::days(1)
}

/// The last day that can be booked.
fn far(today: NaiveDate) -> NaiveDate {
    today.checked_add_days(Days::new(400)).unwrap_or(today)
}

/// `Berlin (now 16:44)`, by how far they are ahead.
fn zones(
    language: Language,
    chosen: &Zone,
    hosts: &[Host],
    now: DateTime<Utc>,
) -> Vec<(String, String, bool)> {
    let mut all: Vec<Zone> = ZONES.iter().filter_map(|name| Zone::known(name)).collect();
    for zone in hosts.iter().map(|host| &host.zone).chain([chosen]) {
        if !all.iter().any(|known| known.name() == zone.name()) {
            all.push(zone.clone());
        }
    }
    all.sort_by_key(|zone| (zone.ahead(now), city(zone)));
    all.into_iter()
        .map(|zone| {
            let time = zone.shows(now).format("%H:%M").to_string();
            let now = language.fill(BookingWord::Now, &[("time", &time)]);
            let is_chosen = zone.name() == chosen.name();
            (zone.name().to_owned(), format!("{} ({now})", city(&zone)), is_chosen)
        })
        .collect()
}
