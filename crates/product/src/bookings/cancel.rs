//! Cancelling a booking: by the visitor's private link, by the host, or by what the visitor's calendar program answered
//! (D276). A visitor has ten minutes to take it back, in which the time is kept and no mail leaves; everybody else's word
//! is final.

use crate::bookings::mails;
use crate::bookings::read::{BookingRow, BookingState};
use crate::bookings::schedule::{self, TAKE_BACK};
use crate::bookings::tell::{self, BookingNews};
use crate::bookings::{lock, read};
use rookery_base::error::{Error, Result};
use rookery_base::ids::BookingId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::workspace::access::By;

/// Why a visitor cancels: what the page offers.
pub const REASONS: [&str; 3] = ["time", "solved", "other"];

/// Longest reason of a host, which the visitor reads.
pub const LONGEST_REASON: usize = 500;

/// By the private link. False when there is nothing to cancel any more.
pub async fn by_visitor(tx: &mut Tx<'_>, id: BookingId, reason: &str) -> Result<bool> {
    let reason = REASONS.iter().find(|own| **own == reason).copied().unwrap_or("other");
    end(tx, id, "visitor", &By::System, Some(reason)).await
}

/// By somebody of the team; whoever calls this knows that they may. `reason` stands in the mail to the visitor. A booking that is
/// over, moved or cancelled is a conflict.
pub async fn by_host(tx: &mut Tx<'_>, by: &By, id: BookingId, reason: Option<&str>) -> Result<()> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        return Err(Error::problem("reason", format!("is longer than {LONGEST_REASON} characters")));
    }
    if end(tx, id, "host", by, reason).await? {
        Ok(())
    } else {
        Err(Error::Conflict("This booking has been cancelled, moved or is over.".to_owned()))
    }
}

/// By a calendar program that declined. False when there is nothing to cancel any more.
pub async fn by_reply(tx: &mut Tx<'_>, id: BookingId) -> Result<bool> {
    end(tx, id, "reply", &By::System, None).await
}

async fn end(tx: &mut Tx<'_>, id: BookingId, ended_by: &str, by: &By, reason: Option<&str>) -> Result<bool> {
    let workspace = tx.workspace();
    let seen = read::find(tx, workspace, id).await?.ok_or(read::NO_BOOKING)?;
    let conversation = lock::conversation(tx, seen.conversation).await?;
    let booking = lock::booking(tx, id).await?;
    let now = tx.now();
    if booking.state != BookingState::Booked || booking.ends_at <= now {
        return Ok(false);
    }
    sqlx::query!(
        "update bookings set state = 'cancelled', ended_at = $3, ended_by = $4, reason = $5
         where workspace_id = $1 and id = $2",
        workspace.0,
        id.0,
        now,
        ended_by,
        reason
    )
    .execute(&mut **tx)
    .await?;
    // A host's own words are for the visitor, and are not told to apps or timelines.
    let told_reason = reason.filter(|_| ended_by == "visitor");
    tell::cancelled(tx, &news_of(&booking), conversation.as_ref(), by, told_reason).await?;
    // As long as it can be taken back nobody is told, but a host who would wait in vain is.
    let due_at = if ended_by == "visitor" { (now + TAKE_BACK).min(booking.starts_at).max(now) } else { now };
    mails::cancel(tx, &booking, due_at).await?;
    Ok(true)
}

/// The visitor takes a cancellation back. False when it is too late.
pub async fn take_back(tx: &mut Tx<'_>, id: BookingId) -> Result<bool> {
    let workspace = tx.workspace();
    let seen = read::find(tx, workspace, id).await?.ok_or(read::NO_BOOKING)?;
    let conversation: Option<Locked> = lock::conversation(tx, seen.conversation).await?;
    lock::hosts(tx, seen.type_id, Some(seen.host)).await?;
    let booking = lock::booking(tx, id).await?;
    if booking.state == BookingState::Booked {
        return Ok(true);
    }
    let now = tx.now();
    let in_time = can_take_back(&booking, now);
    if !in_time || booking.starts_at <= now || !mails::uncancel(tx, id).await? {
        return Ok(false);
    }
    sqlx::query!(
        "update bookings set state = 'booked', ended_at = null, ended_by = null, reason = null, is_back = true
         where workspace_id = $1 and id = $2",
        workspace.0,
        id.0
    )
    .execute(&mut **tx)
    .await?;
    tell::created(tx, &news_of(&booking), conversation.as_ref(), &By::System).await?;
    let remind =
        schedule::of_type(tx, workspace, booking.type_id).await?.and_then(|bookable| bookable.remind);
    mails::invite(tx, id, booking.starts_at, remind, None).await?;
    Ok(true)
}

/// Whether the visitor's ten minutes are not over. Once is enough: every time tells everybody.
pub fn can_take_back(booking: &BookingRow, now: chrono::DateTime<chrono::Utc>) -> bool {
    booking.state == BookingState::Cancelled
        && !booking.is_back
        && booking.ended_by.as_deref() == Some("visitor")
        && booking.ended_at.is_some_and(|ended_at| ended_at + TAKE_BACK > now)
}

pub(super) fn news_of(booking: &BookingRow) -> BookingNews<'_> {
    BookingNews {
        id: booking.id,
        type_id: booking.type_id,
        host: booking.host,
        host_name: &booking.host_name,
        starts_at: booking.starts_at,
        ends_at: booking.ends_at,
    }
}
