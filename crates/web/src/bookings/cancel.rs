//! `/bookings/{id}/cancel`: what cancelling as a host means, and then doing it. The visitor is told by mail, with the words
//! that the host wrote, and the time is free again.

use askama::Template;
use axum::response::Response;

use crate::bookings::list::may_cancel;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::BookingId;
use rookery_core::conversations::conversation::find_visible;
use rookery_product::bookings::cancel::{self, LONGEST_REASON};
use rookery_product::bookings::read::{self, BookingRow, BookingState, NO_BOOKING};

#[derive(Template)]
#[template(path = "bookings/cancel.html")]
struct CancelPage {
    shell: Shell,
    page: &'static str,
    own: BookingRow,
    reason: String,
    problem: Option<String>,
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked, String::new(), None).await?)
}

pub async fn cancel(asked: MemberRequest) -> Result<Response> {
    let id: BookingId = asked.id("id")?;
    find(&asked, id).await?;
    let form = asked.form().await?;
    let reason = form.get("reason").unwrap_or_default();
    match end(&asked, id, reason).await {
        Ok(()) => Ok(respond::see_other_with("/bookings", Toast::new(Done::BookingCancelled, ""))),
        Err(error @ (Error::Problems(_) | Error::Conflict(_))) => {
            let status = respond::status_of(&error);
            respond::page_with(status, &page(&asked, reason.to_owned(), Some(error.sentence())).await?)
        }
        Err(error) => Err(error),
    }
}

async fn end(asked: &MemberRequest, id: BookingId, reason: &str) -> Result<()> {
    let mut tx = asked.tx().await?;
    cancel::by_host(&mut tx, &asked.person.by(), id, Some(reason)).await?;
    tx.commit().await
}

/// One that the person sees and may cancel.
async fn find(asked: &MemberRequest, id: BookingId) -> Result<BookingRow> {
    let mut reading = asked.reading().await?;
    let own = read::find(&mut reading, asked.person.workspace, id).await?.ok_or(NO_BOOKING)?;
    // A host has their bookings, also those from a colleague's private conversation.
    if let Some(conversation) = own.conversation.filter(|_| own.host != asked.person.id) {
        let now = asked.times().now;
        find_visible(&mut reading, &asked.person, now, &conversation.to_string())
            .await
            .map_err(|_| NO_BOOKING)?;
    }
    if may_cancel(&own, &asked.person) { Ok(own) } else { Err(NO_BOOKING) }
}

async fn page(asked: &MemberRequest, reason: String, problem: Option<String>) -> Result<CancelPage> {
    let own = find(asked, asked.id("id")?).await?;
    let shell = Shell::frame(asked, Here::Bookings);
    Ok(CancelPage { shell, page: "/settings/bookings", own, reason, problem })
}

impl CancelPage {
    fn is_over(&self) -> bool {
        self.own.state != BookingState::Booked || self.own.ends_at <= self.shell.times.now
    }

    fn longest(&self) -> usize {
        LONGEST_REASON
    }

    fn who(&self) -> &str {
        self.own.name.as_deref().unwrap_or("the visitor")
    }
}
