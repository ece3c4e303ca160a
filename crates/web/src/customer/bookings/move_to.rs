//! Moving by the private link: the page of times, one that is chosen, a tick, and only then the button does something. Programs
//! that press what they find move nothing.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::customer::answers;
use crate::customer::bookings::booked::{self, Managed};
use crate::customer::bookings::cancel::find;
use crate::customer::bookings::details::status_of;
use crate::customer::bookings::page::{Top, WRONG, When, astray, named, read_time, when};
use crate::customer::bookings::times::Choosing;
use crate::customer::bookings::words::BookingWord;
use crate::customer::language::for_visit;
use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::languages::Phrase;
use rookery_product::bookings::book::BookingRefusal;
use rookery_product::bookings::{reschedule, schedule};

#[derive(Template)]
#[template(path = "customer/bookings/move.html")]
struct MovePage {
    top: Top,
    title: String,
    when: When,
    until: String,
    action: String,
    back: String,
    at: String,
    problem: Option<&'static str>,
}

impl MovePage {
    fn say(&self, word: impl Phrase) -> &'static str {
        self.top.language.say(word)
    }
}

/// `GET /booking/{workspace}/{booking}/{token}/move`
pub async fn ask(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        let Some(managed) = find(&visit, language).await? else { return astray(&visit, language) };
        if !managed.is_ahead(&visit) {
            return booked::page(&visit, &managed, None, false, StatusCode::OK);
        }
        match visit.query("at").and_then(read_time) {
            Some(at) => confirm(&visit, &managed, at, None, StatusCode::OK),
            None => times(&visit, &managed, None, StatusCode::OK).await,
        }
    };
    Ok(answers::answered(language, answer.await))
}

async fn times(
    visit: &Visit,
    managed: &Managed,
    notice: Option<BookingWord>,
    status: StatusCode,
) -> Result<Response> {
    let (app, bookable) = (visit.app(), &managed.bookable);
    let now = app.clock.now();
    let mut conn = app.connection_of(bookable.workspace).await?;
    let hosts = schedule::hosts(&mut conn, bookable, now, Some(managed.booking.id)).await?;
    drop(conn);
    let choosing = Choosing {
        top: managed.top("/move"),
        bookable,
        hosts: &hosts,
        moved: Some(managed.booking.starts_at),
        zone: Some(managed.zone.clone()),
        week: visit.query("week").and_then(|day| day.parse().ok()),
        title: managed.language.say(BookingWord::MoveTitle).to_owned(),
        action: format!("{}/move", managed.path()),
        carried: managed.carried.clone(),
        notice: notice.map(|word| managed.language.say(word)),
        booked: None,
        is_offer: true,
        now,
    };
    choosing.page(status)
}

fn confirm(
    visit: &Visit,
    managed: &Managed,
    at: DateTime<Utc>,
    problem: Option<BookingWord>,
    status: StatusCode,
) -> Result<Response> {
    let language = managed.language;
    let ends_at = at + managed.bookable.rules.length;
    let before = managed.when(visit);
    let before = format!("{}, {}", before.day, before.hours);
    let page = MovePage {
        top: managed.top("/move"),
        title: managed.bookable.name.clone(),
        when: when(language, &managed.zone, at, ends_at, visit.app().clock.now()),
        until: language.fill(BookingWord::Until, &[("time", &before)]),
        action: managed.here("/move", &[]),
        back: managed.here("/move", &[]),
        at: named(at),
        problem: problem.map(|word| language.say(word)),
    };
    respond::page_with(status, &page)
}

/// `POST /booking/{workspace}/{booking}/{token}/move`
pub async fn take(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        let Some(managed) = find(&visit, language).await? else { return astray(&visit, language) };
        let form = visit.strangers_form().await?;
        let Some(at) = form.get("at").and_then(read_time) else {
            return times(&visit, &managed, None, WRONG).await;
        };
        if !form.flag("sure") {
            return confirm(&visit, &managed, at, Some(BookingWord::TickSure), WRONG);
        }
        let mut tx = visit.app().begin(managed.workspace).await?;
        match reschedule::move_to(&mut tx, &managed.bookable, &managed.booking, at).await? {
            Ok(_) => {
                tx.commit().await?;
                Ok(respond::see_other(&managed.here("", &[])))
            }
            Err(refused) => {
                drop(tx);
                let word = match refused {
                    BookingRefusal::Taken => BookingWord::Taken,
                    BookingRefusal::TooMany => BookingWord::MovedOften,
                    BookingRefusal::TooMuchMail => BookingWord::TooBusy,
                };
                times(&visit, &managed, Some(word), status_of(refused)).await
            }
        }
    };
    Ok(answers::answered(language, answer.await))
}
