//! `GET /booking-types`: what customers can book with the team, each on a page of its own.
//! Not in the sandbox: bookings are live only (docs/decisions/bookings-in-the-api.md).

use schemars::JsonSchema;
use serde::Serialize;

use crate::operation::{Call, Nothing, Operation, Spec};
use crate::operations::NoInput;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingTypeId, PersonId};
use rookery_base::store::db::Reading;
use rookery_product::bookings::types::{self, BookingType as Stored};

pub struct ListBookingTypes;

#[derive(Serialize, JsonSchema)]
pub struct BookingType {
    id: BookingTypeId,
    name: String,
    /// What it is about; may be empty.
    about: String,
    /// How long it takes.
    minutes: i16,
    /// Who can be booked; several take turns.
    hosts: Vec<BookingHost>,
    /// False while it is paused: its page offers no times.
    active: bool,
    /// Its public page, where anybody books with a code by mail. For the customer of a conversation, offer_times gives a
    /// link that needs no code.
    url: String,
}

#[derive(Serialize, JsonSchema)]
pub struct BookingHost {
    id: PersonId,
    name: String,
}

impl Operation for ListBookingTypes {
    const SPEC: Spec = Spec {
        title: "List booking types",
        about: "Every type of time that customers can book, with the address of its page. Empty for test keys.",
        ..Spec::read("list_booking_types", "/booking-types")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = NoInput;
    type Output = Vec<BookingType>;

    async fn run(call: &mut Call<'_, Reading>, _: Nothing, _: NoInput) -> Result<Vec<BookingType>> {
        let stored = types::list(&mut call.db, call.actor).await?;
        let slug = types::workspace_slug(&mut call.db, call.actor.workspace).await?;
        let shown = |own: Stored| {
            let page = types::path(&slug, &own.settings.slug);
            let url = call.app.config.public_url.join(&page).map_err(Error::internal)?;
            let hosts = own.settings.hosts.iter().zip(&own.host_names);
            Ok(BookingType {
                id: own.id,
                active: own.is_active(),
                hosts: hosts.map(|(id, name)| BookingHost { id: *id, name: name.clone() }).collect(),
                name: own.settings.name,
                about: own.settings.about,
                minutes: own.settings.minutes,
                url: url.into(),
            })
        };
        stored.into_iter().map(shown).collect()
    }
}
