//! Sending what a person wrote: the draft's row becomes the message in one transaction, so a kill in between loses nothing
//! and sends nothing twice. Whoever comes with the same draft again is told what it became.
//!
//! It stops when something came that its writer has not seen, when another page has newer words, and when it is not ready.

use chrono::{DateTime, TimeDelta, Utc};

use crate::replies::crossing;
use crate::replies::draft_end::{self, Fate};
use crate::replies::drafts::{self, Draft, DraftKind, NO_DRAFT};
use crate::replies::ready::{self, Ready};
use crate::replies::secure::{self, Prepared};
use crate::replies::write::{Destination, NewReply, write_to};
use rookery_base::app::App;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{ConversationId, DraftId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::assign::{self, To};
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::messages::{html, outbound};
use rookery_core::conversations::secure::page::Way;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::{notes, start, transitions};
use rookery_core::workspace::inbox_settings::{self, senders};
use rookery_core::workspace::people::Person;
use rookery_core::workspace::preferences::undo_window;

/// How far ahead a message can be sent later.
const FURTHEST: TimeDelta = TimeDelta::days(366);

/// A click on one of the buttons that send.
#[derive(Clone, Copy, Debug)]
pub struct Click {
    pub draft: DraftId,
    /// Of the words that the writer saw when they clicked.
    pub version: i32,
    pub close: bool,
    /// Instead of after the writer's undo window.
    pub at: Option<DateTime<Utc>>,
    /// The form said that it goes as a secure link, opened so. Nothing that said so ever leaves as an ordinary mail.
    pub secure: Option<Way>,
}

#[derive(Debug)]
pub enum SendOutcome {
    Sent(SentReply),
    /// The same click came before.
    Already(SentReply),
    /// Something came that the writer has not seen.
    Crossed {
        conversation: ConversationId,
    },
    NotReady(Vec<Problem>),
    /// Another page has newer words.
    Newer,
    /// It was thrown away in another page.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentReply {
    pub conversation: ConversationId,
    pub what: SentItem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentItem {
    Message(MessageId),
    Note,
}

/// `secure` is what was prepared for a draft that goes as a secure link.
pub async fn send(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    click: Click,
    secure: Option<&Prepared>,
) -> Result<SendOutcome> {
    let keys = tx.frame().keys.clone();
    // The conversation is locked before the draft, as everybody does; so it is looked up first.
    let conversation = match drafts::read(tx, keys.as_deref(), person, click.draft).await? {
        Some(Draft { conversation: Some(id), .. }) => Some(lock_visible(tx, person, &id.to_string()).await?),
        _ => None,
    };
    let fate = draft_end::lock(tx, person, click.draft).await?;
    if let Some(became) = fate.became {
        return Ok(already(&fate, became));
    }
    let draft = drafts::read(tx, keys.as_deref(), person, click.draft).await?.ok_or(NO_DRAFT)?;
    if draft.conversation != conversation.as_ref().map(|conversation| conversation.id) {
        return Ok(SendOutcome::Newer);
    }
    if fate.version != click.version || draft.words.way() != click.secure {
        return Ok(SendOutcome::Newer);
    }
    // What was sealed is what the draft has now, and only a secure draft was sealed.
    let secure = secure.filter(|_| draft.words.secure);
    if draft.words.secure && !secure.is_some_and(|secure| secure.is_of(&draft)) {
        return Ok(SendOutcome::Newer);
    }
    if !draft.words.from.is_empty() {
        // What is found now is still true when the message is written.
        senders::hold(tx, &draft.words.from).await?;
    }
    let ready =
        match ready::check(tx, app.config.secret_key.as_ref(), person, &draft, conversation.as_deref())
            .await?
        {
            Ok(ready) => ready,
            Err(problems) => return Ok(SendOutcome::NotReady(problems)),
        };
    if let Some(wrong) = click.at.and_then(|at| cannot_wait_until(tx.now(), at)) {
        return Ok(SendOutcome::NotReady(vec![wrong]));
    }
    let (sent, became) = match conversation {
        Some(conversation) => {
            let workspace = tx.workspace();
            // A note crosses nothing: nobody outside gets it.
            if draft.kind != DraftKind::Note
                && !crossing::since(tx, workspace, &conversation, draft.words.seen).await?.is_empty()
            {
                return Ok(SendOutcome::Crossed { conversation: conversation.id });
            }
            let content = Content { kind: draft.kind, ready, secure };
            write(app, tx, person, &conversation, content, click).await?
        }
        None => {
            let Some(mailbox) = &ready.mailbox else {
                return Err(Error::internal("a mail that is ready has an inbox"));
            };
            let subject = ready.addressed.subject.clone().unwrap_or_default();
            let started = start::start(tx, mailbox, &ready.contact, &subject).await?;
            let content = Content { kind: draft.kind, ready, secure };
            write(app, tx, person, &started, content, click).await?
        }
    };
    draft_end::promote(tx, draft.id, sent.conversation, became).await?;
    if secure.is_some() {
        secure::doom_plain(tx, &draft).await?;
    }
    Ok(SendOutcome::Sent(sent))
}

fn already(fate: &Fate, became: i64) -> SendOutcome {
    match (fate.conversation, became) {
        (Some(conversation), became) if became != 0 => {
            let what = match fate.kind {
                DraftKind::Note => SentItem::Note,
                _ => SentItem::Message(MessageId(became)),
            };
            SendOutcome::Already(SentReply { conversation, what })
        }
        _ => SendOutcome::Gone,
    }
}

pub(super) fn cannot_wait_until(now: DateTime<Utc>, at: DateTime<Utc>) -> Option<Problem> {
    let what = match at - now {
        ahead if ahead <= TimeDelta::zero() => "That time has passed. Choose a later one.",
        ahead if ahead > FURTHEST => "Choose a time within a year.",
        _ => return None,
    };
    Some(Problem { field: "at".into(), what: what.into() })
}

/// What is sent of a draft that was found ready.
struct Content<'a> {
    kind: DraftKind,
    ready: Ready,
    /// What was sealed, when it goes as a secure link.
    secure: Option<&'a Prepared>,
}

async fn write(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: &Locked,
    content: Content<'_>,
    click: Click,
) -> Result<(SentReply, i64)> {
    let Content { kind, ready, secure } = content;
    let done = |what| SentReply { conversation: conversation.id, what };
    if kind == DraftKind::Note {
        let note = notes::add(tx, conversation, person, &ready.body).await?;
        return Ok((done(SentItem::Note), note.0));
    }
    let longest = app.config.undo_window(conversation.livemode());
    // Nothing leaves before its writer can take it back.
    let soonest = tx.now() + undo_window(tx, person.id, longest).await?;
    let sends_at = click.at.map_or(soonest, |at| at.max(soonest));
    let message = match secure {
        Some(prepared) => secure::write(tx, person, conversation, ready, prepared, sends_at).await?,
        None => {
            let to = ready.addressed.to.first().cloned().unwrap_or_default();
            let reply = NewReply { body: &ready.body, summary: None, asks: ready.asks, send: true };
            let destination = Destination { addressed: Some(&ready.addressed), to };
            let written = write_to(app, tx, conversation, person, reply, destination, Some(sends_at)).await?;
            if !ready.html.is_empty() {
                let signature = ready.formatted_signature.as_deref();
                html::keep_formatting(tx, written.message, &ready.html, signature).await?;
            }
            written.message
        }
    };
    outbound::mark_composed(tx, conversation, message).await?;
    if conversation.assignee.is_none()
        && inbox_settings::assigns_on_reply(tx, conversation.mailbox_id).await?
    {
        assign::assign(tx, conversation, person, To::Me).await?;
    }
    if click.close {
        transitions::set_status(tx, conversation, person, Status::Closed).await?;
    }
    Ok((done(SentItem::Message(message)), message.0))
}
