//! Reminding a customer of documents that are still missing (specification 4.9: days 2, 4 and 7 after the
//! request left). The reminder is mail of the service's own: it has no author and no undo window.

use crate::documents::phrases::AskPhrase;
use crate::documents::request::{self, Due};
use crate::replies::automatic::limit;
use crate::replies::suppress;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::outbound::{self, Addressed, Outbound};
use rookery_core::conversations::messages::sending::{self, MessageRecipient};
use rookery_core::conversations::status::Status;

/// Writes the reminder that is due, to whom the request itself went first: the conversation may have become part of
/// another, with another contact. A closed conversation and an address that must not be written to end the reminders; a
/// customer's mail alone does not, because the documents are still missing. An address that got enough mail of ours for
/// a day is reminded when the day is over.
pub async fn remind(app: &App, tx: &mut Tx<'_>, due: Due) -> Result<()> {
    let conversation = lock_any(tx, due.conversation).await?;
    let asked = match due.message {
        Some(message) => sending::recipients(tx, &conversation, message).await?,
        None => Vec::new(),
    };
    let address = match asked.iter().find_map(MessageRecipient::visible_address) {
        Some(address) if conversation.status != Status::Closed => {
            let suppressed = suppress::is_suppressed(tx, conversation.livemode(), address).await?;
            Some(address).filter(|_| !suppressed)
        }
        _ => None,
    };
    let taken = request::take_reminder(tx, due.request, address.is_some()).await?;
    let (Some(carried), Some(address)) = (taken, address) else { return Ok(()) };
    let link = carried.link(app, tx.workspace())?;
    let opening = carried.language.unwrap_or_default().say(AskPhrase::Reminder);
    let Some(text) = carried.missing_under(opening, &link) else { return Ok(()) };
    if let Err(until) = limit::count(tx, conversation.livemode(), address).await? {
        return request::put_reminder_off(tx, due.request, until).await;
    }
    let is_contact = conversation.contact.email.as_deref() == Some(address);
    let addressed = (!is_contact).then(|| Addressed { to: vec![address.to_owned()], ..Addressed::default() });
    let message = tx.mint();
    request::reminded(tx, due.request, message).await?;
    let reminder = Outbound {
        message,
        author: Author::Service,
        text: &text,
        written: Some(opening),
        summary: None,
        sends_at: Some(tx.now()),
        addressed: addressed.as_ref(),
    };
    outbound::add(tx, &conversation, reminder).await
}
