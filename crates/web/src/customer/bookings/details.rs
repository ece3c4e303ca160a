//! The details of a booking: name, address, what the type asks. With the link of an offer the address is known; without one a
//! code goes to the address first, and nothing is stored before it comes back (D276). A second press of a button finds what
//! the first one booked.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::customer::bookings::page::{
    BookingPageContext, Top, WRONG, When, admit, astray, find, in_frame, masked, named, query, read_time,
    when,
};
use crate::customer::bookings::times::{times, zone_of};
use crate::customer::bookings::words::BookingWord;
use crate::customer::language::for_visit;
use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use crate::visit::{FormFields, Visit};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::languages::{Language, Phrase};
use rookery_base::limits::stranger_mail::Whose;
use rookery_base::links;
use rookery_base::zone::Zone;
use rookery_core::workspace::one_time_codes::{
    self, CodeMail, CodeScope, CodeSending, CodeVerdict, PLACE, Purpose,
};
use rookery_core::workspace::people::an_address;
use rookery_product::bookings::book::{self, Booked, BookingRefusal, Visitor, WantedBooking};
use rookery_product::bookings::link;
use rookery_product::bookings::questions::{BookingAnswer, LONGEST_ANSWER, Question};
use rookery_product::bookings::schedule::{self, Bookable};
use rookery_reading::text;

const LONGEST_NAME: usize = 100;
const LONGEST_NOTE: usize = 2000;
/// Length of a form's random name, by which a second press of its button is recognised.
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
    /// The masked address of the customer, if the link is an offer made to them.
    address: Option<String>,
    filled: Filled,
    errors: Errors,
    questions: Vec<AskedQuestion>,
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
    /// All fields that were filled in. They are stored nowhere until the code is right.
    hidden: Vec<(String, String)>,
    problem: Option<&'static str>,
    button: String,
}

