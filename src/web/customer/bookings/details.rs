//! The details of a booking: name, address, what the type asks. With the link of an offer the address is known; without one a
//! code goes to the address first, and nothing is stored before it comes back (D276). A second press of a button finds what
//! the first one booked.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::app::App;
use crate::bookings::book::{self, Booked, Refused, Visitor, Wanted};
use crate::bookings::link;
use crate::bookings::questions::{Answer, LONGEST_ANSWER, Question};
use crate::bookings::schedule::{self, Bookable};
use crate::error::{Error, Result};
use crate::text;
use crate::web::customer::bookings::page::{
    Place, Top, WRONG, When, admit, astray, find, in_frame, masked, named, query, read_time, when,
};
use crate::web::customer::bookings::times::{times, zone_of};
use crate::web::customer::bookings::words::BookingWord;
use crate::web::customer::language::Language;
use crate::web::customer::words::{Said, Word};
use crate::web::respond;
use crate::web::show::filters;
use crate::web::visit::{Fields, Visit};
use crate::workspace::one_time_codes::{self, Checked, PLACE, Proof, Purpose};
use crate::workspace::people::an_address;
use crate::zone::Zone;

const LONGEST_NAME: usize = 100;
const LONGEST_NOTE: usize = 2000;
/// Of the random name of a form.
const PRESS: usize = 22;

#[derive(Template)]
#[template(path = "customer/bookings/details.html")]
struct DetailsPage {
    top: Top,
    title: String,
    when: When,
    back: String,
    action: String,
    at: String,
    press: String,
    /// From the offer, as far as it is shown.
    address: Option<String>,
    filled: Filled,
    errors: Errors,
    questions: Vec<Asked>,
    button: String,
}

#[derive(Template)]
#[template(path = "customer/bookings/code.html")]
struct CodePage {
    top: Top,
    title: String,
    when: When,
    back: String,
    action: String,
    address: String,
    /// Everything that was filled in: it is nowhere else.
    hidden: Vec<(String, String)>,
    problem: Option<&'static str>,
    button: String,
}

macro_rules! says {
    ($($page:ty),*) => {$(
        impl $page {
            fn say(&self, word: impl Said) -> &'static str {
                self.top.language.say(word)
            }
        }
    )*};
}
says!(DetailsPage, CodePage);

impl CodePage {
    fn sent(&self) -> String {
        self.top.language.fill(BookingWord::CodeSent, &[("address", &self.address)])
    }
}

impl DetailsPage {
    fn goes_to(&self, address: &str) -> String {
        self.top.language.fill(BookingWord::GoesTo, &[("address", address)])
    }
}

/// As it was typed.
#[derive(Clone, Debug, Default)]
struct Filled {
    name: String,
    email: String,
    note: String,
    answers: Vec<String>,
    press: String,
}

#[derive(Default)]
struct Errors {
    name: Option<&'static str>,
    email: Option<&'static str>,
    note: Option<&'static str>,
    answers: Vec<Option<&'static str>>,
}

impl Errors {
    fn any(&self) -> bool {
        [self.name, self.email, self.note].iter().chain(&self.answers).any(Option::is_some)
    }
}

struct Asked {
    n: usize,
    question: Question,
    answer: String,
    error: Option<&'static str>,
}

impl Filled {
    fn of(form: &Fields, bookable: &Bookable) -> Self {
        let text = |name: &str| text::in_order(form.get(name).unwrap_or_default().trim());
        let press = text("press");
        Self {
            name: text::line(&text("name")),
            email: text::line(&text("email")),
            note: text::lines(&text("note")),
            answers: (0..bookable.questions.len()).map(|n| text::line(&text(&format!("q{n}")))).collect(),
            press: press.chars().filter(char::is_ascii_alphanumeric).take(PRESS).collect(),
        }
    }

    fn fields(&self, at: DateTime<Utc>) -> Vec<(String, String)> {
        let own = [("at", named(at)), ("name", self.name.clone()), ("email", self.email.clone())];
        let more = [("note", self.note.clone()), ("press", self.press.clone())];
        let answers = self.answers.iter().enumerate().map(|(n, answer)| (format!("q{n}"), answer.clone()));
        own.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).chain(answers).collect()
    }
}

async fn is_free(app: &App, bookable: &Bookable, at: DateTime<Utc>) -> Result<bool> {
    let free = schedule::free_at(&mut *app.connection().await?, bookable, app.clock.now(), at, None).await?;
    Ok(!free.is_empty())
}

/// The empty form for a time; all times when that one is not free any more.
pub async fn ask(visit: &Visit, place: &Place, at: DateTime<Utc>) -> Result<Response> {
    let (app, bookable) = (visit.app(), &place.bookable);
    if !is_free(app, bookable, at).await? {
        return times(visit, place, Some(BookingWord::Taken), StatusCode::CONFLICT).await;
    }
    let filled = Filled { press: app.random.letters(PRESS), ..Filled::default() };
    details(visit, place, at, filled, Errors::default(), StatusCode::OK).await
}

