//! What the pages of bookings share: the type that an address names, the offer of its link, what links and forms carry on,
//! and how a time is written where the visitor is. Nothing is remembered: all of it stands in the address.

use std::fmt::Write as _;

use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use url::form_urlencoded;

use crate::customer::answers;
use crate::customer::bookings::words::BookingWord;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::languages::{DayPhrase, Language};
use rookery_base::limits::customers::Visits;
use rookery_base::zone::Zone;
use rookery_product::bookings::link::token::OfferToken;
use rookery_product::bookings::link::{self, Offer, OfferClaim};
use rookery_product::bookings::read;
use rookery_product::bookings::schedule::{self, Bookable};

/// Longest name of a time zone in an address.
const LONGEST_ZONE: usize = 64;

/// Whose page it is, and in which language.
pub struct Top {
    pub name: String,
    pub language: Language,
    /// The same page in other languages.
    pub others: Vec<(Language, String)>,
}

/// Names and values that every link and form of the pages carries on.
pub type Carried = Vec<(&'static str, String)>;

pub fn query(carried: &[(&'static str, String)], more: &[(&str, &str)]) -> String {
    let mut written = form_urlencoded::Serializer::new(String::new());
    for (name, value) in carried {
        if !more.iter().any(|(other, _)| other == name) {
            written.append_pair(name, value);
        }
    }
    written.extend_pairs(more.iter().filter(|(_, value)| !value.is_empty()));
    let written = written.finish();
    if written.is_empty() { written } else { format!("?{written}") }
}

impl Top {
    pub fn new(name: &str, language: Language, path: &str, carried: &[(&'static str, String)]) -> Self {
        let others = language
            .others()
            .map(|other| (other, format!("{path}{}", query(carried, &[("lang", other.code())]))))
            .collect();
        Self { name: name.to_owned(), language, others }
    }
}

/// What every page of a booking type needs.
pub struct BookingPageContext {
    pub language: Language,
    pub bookable: Bookable,
    pub offer: Option<Offer>,
    /// The visitor's time zone, if the address names one.
    pub zone: Option<Zone>,
    pub carried: Carried,
}

impl BookingPageContext {
    pub fn path(&self) -> String {
        format!("/book/{}/{}", self.bookable.workspace_slug, self.bookable.slug)
    }

    pub fn top(&self) -> Top {
        Top::new(&self.bookable.workspace_name, self.language, &self.path(), &self.carried)
    }

    pub fn here(&self, more: &[(&str, &str)]) -> String {
        format!("{}{}", self.path(), query(&self.carried, more))
    }
}

/// Counts a visit for the rate limit, before the database is asked.
pub fn admit(visit: &Visit) -> Result<()> {
    let app = visit.app();
    app.customers.count(Visits::OfNetwork(visit.asker()), app.clock.now())
}

/// The answer when the address leads nowhere. Such requests are counted, and who makes many has to wait.
pub fn astray(visit: &Visit, language: Language) -> Result<Response> {
    let app = visit.app();
    app.customers.count(Visits::Astray(visit.asker()), app.clock.now())?;
    answers::nothing(language)
}

/// The visitor's zone, and the parameters of zone and language that links carry on.
pub fn chosen(visit: &Visit, language: Language) -> (Option<Zone>, Carried) {
    let mut carried = Carried::new();
    if visit.query("lang").is_some() {
        carried.push(("lang", language.code().to_owned()));
    }
    let zone = visit.query("zone").filter(|name| name.len() <= LONGEST_ZONE).and_then(Zone::known);
    if let Some(zone) = &zone {
        carried.push(("zone", zone.name().to_owned()));
    }
    (zone, carried)
}

/// The booking type that the path names, with the offer to a customer if the link holds a valid one.
pub async fn find(visit: &Visit, language: Language) -> Result<Option<BookingPageContext>> {
    let app = visit.app();
    // What cannot be the name of a page is not looked for.
    let part = |name: &str| visit.param(name).filter(|part| part.bytes().all(|byte| byte.is_ascii_graphic()));
    let (Some(workspace), Some(slug)) = (part("workspace"), part("type")) else { return Ok(None) };
    // The directory has a connection of its own: none is held while it is asked.
    let Some(workspace) = app.directory.workspace_of_slug(workspace).await? else { return Ok(None) };
    let mut conn = app.connection_of(workspace).await?;
    let Some(bookable) = schedule::named(&mut conn, workspace, slug).await? else { return Ok(None) };
    let short = visit.query("offer").and_then(OfferToken::read);
    let [conversation, until, token] = ["for", "until", "key"].map(|name| visit.query(name));
    let claimed = match (short, conversation, until, token) {
        (Some(short), ..) => Some(OfferClaim::Short(short)),
        (None, Some(conversation), Some(until), Some(token)) => {
            Some(OfferClaim::Long { conversation, until, token })
        }
        _ => None,
    };
    with_offer(visit, &mut conn, language, bookable, claimed).await.map(Some)
}

/// The same by a short address, which has no names in it.
pub async fn find_short(
    visit: &Visit,
    language: Language,
    short: OfferToken,
) -> Result<Option<BookingPageContext>> {
    let mut conn = visit.app().connection_of(short.workspace).await?;
    let bookable = schedule::ending(&mut conn, short.workspace, short.type_end).await?;
    let Some(bookable) = bookable else { return Ok(None) };
    let claimed = Some(OfferClaim::Short(short));
    let mut place = with_offer(visit, &mut conn, language, bookable, claimed).await?;
    if let (Some(offer), true) = (&place.offer, place.zone.is_none()) {
        // In which the mail said its times.
        place.zone = read::zone_of_address(&mut conn, short.workspace, &offer.email).await?;
        place.carried.extend(place.zone.as_ref().map(|zone| ("zone", zone.name().to_owned())));
    }
    Ok(Some(place))
}

async fn with_offer(
    visit: &Visit,
    conn: &mut PgConnection,
    language: Language,
    bookable: Bookable,
    claimed: Option<OfferClaim<'_>>,
) -> Result<BookingPageContext> {
    let app = visit.app();
    let (zone, mut carried) = chosen(visit, language);
    let mut offer = None;
    if let Some(claimed) = claimed {
        let keys = app.config.needs_secret_key()?;
        offer = link::offered(conn, keys, &bookable, claimed, app.clock.now()).await?;
        match claimed {
            _ if offer.is_none() => {}
            OfferClaim::Short(token) => carried.push(("offer", token.to_string())),
            OfferClaim::Long { conversation, until, token } => {
                let all = [("for", conversation), ("until", until), ("key", token)];
                carried.extend(all.map(|(name, value)| (name, value.to_owned())));
            }
        }
    }
    Ok(BookingPageContext { language, bookable, offer, zone, carried })
}

/// A page that the listed origins may show in a frame.
pub fn in_frame(language: Language, answer: Result<Response>, bookable: Option<&Bookable>) -> Response {
    let origins = bookable.map(|bookable| bookable.embed_origins.as_slice()).unwrap_or_default();
    answers::answered_in_frame(language, answer, origins)
}

/// A time as addresses and form fields write it.
pub fn named(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%MZ").to_string()
}

pub fn read_time(text: &str) -> Option<DateTime<Utc>> {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%MZ").ok().map(|at| at.and_utc())
}

/// `10:30`, and `02:30 (UTC+2)` on the night when it comes twice.
pub fn clock(zone: &Zone, at: DateTime<Utc>) -> String {
    let mut text = zone.shows(at).format("%H:%M").to_string();
    if zone.comes_twice(at) {
        let _ = write!(text, " ({})", offset(zone.ahead(at)));
    }
    text
}

/// `UTC+5:30`
fn offset(ahead: TimeDelta) -> String {
    let minutes = ahead.num_minutes();
    let sign = if minutes < 0 { '-' } else { '+' };
    match minutes.abs() % 60 {
        0 => format!("UTC{sign}{}", minutes.abs() / 60),
        rest => format!("UTC{sign}{}:{rest:02}", minutes.abs() / 60),
    }
}

/// The day and the hours of a booking, and the place whose clock it is.
pub struct When {
    pub day: String,
    pub starts: String,
    pub hours: String,
    pub zone: String,
}

pub fn when(
    language: Language,
    zone: &Zone,
    starts_at: DateTime<Utc>,
    ends_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> When {
    let (from, to) = (clock(zone, starts_at), clock(zone, ends_at));
    When {
        day: language.date(zone.day(starts_at), zone.day(now)),
        hours: language.fill(BookingWord::FromTo, &[("from", &from), ("to", &to)]),
        starts: from,
        zone: city(zone),
    }
}

/// `New York`
pub fn city(zone: &Zone) -> String {
    zone.name().rsplit('/').next().unwrap_or_default().replace('_', " ")
}

/// `16 November`
pub fn day_and_month(language: Language, day: NaiveDate) -> String {
    use chrono::Datelike;
    let month = language.say(DayPhrase::Months).split(' ').nth(day.month0() as usize).unwrap_or_default();
    format!("{} {month}", day.day())
}

pub fn weekday(language: Language, day: NaiveDate) -> &'static str {
    use chrono::Datelike;
    let nth = day.weekday().num_days_from_monday() as usize;
    language.say(DayPhrase::Days).split(' ').nth(nth).unwrap_or_default()
}

/// `p…@example.org`: enough for whoever it belongs to.
pub fn masked(address: &str) -> String {
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    format!("{}…@{domain}", local.chars().next().unwrap_or_default())
}

/// A form that was filled in wrongly.
pub const WRONG: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_come_twice_say_which_one_is_meant() {
        let berlin = Zone::named("Europe/Berlin");
        let at = |text: &str| text.parse().unwrap();
        assert_eq!(clock(&berlin, at("2031-10-26T00:30:00Z")), "02:30 (UTC+2)");
        assert_eq!(clock(&berlin, at("2031-10-26T01:30:00Z")), "02:30 (UTC+1)");
        assert_eq!(clock(&berlin, at("2031-10-26T02:30:00Z")), "03:30");
        let lord_howe = Zone::named("Australia/Lord_Howe");
        assert_eq!(clock(&lord_howe, at("2031-04-05T15:10:00Z")), "01:40 (UTC+10:30)");
    }

    #[test]
    fn a_time_is_named_and_read_in_utc_and_nothing_else_is_read() {
        let at: DateTime<Utc> = "2031-01-06T09:30:00Z".parse().unwrap();
        assert_eq!(read_time(&named(at)), Some(at));
        for other in ["", "2031-01-06T09:30", "2031-01-06T09:30:00Z", "2031-01-06T09:30Zx", "x"] {
            assert_eq!(read_time(other), None, "{other}");
        }
        assert_eq!(masked("priya@example.org"), "p…@example.org");
    }
}
