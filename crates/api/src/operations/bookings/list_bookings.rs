//! `GET /bookings`: what is booked and not over, soonest first. As thin as the events: ids and times, nothing of the visitor
//! (docs/decisions/bookings-in-the-api.md). Who books out of a conversation is read there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Call, Nothing, Operation, Spec};
use crate::operations::list_conversations::default_limit;
use crate::wire::Timestamp;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, BookingTypeId, ConversationId, PersonId};
use rookery_base::store::db::Reading;
use rookery_product::bookings::read::{BookingReader, BookingRow, upcoming};

pub struct ListBookings;

#[derive(Deserialize, JsonSchema)]
pub struct ListBookingsInput {
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingBooking {
    id: BookingId,
    booking_type_id: BookingTypeId,
    host_user_id: PersonId,
    /// The conversation in which the times were offered; null when it was booked on the public page.
    conversation_id: Option<ConversationId>,
    starts_at: Timestamp,
    ends_at: Timestamp,
    /// What the visitor's calendar program answered, `accepted` or `tentative`; null while it has not. New answers may be
    /// added.
    rsvp: Option<String>,
}

impl Operation for ListBookings {
    const SPEC: Spec = Spec {
        title: "List bookings",
        about: "Bookings that are not over, soonest first, of conversations this key can see and of none. Empty for test keys.",
        ..Spec::read("list_bookings", "/bookings")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = ListBookingsInput;
    type Output = Vec<UpcomingBooking>;

    async fn run(
        call: &mut Call<'_, Reading>,
        _: Nothing,
        input: ListBookingsInput,
    ) -> Result<Vec<UpcomingBooking>> {
        let (actor, now) = (call.actor, call.now());
        if !actor.livemode {
            return Ok(Vec::new());
        }
        let audiences = actor.audiences();
        let reader = BookingReader { audiences: &audiences, person: None };
        let found = upcoming(&mut call.db, actor.workspace, now, None, reader, None, input.limit).await?;
        Ok(found.into_iter().map(UpcomingBooking::from).collect())
    }
}

impl From<BookingRow> for UpcomingBooking {
    fn from(row: BookingRow) -> Self {
        Self {
            id: row.id,
            booking_type_id: row.type_id,
            host_user_id: row.host,
            conversation_id: row.conversation,
            starts_at: Timestamp(row.starts_at),
            ends_at: Timestamp(row.ends_at),
            rsvp: row.rsvp,
        }
    }
}
