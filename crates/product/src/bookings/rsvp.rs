//! What a calendar program answered to an invitation (RFC 5546). It counts when it names the newest invitation of a booking
//! that still stands and comes from the very address that was invited; whoever calls this knows that the sender is who it
//! says. What the visitor accepts is kept with the booking; whoever of the two declines cancels it.

use crate::bookings::read::{self, BookingState};
use crate::bookings::{cancel, invitation};
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, ConversationId};
use rookery_base::store::db::Tx;
use rookery_reading::calendar::{Reply, RsvpAnswer};

/// An answer that counts.
#[derive(Clone, Copy, Debug)]
pub struct HeardAnswer {
    pub booking: BookingId,
    pub conversation: Option<ConversationId>,
    said: RsvpAnswer,
    is_hosts: bool,
}

/// The booking that an answer is about. `mail_name` is what our UIDs end with.
pub async fn find(
    tx: &mut Tx<'_>,
    mail_name: &str,
    reply: &Reply,
    sender: &str,
) -> Result<Option<HeardAnswer>> {
    let Some((series, host)) = invitation::series_of(&reply.uid, mail_name) else { return Ok(None) };
    let (workspace, now) = (tx.workspace(), tx.now());
    let Some(booking) = read::newest(tx, workspace, series).await? else { return Ok(None) };
    let counts = booking.state == BookingState::Booked
        && booking.ends_at > now
        && i64::from(booking.sequence) == reply.sequence
        && reply.attendee == sender
        && match host {
            Some(host) => booking.host == host && booking.host_email.eq_ignore_ascii_case(sender),
            None => booking.email.as_deref() == Some(sender),
        };
    let heard = HeardAnswer {
        booking: booking.id,
        conversation: booking.conversation,
        said: reply.said,
        is_hosts: host.is_some(),
    };
    Ok(counts.then_some(heard))
}

pub async fn apply(tx: &mut Tx<'_>, heard: HeardAnswer) -> Result<()> {
    let said = match heard.said {
        RsvpAnswer::Accepted | RsvpAnswer::Tentative if heard.is_hosts => return Ok(()),
        RsvpAnswer::Accepted => "accepted",
        RsvpAnswer::Tentative => "tentative",
        RsvpAnswer::Declined => {
            // Somebody may have been quicker; then there is nothing to cancel.
            cancel::by_reply(tx, heard.booking).await?;
            return Ok(());
        }
    };
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update bookings set rsvp = $3 where workspace_id = $1 and id = $2 and state = 'booked'",
        workspace,
        heard.booking.0,
        said
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
