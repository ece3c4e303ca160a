//! What is done to a booking type by one press: pause, resume, and remove after a question.
//! What was booked stands in each case.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::bookings::{PATH, edit};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::BookingTypeId;
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types::{self, BookingTypeState};

#[derive(Template)]
#[template(path = "settings/bookings/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: BookingTypeId,
    name: String,
    is_active: bool,
}

pub async fn pause(asked: MemberRequest) -> Result<Response> {
    turn(asked, BookingTypeState::Paused, Done::BookingTypePaused).await
}

pub async fn resume(asked: MemberRequest) -> Result<Response> {
    turn(asked, BookingTypeState::Active, Done::BookingTypeResumed).await
}

pub async fn remove(asked: MemberRequest) -> Result<Response> {
    turn(asked, BookingTypeState::Removed, Done::BookingTypeRemoved).await
}

async fn turn(asked: MemberRequest, to: BookingTypeState, done: Done) -> Result<Response> {
    let id: BookingTypeId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    types::turn(&mut tx, Setter::Person(&asked.person), id, to).await?;
    tx.commit().await?;
    let here = if to == BookingTypeState::Removed { PATH.to_owned() } else { format!("{PATH}/{id}") };
    Ok(respond::see_other_with(&here, Toast::new(done, "")))
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let own = edit::find(&asked, asked.id("id")?).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let is_active = own.is_active();
    respond::page(&RemovePage { shell, page: PATH, id: own.id, name: own.settings.name, is_active })
}
