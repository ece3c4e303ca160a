//! Asking a customer again for a document that will not do (D165): the item is refused and the mail that says so is written,
//! in one commit. It is the person's own mail: it leaves after the undo window, to whom the request itself went.

use crate::app::App;
use crate::conversations::messages::outbound::{self, Addressed, Outbound};
use crate::conversations::messages::sending::{self, Recipient};
use crate::documents::items::Refused;
use crate::documents::uploads::again::{self, Again};
use crate::documents::uploads::decide::{self, Decision};
use crate::error::{Error, Result};
use crate::ids::{ConversationId, DocumentRequestId, MessageId, RequestItemId};
use crate::replies::suppress;
use crate::store::db::Tx;
use crate::text;
use crate::workspace::people::Person;

/// Of what a person adds.
pub const MOST_WORDS: usize = 2000;

/// The mail that asks, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    pub conversation: ConversationId,
    pub message: MessageId,
}

pub async fn ask_again(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    (request, item): (DocumentRequestId, RequestItemId),
    why: Refused,
    words: &str,
) -> Result<Asking> {
    let words = text::lines(words);
    if words.chars().count() > MOST_WORDS {
        return Err(Error::problem("words", format!("write at most {MOST_WORDS} characters")));
    }
    let wanted = (request, item);
    let (request, item) = decide::decide(tx, person, wanted, Decision::Refuse(why)).await?;
    let conversation = &request.conversation;
    let asked = match request.message {
        Some(message) => sending::recipients(tx, conversation, message).await?,
        None => Vec::new(),
    };
    let nobody = || Error::Conflict("There is no address any more to ask: nothing was changed.".into());
    let address = asked.iter().find_map(Recipient::told).ok_or_else(nobody)?;
    if suppress::is_suppressed(tx, conversation.livemode(), address).await? {
        let barred = "This address is not written to any more: mail to it failed, or its owner complained. Nothing was changed.";
        return Err(Error::Conflict(barred.into()));
    }
    let written = opening(&item.label, why, words.trim());
    let whole = Again::of(request.id, request.generation).with_link(app, tx, &written)?;
    let is_contact = conversation.contact.email.as_deref() == Some(address);
    let addressed = (!is_contact).then(|| Addressed { to: vec![address.to_owned()], ..Addressed::default() });
    let message: MessageId = tx.mint();
    let mail = Outbound {
        message,
        author: person.member.into(),
        text: &whole,
        written: Some(&written),
        summary: None,
        sends_at: Some(tx.now() + app.config.undo_window(conversation.livemode())),
        addressed: addressed.as_ref(),
    };
    outbound::add(tx, conversation, mail).await?;
    again::note(tx, wanted, message).await?;
    Ok(Asking { conversation: conversation.id, message })
}

fn opening(label: &str, why: Refused, words: &str) -> String {
    let why = match why {
        Refused::Unreadable => "we could not read it",
        Refused::Incomplete => "something in it is missing",
        Refused::Wrong => "it is another document",
    };
    let gap = if words.is_empty() { "" } else { "\n\n" };
    format!(
        "Hello,\n\nthank you for what you sent us for “{label}”. Unfortunately {why}. Please send it again.{gap}{words}"
    )
}
