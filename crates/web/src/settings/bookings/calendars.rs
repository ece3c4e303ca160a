//! Connecting and disconnecting one's other calendars. Nobody sees an address again that was entered, and nobody but their
//! owner sees which calendars there are.

use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::settings::bookings::hours::{self, Calendar, Wrong};
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::BusySourceId;
use rookery_product::bookings::busy::{self, CalendarForm, CalendarKind};

const HERE: &str = "/settings/bookings/hours#calendars";

pub async fn connect(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let text = |name: &str| form.get(name).unwrap_or_default();
    let kind = if text("kind") == "caldav" { CalendarKind::Caldav } else { CalendarKind::Feed };
    let typed =
        CalendarForm { kind, address: text("address"), name: text("name"), password: text("password") };
    match busy::connect(asked.app(), &asked.person, typed).await {
        Ok(_) => Ok(respond::see_other_with(HERE, Toast::new(Done::CalendarConnected, ""))),
        Err(error @ Error::Problems(_)) => {
            let calendar = Calendar {
                is_caldav: kind == CalendarKind::Caldav,
                name: text("name").to_owned(),
                problem: Some(error.sentence()),
            };
            let wrong = Wrong { calendar, ..Wrong::default() };
            hours::page(&asked, asked.person.id, StatusCode::BAD_REQUEST, wrong).await
        }
        Err(error) => Err(error),
    }
}

pub async fn disconnect(asked: MemberRequest) -> Result<Response> {
    let id: BusySourceId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    busy::disconnect(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(HERE, Toast::new(Done::CalendarDisconnected, "")))
}