macro_rules! says {
    ($($page:ty),*) => {$(
        impl $page {
            fn say(&self, word: impl Phrase) -> &'static str {
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

struct AskedQuestion {
    n: usize,
    question: Question,
    answer: String,
    error: Option<&'static str>,
}

impl Filled {
    fn from_form(form: &FormFields, bookable: &Bookable) -> Self {
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
    let mut conn = app.connection_of(bookable.workspace).await?;
    let free = schedule::free_at(&mut conn, bookable, app.clock.now(), at, None).await?;
    Ok(!free.is_empty())
}

/// The empty form for a time; all times when that one is not free any more.
pub async fn ask(visit: &Visit, place: &BookingPageContext, at: DateTime<Utc>) -> Result<Response> {
    let (app, bookable) = (visit.app(), &place.bookable);
    if !is_free(app, bookable, at).await? {
        return times(visit, place, Some(BookingWord::Taken), StatusCode::CONFLICT).await;
    }
    let filled = Filled { press: app.random.letters(PRESS), ..Filled::default() };
    details(visit, place, at, filled, Errors::default(), StatusCode::OK).await
}

async fn details(
    visit: &Visit,
    place: &BookingPageContext,
    at: DateTime<Utc>,
    filled: Filled,
    mut errors: Errors,
    status: StatusCode,
) -> Result<Response> {
    let (language, bookable) = (place.language, &place.bookable);
    let shown = shown(visit, place, at).await?;
    errors.answers.resize(bookable.questions.len(), None);
    let questions = bookable.questions.iter().enumerate().map(|(n, question)| AskedQuestion {
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

async fn zone(visit: &Visit, place: &BookingPageContext) -> Result<Zone> {
    if let Some(zone) = &place.zone {
        return Ok(zone.clone());
    }
    let (app, bookable) = (visit.app(), &place.bookable);
    let mut conn = app.connection_of(bookable.workspace).await?;
    let hosts = schedule::hosts(&mut conn, bookable, app.clock.now(), None).await?;
    Ok(zone_of(&hosts))
}

async fn shown(visit: &Visit, place: &BookingPageContext, at: DateTime<Utc>) -> Result<When> {
    let zone = zone(visit, place).await?;
    let ends_at = at + place.bookable.rules.length;
    Ok(when(place.language, &zone, at, ends_at, visit.app().clock.now()))
}

/// `POST /book/{workspace}/{type}`
pub async fn take(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
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

async fn taken(visit: &Visit, place: &BookingPageContext) -> Result<Response> {
    let form = visit.strangers_form().await?;
    let Some(at) = form.get("at").and_then(read_time) else {
        return times(visit, place, None, WRONG).await;
    };
    let filled = Filled::from_form(&form, &place.bookable);
    let (visitor, errors) = checked(visit, place, &filled).await?;
    if errors.any() {
        return details(visit, place, at, filled, errors, WRONG).await;
    }
    let instead = form.get("instead").unwrap_or_default();
    if instead == "address" {
        return details(visit, place, at, filled, Errors::default(), StatusCode::OK).await;
    }
    let wanted = WantedBooking {
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
        let proof = CodeScope {
            purpose: Purpose::Booking,
            subject: place.bookable.id.0,
            address: &wanted.visitor.email,
        };
        let code = form.get("code").map(str::trim).filter(|code| !code.is_empty() && instead.is_empty());
        let checked = match code {
            Some(code) => one_time_codes::check(&mut tx, proof, code).await?,
            None => CodeVerdict::Over,
        };
        if checked != CodeVerdict::Right {
            tx.commit().await?;
            let problem = match (code, checked) {
                (None, _) => None,
                (_, CodeVerdict::Wrong) => Some(BookingWord::CodeWrong),
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
                BookingRefusal::Taken => BookingWord::Taken,
                BookingRefusal::TooMany => BookingWord::TooMany,
                BookingRefusal::TooMuchMail => BookingWord::TooBusy,
            };
            times(visit, place, Some(word), status_of(refused)).await
        }
    }
}

pub(super) fn status_of(refused: BookingRefusal) -> StatusCode {
    match refused {
        BookingRefusal::Taken | BookingRefusal::TooMany => StatusCode::CONFLICT,
        BookingRefusal::TooMuchMail => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// What was typed, and what is wrong with it.
async fn checked(visit: &Visit, place: &BookingPageContext, filled: &Filled) -> Result<(Visitor, Errors)> {
    let (language, bookable) = (place.language, &place.bookable);
    let say = |word: BookingWord| Some(language.say(word));
    let length = |text: &str, most: usize| {
        if text.chars().count() > most { say(BookingWord::TooLong) } else { None }
    };
    let mut errors = Errors {
        name: match filled.name.as_str() {
            "" => say(BookingWord::Needed),
            name if links::has_link(name) => say(BookingWord::NameOnly),
            name => length(name, LONGEST_NAME),
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
    let answers = answers
        .map(|(question, answer)| BookingAnswer { question: question.label.clone(), answer: answer.clone() });
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
    place: &BookingPageContext,
    at: DateTime<Utc>,
    filled: &Filled,
    wanted: &WantedBooking<'_>,
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
            CodeScope { purpose: Purpose::Booking, subject: bookable.id.0, address: &wanted.visitor.email };
        let body = format!(
            "Your code: {PLACE}\n\nIt shows that you read the mail of this address, to book a time with {}. It is good for \
             15 minutes.\n\nYou did not ask for it? Then you need not do anything: without the code nothing is booked.",
            bookable.workspace_name
        );
        let subject = format!("Your code for booking a time with {}", bookable.workspace_name);
        let mut tx = app.begin(bookable.workspace).await?;
        let mail = CodeMail { subject: &subject, body: &body };
        match one_time_codes::send(app, &mut tx, proof, visit.asker(), mail).await? {
            // What was typed stays: the newest code may still be good.
            CodeSending::Refused(too_much) => slow = Some(too_much),
            CodeSending::Now => tx.commit().await?,
            CodeSending::Before => {}
        }
    }
    let problem = match slow.map(|too_much| too_much.whose) {
        None => problem,
        Some(Whose::Address | Whose::Network) => Some(BookingWord::EnoughCodes),
        Some(Whose::Page | Whose::Workspace) => Some(BookingWord::TooBusy),
    };
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
    if let Some(too_much) = slow {
        respond::retry_after(&mut response, &too_much.error("", app.clock.now()));
    }
    Ok(response)
}

/// The page of what was booked, which a frame may show as it showed this one.
fn booked_page(visit: &Visit, place: &BookingPageContext, booked: Booked) -> Result<Response> {
    let key = visit.app().config.needs_secret_key()?.newest();
    let token = link::manage_token(key, place.bookable.workspace, booked.series, booked.generation);
    let kept: Vec<_> =
        place.carried.iter().filter(|(name, _)| ["lang", "zone"].contains(name)).cloned().collect();
    Ok(respond::see_other(&format!("{}/{}/{token}{}", place.path(), booked.series, query(&kept, &[]))))
}
