//! Booking a time: look whether it is free, lock the hosts, look again, insert. Of many who want the same time one gets it and
//! the others are told that it is taken; the constraint of the table has the last word (D276). The booking, its event, its
//! place in the timeline and the mail that is to leave are one commit.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::types::PgRange;
use sqlx::types::Json;

use crate::bookings::free_times::Host;
use crate::bookings::questions::BookingAnswer;
use crate::bookings::schedule::{self, Bookable};
use crate::bookings::tell::{self, BookingNews};
use crate::bookings::{lock, mails};
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, ConversationId, PersonId};
use rookery_base::limits::stranger_mail::{self, StrangerMail};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;

/// Bookings of one type that an address has ahead of it at the same time.
pub const MOST_UPCOMING: i64 = 5;
/// Bookings of one type that an address makes within an hour, whatever became of them.
pub const MOST_AN_HOUR: i64 = 10;

/// Who books, in their own words.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub name: String,
    /// In lower case. Whoever calls `book` knows that it is theirs.
    pub email: String,
    pub note: String,
    pub answers: Vec<BookingAnswer>,
    pub time_zone: String,
}

#[derive(Clone, Debug)]
pub struct WantedBooking<'a> {
    pub bookable: &'a Bookable,
    pub starts_at: DateTime<Utc>,
    pub visitor: Visitor,
    pub conversation: Option<ConversationId>,
    /// Names the form, so that its button pressed twice is one booking.
    pub press: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booked {
    pub id: BookingId,
    pub series: BookingId,
    pub generation: i32,
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookingRefusal {
    /// Somebody else has it, or it cannot be booked any more.
    Taken,
    /// The address has as many ahead of it as it may.
    TooMany,
    /// So much mail about bookings leaves that no more may, of the page or to the address. Nothing may be committed.
    TooMuchMail,
}

pub async fn book(tx: &mut Tx<'_>, wanted: &WantedBooking<'_>) -> Result<Result<Booked, BookingRefusal>> {
    if let Some(booked) = pressed(tx, wanted).await? {
        return Ok(Ok(booked));
    }
    // Most who come too late end here, and wait for nobody.
    if nobody_has_room(tx, wanted).await?
        || free_hosts(tx, wanted.bookable, wanted.starts_at, None).await?.is_empty()
    {
        return Ok(Err(BookingRefusal::Taken));
    }
    let conversation = lock::conversation(tx, wanted.conversation).await?;
    lock::hosts(tx, wanted.bookable.id, None).await?;
    if let Some(booked) = pressed(tx, wanted).await? {
        return Ok(Ok(booked));
    }
    let free = free_hosts(tx, wanted.bookable, wanted.starts_at, None).await?;
    let Some(host) = next_in_turn(&free) else { return Ok(Err(BookingRefusal::Taken)) };
    if has_too_many(tx, wanted).await? {
        return Ok(Err(BookingRefusal::TooMany));
    }
    let id: BookingId = tx.mint();
    let new = New {
        id,
        bookable: wanted.bookable,
        host: host.id,
        conversation: conversation.as_ref().map(|conversation| conversation.id),
        series: id,
        sequence: 0,
        generation: 0,
        starts_at: wanted.starts_at,
        visitor: &wanted.visitor,
        press: Some(wanted.press),
    };
    if !insert(tx, &new).await? {
        return Ok(Err(BookingRefusal::Taken));
    }
    let told = BookingNews {
        id,
        type_id: wanted.bookable.id,
        host: host.id,
        host_name: &host.name,
        starts_at: wanted.starts_at,
        ends_at: wanted.starts_at + wanted.bookable.rules.length,
    };
    tell::created(tx, &told, conversation.as_ref(), &By::System).await?;
    mails::invite(tx, id, wanted.starts_at, wanted.bookable.remind, None).await?;
    if !may_be_mailed(tx, wanted.bookable, &wanted.visitor.email).await? {
        return Ok(Err(BookingRefusal::TooMuchMail));
    }
    Ok(Ok(Booked { id, series: id, generation: 0 }))
}

/// Counts what the visitor is mailed; what was offered to somebody reaches them as a stranger too.
pub(super) async fn may_be_mailed(tx: &mut Tx<'_>, bookable: &Bookable, address: &str) -> Result<bool> {
    let mail = StrangerMail::Booking { page: bookable.id.0, address };
    Ok(stranger_mail::count(tx, mail).await?.is_ok())
}

/// Whether every host has something else at this time: one statement for what most who come too late meet.
async fn nobody_has_room(tx: &mut Tx<'_>, wanted: &WantedBooking<'_>) -> Result<bool> {
    let workspace = tx.workspace().0;
    let held = wanted.bookable.rules.held(wanted.starts_at);
    Ok(sqlx::query_scalar!(
        r#"select not exists (
               select from booking_type_hosts of where of.workspace_id = $1 and of.type_id = $2
                 and not exists (select from bookings b
                     where b.workspace_id = $1 and b.host_id = of.person_id and b.state = 'booked'
                       and b.starts_at between $3::timestamptz - interval '1 day' and $4::timestamptz + interval '1 day'
                       and b.held && tstzrange($3, $4))) as "nobody!""#,
        workspace,
        wanted.bookable.id.0,
        held.from,
        held.to
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Those who are free at this time, as it is now.
pub(super) async fn free_hosts(
    tx: &mut Tx<'_>,
    bookable: &Bookable,
    starts_at: DateTime<Utc>,
    moved: Option<BookingId>,
) -> Result<Vec<Host>> {
    let now = tx.now();
    schedule::free_at(tx, bookable, now, starts_at, moved).await
}

/// Of several who are free, whoever was booked longest ago.
pub(super) fn next_in_turn(free: &[Host]) -> Option<&Host> {
    free.iter().min_by_key(|host| (host.last_booked_at, host.id))
}

/// What this very form has booked already. A page asks too, which cannot prove the address a second time.
pub async fn pressed(tx: &mut Tx<'_>, wanted: &WantedBooking<'_>) -> Result<Option<Booked>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_as!(
        Booked,
        r#"select id as "id: BookingId", series_id as "series: BookingId", link_generation as generation from bookings
           where workspace_id = $1 and email = $2 and type_id = $3 and starts_at = $4 and press = $5
             and sequence = 0 and $5 <> ''"#,
        workspace,
        wanted.visitor.email,
        wanted.bookable.id.0,
        wanted.starts_at,
        wanted.press
    )
    .fetch_optional(&mut **tx)
    .await?)
}

async fn has_too_many(tx: &mut Tx<'_>, wanted: &WantedBooking<'_>) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let ahead = sqlx::query_scalar!(
        r#"select count(*) as "ahead!" from bookings
           where workspace_id = $1 and email = $2 and type_id = $3 and state = 'booked' and ends_at > $4"#,
        workspace,
        wanted.visitor.email,
        wanted.bookable.id.0,
        now
    )
    .fetch_one(&mut **tx)
    .await?;
    // Whoever books and lets go in turn keeps times from others and mails the host without end.
    let lately = sqlx::query_scalar!(
        r#"select count(*) as "lately!" from bookings
           where workspace_id = $1 and email = $2 and type_id = $3 and sequence = 0 and created_at > $4"#,
        workspace,
        wanted.visitor.email,
        wanted.bookable.id.0,
        now - TimeDelta::hours(1)
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(ahead >= MOST_UPCOMING || lately >= MOST_AN_HOUR)
}

/// A booking that is about to be written.
pub(super) struct New<'a> {
    pub id: BookingId,
    pub bookable: &'a Bookable,
    pub host: PersonId,
    pub conversation: Option<ConversationId>,
    pub series: BookingId,
    pub sequence: i32,
    pub generation: i32,
    pub starts_at: DateTime<Utc>,
    pub visitor: &'a Visitor,
    pub press: Option<&'a str>,
}

/// False when somebody has the time after all.
pub(super) async fn insert(tx: &mut Tx<'_>, new: &New<'_>) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let held = new.bookable.rules.held(new.starts_at);
    let inserted = sqlx::query!(
        "with made as (
             insert into bookings (workspace_id, id, type_id, host_id, conversation_id, series_id, sequence, starts_at,
                 ends_at, held, name, email, note, answers, time_zone, link_generation, press, created_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
             on conflict do nothing returning host_id)
         update booking_type_hosts of set last_booked_at = $18 from made
         where of.workspace_id = $1 and of.type_id = $3 and of.person_id = made.host_id",
        workspace,
        new.id.0,
        new.bookable.id.0,
        new.host.0,
        new.conversation.map(|id| id.0),
        new.series.0,
        new.sequence,
        new.starts_at,
        new.starts_at + new.bookable.rules.length,
        PgRange::from(held.from..held.to),
        new.visitor.name,
        new.visitor.email,
        new.visitor.note,
        Json(&new.visitor.answers) as _,
        new.visitor.time_zone,
        new.generation,
        new.press,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(inserted.rows_affected() == 1)
}
