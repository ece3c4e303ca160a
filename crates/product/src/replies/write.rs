//! Writing a reply (specification 4.8): the message, its document request and its due time in one commit.
//! It goes to the conversation's contact and to nobody else, unless a person chose whom. Nothing leaves here: a
//! scheduled message is a row with a time, and the worker sends it.

use chrono::{DateTime, Utc};

use crate::documents::phrases::AskPhrase;
use crate::documents::request::{self, Carried, Carrier, RequestForm};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DocumentRequestId, MessageId};
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::messages::outbound::{self, Addressed, Outbound};
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::access::Actor;
use rookery_core::workspace::mailboxes;
use rookery_reading::text;

pub struct NewReply<'a> {
    pub body: &'a str,
    /// One line for the person who approves it.
    pub summary: Option<&'a str>,
    pub asks: Option<RequestForm>,
    /// Leaves after the undo window, instead of waiting for a person.
    pub send: bool,
}

/// Whom a reply goes to.
pub struct Destination<'a> {
    /// Those its writer chose; without it the contact.
    pub addressed: Option<&'a Addressed>,
    /// The first of them.
    pub to: String,
}

#[derive(Debug)]
pub struct WrittenReply {
    pub message: MessageId,
    /// When it leaves; a draft has no such time.
    pub sends_at: Option<DateTime<Utc>>,
    pub request: Option<DocumentRequestId>,
    /// Whom it goes to.
    pub to: String,
}

/// Asks the customer for documents (specification 4.9): a reply whose point is its checklist.
pub async fn ask(
    app: &App,
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    mut asked: RequestForm,
    message: Option<&str>,
    send: bool,
) -> Result<WrittenReply> {
    asked.language = language_of(tx, conversation, &asked).await?;
    let message = message.map(str::trim).filter(|message| !message.is_empty());
    // What is above the checklist when its author writes nothing.
    let polite = asked.language.unwrap_or_default().say(AskPhrase::Polite);
    let reply = NewReply { body: message.unwrap_or(polite), summary: None, asks: Some(asked), send };
    write_to_contact(app, tx, conversation, author, reply, Vec::new()).await
}

/// Replies to the contact. The files are the message's own.
pub async fn write(
    app: &App,
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    reply: NewReply<'_>,
    attachments: Vec<Attachment>,
) -> Result<WrittenReply> {
    let reply = in_language(tx, conversation, reply).await?;
    write_to_contact(app, tx, conversation, author, reply, attachments).await
}

/// The same in a language that is settled.
async fn write_to_contact(
    app: &App,
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    reply: NewReply<'_>,
    attachments: Vec<Attachment>,
) -> Result<WrittenReply> {
    let Some(to) = conversation.contact.email.clone() else {
        return Err(Error::problem("body", "this conversation has no address to reply to"));
    };
    let sends_at = reply.send.then(|| tx.now() + app.config.undo_window(conversation.livemode()));
    let addressed = if attachments.is_empty() {
        None
    } else {
        Some(Addressed { to: vec![to.clone()], attachments, ..Addressed::default() })
    };
    let destination = Destination { addressed: addressed.as_ref(), to };
    put(app, tx, conversation, author, reply, destination, sends_at).await
}

/// The same to whomever its writer chose, at a time of its own.
pub async fn write_to(
    app: &App,
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    reply: NewReply<'_>,
    destination: Destination<'_>,
    sends_at: Option<DateTime<Utc>>,
) -> Result<WrittenReply> {
    let reply = in_language(tx, conversation, reply).await?;
    put(app, tx, conversation, author, reply, destination, sends_at).await
}

async fn put(
    app: &App,
    tx: &mut Tx<'_>,
    conversation: &Locked,
    author: &Actor,
    reply: NewReply<'_>,
    destination: Destination<'_>,
    sends_at: Option<DateTime<Utc>>,
) -> Result<WrittenReply> {
    if sends_at.is_some() {
        mailboxes::must_send(tx, conversation.mailbox_id, "body").await?;
    }
    let message: MessageId = tx.mint();
    let written = text::lines(reply.body);
    let carried = reply.asks.map(|asked| Carried::new(tx, asked));
    let whole = match &carried {
        Some(carried) => {
            let link = sends_at.map(|_| carried.link(app, tx.workspace())).transpose()?;
            Some(carried.under(&written, link.as_deref()))
        }
        None => None,
    };
    let outbound = Outbound {
        message,
        author: author.member.into(),
        text: whole.as_deref().unwrap_or(&written),
        written: whole.as_ref().map(|_| written.as_str()),
        summary: reply.summary.map(text::line),
        sends_at,
        addressed: destination.addressed,
    };
    outbound::add(tx, conversation, outbound).await?;
    if let Some(carried) = &carried {
        let carrier = Carrier { conversation: conversation.id, message };
        request::create(tx, carrier, carried).await?;
    }
    Ok(WrittenReply { message, sends_at, request: carried.map(|carried| carried.id), to: destination.to })
}

/// With the language of what it asks for settled.
async fn in_language<'r>(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    mut reply: NewReply<'r>,
) -> Result<NewReply<'r>> {
    if let Some(asked) = &mut reply.asks {
        asked.language = language_of(tx, conversation, asked).await?;
    }
    Ok(reply)
}

/// The language that was chosen, else the one the customer was asked in before.
async fn language_of(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    asked: &RequestForm,
) -> Result<Option<Language>> {
    match asked.language {
        Some(chosen) => Ok(Some(chosen)),
        None => {
            let workspace = tx.workspace();
            request::language_of(tx, workspace, conversation).await
        }
    }
}
