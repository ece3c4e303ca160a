//! What is done to a booking type by one press: pause, resume, and remove after a question.
//! What was booked stands in each case.

use askama::Template;
use axum::response::Response;

use crate::bookings::setter::Setter;
use crate::bookings::types::{self, State};
use crate::error::Result;
use crate::ids::BookingTypeId;
use crate::web::respond;
use crate::web::settings::bookings::{PATH, edit};
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "settings/bookings/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: BookingTypeId,
    name: String,
    is_active: bool,
}

pub async fn pause(asked: Asked) -> Result<Response> {
    turn(asked, State::Paused, Done::BookingTypePaused).await
}

pub async fn resume(asked: Asked) -> Result<Response> {
    turn(asked, State::Active, Done::BookingTypeResumed).await
}

pub async fn remove(asked: Asked) -> Result<Response> {
    turn(asked, State::Removed, Done::BookingTypeRemoved).await
}

async fn turn(asked: Asked, to: State, done: Done) -> Result<Response> {
    let id: BookingTypeId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    types::turn(&mut tx, Setter::Person(&asked.person), id, to).await?;
    tx.commit().await?;
    let here = if to == State::Removed { PATH.to_owned() } else { format!("{PATH}/{id}") };
    Ok(respond::see_other_with(&here, Toast::new(done, "")))
}

pub async fn ask(asked: Asked) -> Result<Response> {
    let own = edit::find(&asked, asked.id("id")?).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let is_active = own.is_active();
    respond::page(&RemovePage { shell, page: PATH, id: own.id, name: own.settings.name, is_active })
}