async fn details(
    visit: &Visit,
    place: &Place,
    at: DateTime<Utc>,
    filled: Filled,
    mut errors: Errors,
    status: StatusCode,
) -> Result<Response> {
    let (language, bookable) = (place.language, &place.bookable);
    let shown = shown(visit, place, at).await?;
    errors.answers.resize(bookable.questions.len(), None);
    let questions = bookable.questions.iter().enumerate().map(|(n, question)| Asked {
        n,
        question: question.clone(),
        answer: filled.answers.get(n).cloned().unwrap_or_default(),
        error: errors.answers[n],
    });
    let page = DetailsPage {
        top: place.top(),
        title: bookable.name.clone(),
        button: button(language, &shown),
        when: shown,
        back: place.here(&[]),
        action: place.here(&[]),
        at: named(at),
        press: filled.press.clone(),
        address: place.offer.as_ref().map(|offer| masked(&offer.email)),
        questions: questions.collect(),
        filled,
        errors,
    };
    respond::page_with(status, &page)
}

/// `Book Monday, 16 November, 10:30`
fn button(language: Language, when: &When) -> String {
    let time = format!("{}, {}", when.day, when.starts);
    language.fill(BookingWord::BookAt, &[("time", &time)])
}

async fn zone(visit: &Visit, place: &Place) -> Result<Zone> {
    if let Some(zone) = &place.zone {
        return Ok(zone.clone());
    }
    let app = visit.app();
    let hosts =
        schedule::hosts(&mut *app.connection().await?, &place.bookable, app.clock.now(), None).await?;
    Ok(zone_of(&hosts))
}

async fn shown(visit: &Visit, place: &Place, at: DateTime<Utc>) -> Result<When> {
    let zone = zone(visit, place).await?;
    let ends_at = at + place.bookable.rules.length;
    Ok(when(place.language, &zone, (at, ends_at), visit.app().clock.now()))
}

/// `POST /book/{workspace}/{type}`
pub async fn take(visit: Visit) -> Result<Response> {
    let language = Language::of(&visit);
    let found = async {
        admit(&visit)?;
        find(&visit, language).await
    };
    let place = match found.await {
        Ok(Some(place)) => place,
        Ok(None) => return Ok(in_frame(language, astray(&visit, language), None)),
        Err(error) => return Ok(in_frame(language, Err(error), None)),
    };
    let answer = taken(&visit, &place).await;
    Ok(in_frame(language, answer, Some(&place.bookable)))
}

async fn taken(visit: &Visit, place: &Place) -> Result<Response> {
    let form = visit.strangers_form().await?;
    let Some(at) = form.get("at").and_then(read_time) else {
        return times(visit, place, None, WRONG).await;
    };
    let filled = Filled::of(&form, &place.bookable);
    let (visitor, errors) = checked(visit, place, &filled).await?;
    if errors.any() {
        return details(visit, place, at, filled, errors, WRONG).await;
    }
    let instead = form.get("instead").unwrap_or_default();
    if instead == "address" {
        return details(visit, place, at, filled, Errors::default(), StatusCode::OK).await;
    }
    let wanted = Wanted {
        bookable: &place.bookable,
        starts_at: at,
        visitor,
        conversation: place.offer.as_ref().map(|offer| offer.conversation),
        press: &filled.press,
    };
    let app = visit.app();
    let mut tx = app.begin(place.bookable.workspace).await?;
    if let Some(booked) = book::pressed(&mut tx, &wanted).await? {
        return booked_page(visit, place, booked);
    }
    if place.offer.is_none() {
        let proof =
            Proof { purpose: Purpose::Booking, subject: place.bookable.id.0, address: &wanted.visitor.email };
        let code = form.get("code").map(str::trim).filter(|code| !code.is_empty() && instead.is_empty());
        let checked = match code {
            Some(code) => one_time_codes::check(&mut tx, proof, code).await?,
            None => Checked::Over,
        };
        if checked != Checked::Right {
            tx.commit().await?;
            let problem = match (code, checked) {
                (None, _) => None,
                (_, Checked::Wrong) => Some(BookingWord::CodeWrong),
                _ => Some(BookingWord::CodeOver),
            };
            return ask_for_code(visit, place, at, &filled, &wanted, problem).await;
        }
    }
    match book::book(&mut tx, &wanted).await? {
        Ok(booked) => {
            tx.commit().await?;
            booked_page(visit, place, booked)
        }
        // Nothing is committed, so that the code is good for another time.
        Err(refused) => {
            drop(tx);
            let word = match refused {
                Refused::Taken => BookingWord::Taken,
                Refused::TooMany => BookingWord::TooMany,
            };
            times(visit, place, Some(word), StatusCode::CONFLICT).await
        }
    }
}

