//! Deletes one conversation for good: its mail, files, notes and documents. Afterwards it is the same 404 as one that never
//! was. A hold refuses it.

use serde_json::json;

use crate::bookings::forget as bookings;
use crate::conversations::keeping::{forget, holds};
use crate::conversations::lock::lock_visible;
use crate::documents::forget as documents;
use crate::error::{Error, Result};
use crate::ids::ConversationId;
use crate::replies::drafts::erase as drafts;
use crate::store::db::Tx;
use crate::store::doomed_files as files;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::Person;

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
            "A hold stands against it: {name}. End the hold first, in Settings, Data and erasure."
        )));
    }
    let now = tx.now();
    if bookings::is_booked(tx, workspace, id, now).await? {
        return Err(Error::Conflict(
            "A time is booked in it that is still to come. Cancel it first, on the Bookings page.".to_owned(),
        ));
    }
    bookings::of_conversations(tx, &[id]).await?;
    let filed = documents::forget(tx, &[id], &[]).await?;
    let written = drafts::in_conversations(tx, &[id]).await?;
    let taken = forget::remove(tx, &[id]).await?;
    files::doom(tx, &[filed.blobs, written, taken.blobs].concat()).await?;
    let data = json!({ "messages": taken.messages, "documents": filed.documents });
    let subject = Subject { id: &id, name: &id.to_string() };
    audit::record(tx, &person.by(), Did::ConversationDeleted, subject, data).await?;
    Ok(id)
}
