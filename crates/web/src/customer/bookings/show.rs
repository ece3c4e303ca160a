//! `GET /book/{workspace}/{type}`: the public page of a booking type (specification 6.2, D276): its times, or the details when one
//! is chosen. To open it changes nothing.

use axum::http::StatusCode;
use axum::response::Response;

use crate::customer::bookings::page::{BookingPageContext, admit, astray, find, in_frame, read_time};
use crate::customer::bookings::{details, times};
use crate::customer::language::for_visit;
use crate::visit::Visit;
use rookery_base::error::Result;

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
