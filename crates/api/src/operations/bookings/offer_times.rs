//! `POST /conversations/{id}/booking-links`: a link by which the customer of a conversation books a time. It changes nothing
//! and sends nothing: put it into a reply (docs/decisions/bookings-in-the-api.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Call, Needs, Operation, Spec};
use crate::wire::Secret;
use rookery_base::error::Result;
use rookery_base::ids::BookingTypeId;
use rookery_base::store::db::Reading;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::workspace::access::Scope;
use rookery_product::bookings::link::{NO_TYPE, offer_link};
use rookery_product::bookings::types;

pub struct OfferTimes;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferTimesInput {
    /// As list_booking_types names it.
    booking_type_id: String,
}

#[derive(Serialize, JsonSchema)]
pub struct OfferedTimes {
    /// Valid for 30 days, and only for the contact of this conversation: anyone who opens it books as them, without a code.
    url: Secret,
}

impl Operation for OfferTimes {
    const SPEC: Spec = Spec {
        title: "Offer times",
        about: "Gives a private link by which the customer of this conversation books a time. Put it into a reply; nothing is sent by itself. The conversation then shows the booking.",
        needs: Needs::Scope(Scope::Draft),
        secret: true,
        ..Spec::write("offer_times", "/conversations/{id}/booking-links")
    };
    type Db = Reading;
    type Target = Conversation;
    type Input = OfferTimesInput;
    type Output = OfferedTimes;

    async fn run(
        call: &mut Call<'_, Reading>,
        conversation: Conversation,
        input: OfferTimesInput,
    ) -> Result<OfferedTimes> {
        let id: BookingTypeId = input.booking_type_id.parse().map_err(|_| NO_TYPE)?;
        let own = types::find(&mut call.db, call.actor, id).await?;
        let url = offer_link(call.app, &mut call.db, call.actor.workspace, own.id, &conversation).await?;
        Ok(OfferedTimes { url: Secret::shown(call.app, url) })
    }
}
