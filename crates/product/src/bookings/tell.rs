//! What a booking tells: its event, and the timeline of its conversation. Outside a conversation the event is for the whole
//! workspace; inside, for those who see the conversation (specification 6.1, D277). Nothing that the visitor wrote is told.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::bookings::read::BookingRow;
use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, BookingTypeId, PersonId};
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::timeline;
use rookery_core::events::event::{Booking, Event};
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::By;
use rookery_core::workspace::notices::{self, Notice};

/// As far as others hear of it.
pub struct BookingNews<'a> {
    pub id: BookingId,
    pub type_id: BookingTypeId,
    pub host: PersonId,
    pub host_name: &'a str,
    pub starts_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
}

pub async fn created(
    tx: &mut Tx<'_>,
    told: &BookingNews<'_>,
    conversation: Option<&Locked>,
    by: &By,
) -> Result<()> {
    if let Some(conversation) = conversation {
        let data = json!({ "bookingId": told.id, "startsAt": written(told.starts_at), "endsAt": written(told.ends_at) });
        timeline::append(tx, conversation.id, by, "booking-created", data).await?;
    }
    record_for(tx, told, conversation, Event::BookingCreated).await
}

/// `reason`: one of the words that a page offers, never a visitor's own.
pub async fn cancelled(
    tx: &mut Tx<'_>,
    told: &BookingNews<'_>,
    conversation: Option<&Locked>,
    by: &By,
    reason: Option<&str>,
) -> Result<()> {
    if let Some(conversation) = conversation {
        let data = json!({
            "bookingId": told.id,
            "startsAt": written(told.starts_at),
            "endsAt": written(told.ends_at),
            "reason": reason,
        });
        timeline::append(tx, conversation.id, by, "booking-cancelled", data).await?;
    }
    record_for(tx, told, conversation, Event::BookingCancelled).await
}

async fn record_for(
    tx: &mut Tx<'_>,
    told: &BookingNews<'_>,
    conversation: Option<&Locked>,
    event: fn(Booking) -> Event,
) -> Result<()> {
    let place = EventContext {
        audience: conversation.map_or(0, |conversation| conversation.audience),
        livemode: true,
        conversation: conversation.map(|conversation| conversation.id),
        inbox: told.host_name,
    };
    let event = event(Booking {
        booking_id: told.id,
        booking_type_id: told.type_id,
        host_user_id: told.host,
        conversation_id: conversation.map(|conversation| conversation.id),
        starts_at: told.starts_at,
        ends_at: told.ends_at,
    });
    record(tx, place, &event).await?;
    Ok(())
}

/// The host hears that the visitor does not: they may wait for each other in vain.
pub async fn undeliverable(tx: &mut Tx<'_>, booking: &BookingRow) -> Result<()> {
    let Some(address) = &booking.email else { return Ok(()) };
    let when = booking.when(&Zone::named(&booking.host_zone));
    let subject = format!("Your visitor could not be written to: {}", booking.type_name);
    let body = format!(
        "The mail about this booking could not be delivered to {address}.\n\n{}\n{when}\n\nThe booking itself is as it was.",
        booking.type_name
    );
    let notice = Notice { to: booking.host, kind: "booking", subject: &subject, body: &body };
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    notices::write(tx, workspace, now, &random, notice).await
}
