//! Moving a booking: the old row ends and a new one begins in one transaction, so that there is never none and never two. Both
//! share a series, which is one event in calendars, and the sequence rises. Others hear of a cancelled and a created one.

use chrono::{DateTime, Utc};

use crate::bookings::book::{
    Booked, BookingRefusal, New, Visitor, free_hosts, insert, may_be_mailed, next_in_turn,
};
use crate::bookings::mails::{self, BookingMailKind, BookingRecipient};
use crate::bookings::read::{self, BookingRow, BookingState};
use crate::bookings::schedule::Bookable;
use crate::bookings::tell::{self, BookingNews};
use crate::bookings::{cancel, lock};
use rookery_base::error::Result;
use rookery_base::ids::BookingId;
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;

/// How often one booking is moved, so that nobody is mailed without end.
pub const MOST_MOVES: i32 = 20;

/// To another time, with whoever is free then: with the same host, if they are.
pub async fn move_to(
    tx: &mut Tx<'_>,
    bookable: &Bookable,
    booking: &BookingRow,
    starts_at: DateTime<Utc>,
) -> Result<Result<Booked, BookingRefusal>> {
    let id = Some(booking.id);
    if free_hosts(tx, bookable, starts_at, id).await?.is_empty() {
        return Ok(is_there(tx, booking, starts_at).await?.ok_or(BookingRefusal::Taken));
    }
    let conversation = lock::conversation(tx, booking.conversation).await?;
    lock::hosts(tx, bookable.id, Some(booking.host)).await?;
    let old = lock::booking(tx, booking.id).await?;
    if let Some(there) = is_there(tx, booking, starts_at).await? {
        return Ok(Ok(there));
    }
    if old.state != BookingState::Booked || old.starts_at <= tx.now() {
        return Ok(Err(BookingRefusal::Taken));
    }
    if old.sequence >= MOST_MOVES {
        return Ok(Err(BookingRefusal::TooMany));
    }
    let free = free_hosts(tx, bookable, starts_at, id).await?;
    let same = free.iter().find(|host| host.id == old.host);
    let Some(host) = same.or_else(|| next_in_turn(&free)) else { return Ok(Err(BookingRefusal::Taken)) };
    end_as_moved(tx, old.id).await?;
    let new: BookingId = tx.mint();
    let visitor = Visitor {
        name: old.name.clone().unwrap_or_default(),
        email: old.email.clone().unwrap_or_default(),
        note: old.note.clone().unwrap_or_default(),
        answers: old.answers.clone().map(|answers| answers.0).unwrap_or_default(),
        time_zone: old.time_zone.clone().unwrap_or_default(),
    };
    let written = New {
        id: new,
        bookable,
        host: host.id,
        conversation: conversation.as_ref().map(|conversation| conversation.id),
        series: old.series,
        sequence: old.sequence + 1,
        generation: old.generation,
        starts_at,
        visitor: &visitor,
        press: None,
    };
    if !insert(tx, &written).await? {
        return Ok(Err(BookingRefusal::Taken));
    }
    tell::cancelled(tx, &cancel::news_of(&old), conversation.as_ref(), &By::System, Some("moved")).await?;
    let told = BookingNews {
        id: new,
        type_id: bookable.id,
        host: host.id,
        host_name: &host.name,
        starts_at,
        ends_at: starts_at + bookable.rules.length,
    };
    tell::created(tx, &told, conversation.as_ref(), &By::System).await?;
    let withdrawn = mails::withdraw(tx, old.id).await?;
    if host.id != old.host && !(old.sequence == 0 && withdrawn.never_left(BookingRecipient::Host)) {
        let due_at = withdrawn.until.unwrap_or(tx.now()).max(tx.now());
        mails::add(tx, old.id, BookingRecipient::Host, BookingMailKind::Cancellation, due_at).await?;
    }
    mails::invite(tx, new, starts_at, bookable.remind, withdrawn.until).await?;
    if !may_be_mailed(tx, bookable, &visitor.email).await? {
        return Ok(Err(BookingRefusal::TooMuchMail));
    }
    Ok(Ok(Booked { id: new, series: old.series, generation: old.generation }))
}

/// The booking, if it has this time already: a button that was pressed twice moves once.
async fn is_there(tx: &mut Tx<'_>, booking: &BookingRow, starts_at: DateTime<Utc>) -> Result<Option<Booked>> {
    let workspace = tx.workspace();
    let newest = read::newest(tx, workspace, booking.series).await?;
    let there = newest.filter(|own| own.state == BookingState::Booked && own.starts_at == starts_at);
    Ok(there.map(|own| Booked { id: own.id, series: own.series, generation: own.generation }))
}

async fn end_as_moved(tx: &mut Tx<'_>, id: BookingId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update bookings set state = 'moved', ended_at = $3, ended_by = 'visitor' where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
