//! The order in which writers take what they change: the conversation, then hosts by their ids, then the booking. Whoever
//! keeps it never waits in a circle.

use crate::bookings::read::{self, BookingRow, NO_BOOKING};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingId, BookingTypeId, ConversationId, PersonId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::lock_any;

/// The conversation that a booking belongs to; one that is gone meanwhile is none.
pub async fn conversation(tx: &mut Tx<'_>, id: Option<ConversationId>) -> Result<Option<Locked>> {
    let Some(id) = id else { return Ok(None) };
    match lock_any(tx, id).await {
        Err(Error::Missing(_)) => Ok(None),
        locked => locked.map(Some),
    }
}

/// The calendars of everybody who takes a type, and of one more. Until the end nobody else books them.
pub async fn hosts(tx: &mut Tx<'_>, of: BookingTypeId, and: Option<PersonId>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "select person_id from booking_hosts h where workspace_id = $1 and (person_id = $3 or person_id in (
             select person_id from booking_type_hosts where workspace_id = $1 and type_id = $2))
         order by person_id for no key update",
        workspace,
        of.0,
        and.map_or(0, |person| person.0)
    )
    .fetch_all(&mut **tx)
    .await?;
    let now = tx.now();
    tx.waited(now);
    Ok(())
}

/// The booking itself, as the last writer left it.
pub async fn booking(tx: &mut Tx<'_>, id: BookingId) -> Result<BookingRow> {
    let workspace = tx.workspace();
    sqlx::query!(
        "select from bookings where workspace_id = $1 and id = $2 for no key update",
        workspace.0,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_BOOKING)?;
    read::find(tx, workspace, id).await?.ok_or(NO_BOOKING)
}
