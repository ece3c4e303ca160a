//! Asking a customer again for a document that will not do (D165): the item is refused and the mail that says so is written,
//! in one commit. It is the person's own mail: it leaves after the undo window, to whom the request itself went.

use crate::documents::items::ItemRefusal;
use crate::documents::phrases::AskPhrase;
use crate::documents::uploads::again::{self, RepeatRequest};
use crate::documents::uploads::decide::{self, Decision};
use crate::replies::suppress;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentRequestId, MessageId, RequestItemId};
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::outbound::{self, Addressed, Outbound};
use rookery_core::conversations::messages::sending::{self, MessageRecipient};
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::Person;
use rookery_reading::text;

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
    request: DocumentRequestId,
    item: RequestItemId,
    why: ItemRefusal,
    words: &str,
) -> Result<Asking> {
    let words = text::lines(words);
    if words.chars().count() > MOST_WORDS {
        return Err(Error::problem("words", format!("write at most {MOST_WORDS} characters")));
    }
    let (request, wanted) = decide::decide(tx, person, request, item, Decision::Refuse(why)).await?;
    let conversation = &request.conversation;
    let asked = match request.message {
        Some(message) => sending::recipients(tx, conversation, message).await?,
        None => Vec::new(),
    };
    let nobody = || Error::Conflict("There is no address any more to ask: nothing was changed.".into());
    let address = asked.iter().find_map(MessageRecipient::visible_address).ok_or_else(nobody)?;
    if suppress::is_suppressed(tx, conversation.livemode(), address).await? {
        let barred = "This address can’t be emailed any more: an email bounced, or the recipient reported spam. Nothing was changed.";
        return Err(Error::Conflict(barred.into()));
    }
    mailboxes::must_send(tx, conversation.mailbox_id, "body").await?;
    let written = opening(request.language.unwrap_or_default(), &wanted.label, why, words.trim());
    let again = RepeatRequest::new(&request);
    let whole = again.under(&written, &again.link(app, tx.workspace())?);
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
    again::note(tx, request.id, item, message).await?;
    Ok(Asking { conversation: conversation.id, message })
}

fn opening(language: Language, label: &str, why: ItemRefusal, words: &str) -> String {
    let why = match why {
        ItemRefusal::Unreadable => AskPhrase::Unreadable,
        ItemRefusal::Incomplete => AskPhrase::Incomplete,
        ItemRefusal::Wrong => AskPhrase::Wrong,
    };
    let gap = if words.is_empty() { "" } else { "\n\n" };
    format!("{}{gap}{words}", language.fill(why, &[("label", label)]))
}
