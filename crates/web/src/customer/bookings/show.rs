//! `GET /book/{workspace}/{type}`: the public page of a booking type (specification 6.2, D276): its times, or the details when one
//! is chosen. `GET /b/{offer}` is the same by a short address, which may name one of the times that were offered. To open
//! either changes nothing.

use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::customer::bookings::page::{
    BookingPageContext, admit, astray, find, find_short, in_frame, read_time,
};
use crate::customer::bookings::{details, times};
use crate::customer::language::for_visit;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_product::bookings::link::token::OfferToken;
use rookery_product::bookings::read;

pub async fn show(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let found = async {
        admit(&visit)?;
        find(&visit, language).await
    };
    Ok(match found.await {
        Ok(Some(place)) => in_frame(language, shown(&visit, &place).await, Some(&place.bookable)),
        Ok(None) => in_frame(language, astray(&visit, language), None),
        Err(error) => in_frame(language, Err(error), None),
    })
}

async fn shown(visit: &Visit, place: &BookingPageContext) -> Result<Response> {
    match visit.query("at").and_then(read_time) {
        Some(at) => details::ask(visit, place, at).await,
        None => times::times(visit, place, None, StatusCode::OK).await,
    }
}

/// `GET /b/{offer}`
pub async fn show_short(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let short = visit.param("offer").and_then(OfferToken::read);
    let found = async {
        admit(&visit)?;
        let Some(short) = short else { return Ok(None) };
        find_short(&visit, language, short).await
    };
    Ok(match found.await {
        Ok(Some(place)) => {
            let answer = offered(&visit, &place, short.and_then(|short| short.at())).await;
            in_frame(language, answer, Some(&place.bookable))
        }
        Ok(None) => in_frame(language, astray(&visit, language), None),
        Err(error) => in_frame(language, Err(error), None),
    })
}

/// Of several times that were offered one is meant: when one is booked, the links of the others show that it is.
async fn offered(visit: &Visit, place: &BookingPageContext, at: Option<DateTime<Utc>>) -> Result<Response> {
    let Some(at) = at else { return times::times(visit, place, None, StatusCode::OK).await };
    if has_booked(visit, place).await? {
        return times::times(visit, place, None, StatusCode::OK).await;
    }
    details::ask(visit, place, at).await
}

async fn has_booked(visit: &Visit, place: &BookingPageContext) -> Result<bool> {
    let (app, bookable) = (visit.app(), &place.bookable);
    let Some(offer) = &place.offer else { return Ok(false) };
    let mut conn = app.connection_of(bookable.workspace).await?;
    let (now, workspace) = (app.clock.now(), bookable.workspace);
    let next = read::next_of_type(&mut conn, workspace, offer.conversation, bookable.id, now).await?;
    Ok(next.is_some())
}
