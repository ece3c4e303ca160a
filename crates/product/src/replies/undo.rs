//! Stopping a message within its undo window (specification 3.3): it becomes a draft again, so its text is
//! never lost. One conditional update decides between the person and the worker.

use serde_json::json;

use crate::documents::request::{self, Carrier};
use crate::documents::uploads::again;
use crate::replies::drafts::{self, Draft, DraftKind};
use crate::replies::queue::take_over::{TakeOver, take_over};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::conversations::messages::outbound::{self, Ours, lock_message};
use rookery_core::conversations::status::Status;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;
use rookery_core::workspace::people::Person;

/// What came of taking a message back. Too late is an answer, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is a draft again.
    Stopped,
    /// The same, by who had written and sent it.
    StoppedOwn,
    /// Somebody was quicker: it was a draft already.
    Already,
    /// It is on its way, or has arrived or failed.
    TooLate,
}

/// A person stops it. Gives what came of it, and the conversation.
pub async fn undo(tx: &mut Tx<'_>, person: &Person, message: MessageId) -> Result<(Undone, ConversationId)> {
    let (conversation, ours) = lock_message(tx, person, message).await?;
    let undone = if stop(tx, &conversation, &ours, &person.by(), "undo").await? {
        if ours.is_own_of(person) { Undone::StoppedOwn } else { Undone::Stopped }
    } else if ours.status == MessageStatus::Draft {
        Undone::Already
    } else {
        Undone::TooLate
    };
    Ok((undone, conversation.id))
}

/// Where the words of a mail are that its writer took back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBack {
    pub conversation: ConversationId,
    pub kind: DraftKind,
    /// The conversation is closed, perhaps by the very click that sent the mail.
    pub is_closed: bool,
}

/// Puts the words of a mail that its writer stopped back into the composer. Nothing if they have begun another there: its words,
/// recipients and files are not mixed with those of this mail, which stays a draft.
pub async fn write_on(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
) -> Result<Option<TakenBack>> {
    let (conversation, _) = lock_message(tx, person, message).await?;
    let is_closed = conversation.status == Status::Closed;
    let keys = tx.frame().keys.clone();
    let says = |begun: Draft| !begun.words.body.trim().is_empty() || begun.leaving_files().next().is_some();
    for kind in [DraftKind::Reply, DraftKind::Forward] {
        let begun = drafts::of_conversation(tx, keys.as_deref(), person, &conversation, kind).await?;
        if begun.is_some_and(says) {
            return Ok(None);
        }
    }
    Ok(match take_over(app, tx, person, message, None, &[]).await? {
        TakeOver::Over(conversation, kind) => Some(TakenBack { conversation, kind, is_closed }),
        TakeOver::Crossed | TakeOver::Unconfirmed => None,
    })
}

impl Undone {
    /// For whom it must have stopped.
    pub fn must(self) -> Result<()> {
        match self {
            Self::Stopped | Self::StoppedOwn => Ok(()),
            Self::Already => Err(Error::problem("message", "is a draft already")),
            Self::TooLate => Err(Error::problem("message", "is already on its way")),
        }
    }
}

/// False when it is not waiting any more.
pub async fn stop(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: &Ours,
    by: &By,
    reason: &str,
) -> Result<bool> {
    let carrier = Carrier { conversation: conversation.id, message: message.id };
    let workspace = tx.workspace();
    let carried = request::of_message(tx, workspace, carrier).await?;
    let text = match (&carried, &message.written) {
        (Some(carried), Some(written)) => carried.under(written, None),
        (None, Some(written)) if again::of_message(tx, workspace, message.id).await?.is_some() => {
            written.clone()
        }
        _ => message.text.clone(),
    };
    if !outbound::stop(tx, conversation, message.id, &text).await? {
        return Ok(false);
    }
    if let Some(carried) = carried {
        request::withdraw(tx, carried.id).await?;
    }
    let data = json!({ "messageId": message.id, "reason": reason });
    timeline::append(tx, conversation.id, by, "send-stopped", data).await?;
    Ok(true)
}
