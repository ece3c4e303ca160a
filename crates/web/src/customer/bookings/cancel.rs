//! Cancelling by the private link, and taking it back. To open a link does nothing, and neither does pressing its button: a reason
//! has to be chosen, and none is. So programs that open mail to look at it cancel nothing.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::customer::answers;
use crate::customer::bookings::booked::{self, Managed, managed};
use crate::customer::bookings::page::{Top, WRONG, When, admit, astray};
use crate::customer::bookings::words::BookingWord;
use crate::customer::language::for_visit;
use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::languages::{Language, Phrase};
use rookery_product::bookings::cancel::{self, REASONS};

#[derive(Template)]
#[template(path = "customer/bookings/cancel.html")]
struct CancelPage {
    top: Top,
    title: String,
    when: When,
    host: String,
    action: String,
    back: String,
    instead: String,
    problem: Option<&'static str>,
}

impl CancelPage {
    fn say(&self, word: impl Phrase) -> &'static str {
        self.top.language.say(word)
    }

    fn why(&self) -> String {
        self.top.language.fill(BookingWord::Why, &[("name", &self.host)])
    }

    fn reasons(&self) -> [(&'static str, &'static str); 3] {
        let words = [BookingWord::WhyTime, BookingWord::WhySolved, BookingWord::WhyOther];
        [0, 1, 2].map(|n| (REASONS[n], self.say(words[n])))
    }
}

/// `GET /booking/{workspace}/{booking}/{token}/cancel`
pub async fn ask(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        let Some(managed) = find(&visit, language).await? else { return astray(&visit, language) };
        if !managed.is_ahead(&visit) {
            return booked::page(&visit, &managed, None, false, StatusCode::OK);
        }
        page(&visit, &managed, None, StatusCode::OK)
    };
    Ok(answers::answered(language, answer.await))
}

pub async fn find(visit: &Visit, language: Language) -> Result<Option<Managed>> {
    admit(visit)?;
    managed(visit, &mut *visit.customers_connection().await?, language).await
}

fn page(
    visit: &Visit,
    managed: &Managed,
    problem: Option<BookingWord>,
    status: StatusCode,
) -> Result<Response> {
    let page = CancelPage {
        top: managed.top("/cancel"),
        title: managed.bookable.name.clone(),
        when: managed.when(visit),
        host: managed.booking.host_name.clone(),
        action: managed.here("/cancel", &[]),
        back: managed.here("", &[]),
        instead: managed.here("/move", &[]),
        problem: problem.map(|word| managed.language.say(word)),
    };
    respond::page_with(status, &page)
}

/// `POST /booking/{workspace}/{booking}/{token}/cancel`
pub async fn cancel(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        let Some(managed) = find(&visit, language).await? else { return astray(&visit, language) };
        let form = visit.strangers_form().await?;
        let reason = form.get("why").filter(|why| REASONS.contains(why));
        let Some(reason) = reason else {
            return page(&visit, &managed, Some(BookingWord::ChooseReason), WRONG);
        };
        let mut tx = visit.app().begin(managed.workspace).await?;
        if managed.is_ahead(&visit) && cancel::by_visitor(&mut tx, managed.booking.id, reason).await? {
            tx.commit().await?;
        }
        Ok(respond::see_other(&managed.here("", &[])))
    };
    Ok(answers::answered(language, answer.await))
}

/// `POST /booking/{workspace}/{booking}/{token}/back`
pub async fn take_back(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let answer = async {
        let Some(managed) = find(&visit, language).await? else { return astray(&visit, language) };
        let mut tx = visit.app().begin(managed.workspace).await?;
        if !cancel::take_back(&mut tx, managed.booking.id).await? {
            drop(tx);
            return booked::page(&visit, &managed, Some(BookingWord::TooLate), false, StatusCode::CONFLICT);
        }
        tx.commit().await?;
        Ok(respond::see_other(&managed.here("", &[])))
    };
    Ok(answers::answered(language, answer.await))
}