/// What was typed, and what is wrong with it.
async fn checked(visit: &Visit, place: &Place, filled: &Filled) -> Result<(Visitor, Errors)> {
    let (language, bookable) = (place.language, &place.bookable);
    let say = |word: BookingWord| Some(language.say(word));
    let length = |text: &str, most: usize| {
        if text.chars().count() > most { say(BookingWord::TooLong) } else { None }
    };
    let mut errors = Errors {
        name: if filled.name.is_empty() {
            say(BookingWord::Needed)
        } else {
            length(&filled.name, LONGEST_NAME)
        },
        note: length(&filled.note, LONGEST_NOTE),
        ..Errors::default()
    };
    let email = match &place.offer {
        Some(offer) => offer.email.clone(),
        None => match an_address("email", &filled.email) {
            Ok(address) => address,
            Err(Error::Problems(_)) => {
                errors.email = say(BookingWord::NoAddress);
                String::new()
            }
            Err(other) => return Err(other),
        },
    };
    for (question, answer) in bookable.questions.iter().zip(&filled.answers) {
        let missing = question.required && answer.is_empty();
        errors.answers.push(if missing { say(BookingWord::Needed) } else { length(answer, LONGEST_ANSWER) });
    }
    let answers = bookable.questions.iter().zip(&filled.answers).filter(|(_, answer)| !answer.is_empty());
    let answers =
        answers.map(|(question, answer)| Answer { question: question.label.clone(), answer: answer.clone() });
    let visitor = Visitor {
        name: filled.name.clone(),
        email,
        note: filled.note.clone(),
        answers: answers.collect(),
        time_zone: zone(visit, place).await?.name().to_owned(),
    };
    Ok((visitor, errors))
}

/// Has a code sent to the address, unless one is on its way, and asks for it. The mail holds nothing that was typed.
async fn ask_for_code(
    visit: &Visit,
    place: &Place,
    at: DateTime<Utc>,
    filled: &Filled,
    wanted: &Wanted<'_>,
    problem: Option<BookingWord>,
) -> Result<Response> {
    let (app, bookable) = (visit.app(), &place.bookable);
    let language = place.language;
    if !is_free(app, bookable, at).await? {
        return times(visit, place, Some(BookingWord::Taken), StatusCode::CONFLICT).await;
    }
    let mut slow = None;
    if problem != Some(BookingWord::CodeWrong) {
        let proof =
            Proof { purpose: Purpose::Booking, subject: bookable.id.0, address: &wanted.visitor.email };
        let body = format!(
            "Your code: {PLACE}\n\nIt shows that you read the mail of this address, to book a time with {}. It is good for \
             15 minutes.\n\nYou did not ask for it? Then you need not do anything: without the code nothing is booked.",
            bookable.workspace_name
        );
        let subject = format!("Your code for booking a time with {}", bookable.workspace_name);
        let mut tx = app.begin(bookable.workspace).await?;
        match one_time_codes::send(app, &mut tx, proof, visit.asker(), (&subject, &body)).await {
            // What was typed stays: the newest code may still be good.
            Err(error @ Error::SlowDown { .. }) => slow = Some(error),
            sent => {
                sent?;
                tx.commit().await?;
            }
        }
    }
    let problem = if slow.is_some() { Some(BookingWord::EnoughCodes) } else { problem };
    let shown = shown(visit, place, at).await?;
    let page = CodePage {
        top: place.top(),
        title: bookable.name.clone(),
        button: button(language, &shown),
        when: shown,
        back: place.here(&[]),
        action: place.here(&[]),
        address: wanted.visitor.email.clone(),
        hidden: filled.fields(at),
        problem: problem.map(|word| language.say(word)),
    };
    let status = match (&slow, problem) {
        (Some(_), _) => StatusCode::TOO_MANY_REQUESTS,
        (None, Some(_)) => WRONG,
        (None, None) => StatusCode::OK,
    };
    let mut response = respond::page_with(status, &page)?;
    if let Some(slow) = slow {
        respond::retry_after(&mut response, &slow);
    }
    Ok(response)
}

/// The page of what was booked, which a frame may show as it showed this one.
fn booked_page(visit: &Visit, place: &Place, booked: Booked) -> Result<Response> {
    let key = visit.app().config.needs_secret_key()?.newest();
    let token = link::manage_token(key, place.bookable.workspace, booked.series, booked.generation);
    let kept: Vec<_> =
        place.carried.iter().filter(|(name, _)| ["lang", "zone"].contains(name)).cloned().collect();
    Ok(respond::see_other(&format!("{}/{}/{token}{}", place.path(), booked.series, query(&kept, &[]))))
}
