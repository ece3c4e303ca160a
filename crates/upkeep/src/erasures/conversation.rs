//! Deletes one conversation for good: its mail, files, notes and documents. Afterwards it is the same 404 as one that never
//! was. A hold refuses it. A very long one lies in the trash until it is gone, part by part: a hold, new mail or taking it out
//! keeps what is left.

use serde_json::json;

use rookery_base::error::{Error, Result};
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files as files;
use rookery_core::conversations::keeping::parts::{self, ALLOWED};
use rookery_core::conversations::keeping::{forget, holds, retention};
use rookery_core::conversations::lock::lock_visible;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::people::Person;
use rookery_product::bookings::forget as bookings;
use rookery_product::documents::forget as documents;
use rookery_product::replies::drafts::erase as drafts;

/// Only what the person can see: a private inbox of somebody else is not theirs to empty.
pub async fn delete(tx: &mut Tx<'_>, person: &Person, id: &str) -> Result<ConversationId> {
    if !person.role.administers() {
        return Err(Error::Forbidden("Only owners and admins delete conversations.".to_owned()));
    }
    holds::alone(tx).await?;
    let conversation = lock_visible(tx, person, id).await?;
    let (workspace, id) = (tx.workspace(), conversation.id);
    if let Some(name) = holds::on(tx, workspace, id).await?.first() {
        return Err(Error::Conflict(format!(
            "A hold prevents this: {name}. End the hold first, in Settings, Data and erasure."
        )));
    }
    let now = tx.now();
    if bookings::is_booked(tx, workspace, id, now).await? {
        return Err(Error::Conflict(
            "A time is booked in it that is still to come. Cancel it first, on the Bookings page.".to_owned(),
        ));
    }
    if parts::fitting(tx, &[id], ALLOWED).await? == 0 {
        // The worker takes it away, part by part.
        retention::delete_by_hand(tx, id).await?;
        let subject = Subject { id: &id, name: &id.to_string() };
        audit::record(tx, &person.by(), Did::ConversationDeleted, subject, json!({ "inParts": true }))
            .await?;
        return Ok(id);
    }
    bookings::of_conversations(tx, &[id]).await?;
    let filed = documents::forget(tx, &[id], &[], i64::MAX).await?;
    let written = drafts::in_conversations(tx, &[id]).await?;
    let taken = forget::remove(tx, &[id]).await?;
    files::doom(tx, &[filed.blobs, written, taken.blobs].concat()).await?;
    let data = json!({ "messages": taken.messages, "documents": filed.documents });
    let subject = Subject { id: &id, name: &id.to_string() };
    audit::record(tx, &person.by(), Did::ConversationDeleted, subject, data).await?;
    Ok(id)
}
