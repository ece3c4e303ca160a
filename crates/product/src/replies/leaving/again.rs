//! Sending again what could not be delivered: a new message with the same words, recipients and files, which leaves like any
//! reply and can be stopped like one. The old one stays as it is, and its timeline names the new one.
//!
//! Never twice: the conversation is locked, and a message that became another is not sent again unless that one was thrown
//! away. Who sends has been shown what came since.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::documents::request::{self, Carrier, RequestForm};
use crate::replies::crossing::{self, CrossingMail};
use crate::replies::suppress;
use crate::replies::write::{Destination, NewReply, write_to};
use rookery_base::app::App;
use rookery_base::error::{Error, NO_MESSAGE, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_core::conversations::messages::html;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::conversations::messages::outbound::{Addressed, lock_message};
use rookery_core::conversations::timeline::{self, Attachment};
use rookery_core::workspace::people::Person;

pub const SENT_AGAIN: &str = "sent-again";

/// What would be sent again, for the person who decides.
#[derive(Debug)]
pub struct Look {
    pub conversation: ConversationId,
    pub to: Vec<String>,
    /// What came or left after it, and the newest item of the timeline.
    pub news: Vec<CrossingMail>,
    pub seen: i32,
    /// Addresses that must not be written to.
    pub barred: Vec<String>,
    pub is_failed: bool,
    /// It was sent again as this.
    pub became: Option<MessageId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendAgainOutcome {
    Sent(MessageId),
    /// Somebody was quicker.
    Already(MessageId),
    /// Something came that was not shown.
    Crossed,
    NotFailed,
    /// An address of it must not be written to.
    Barred,
}

struct Failed {
    conversation: ConversationId,
    item: i32,
    status: Option<MessageStatus>,
    from: String,
    to: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    bcc: Option<Vec<String>>,
    subject: Option<String>,
    answers: Option<MessageId>,
    forwards: Option<MessageId>,
    attachments: Json<Vec<Attachment>>,
    text: String,
    written: Option<String>,
    signature: Option<String>,
}

async fn read(conn: &mut PgConnection, person: &Person, message: MessageId) -> Result<Failed> {
    sqlx::query_as!(
        Failed,
        r#"select conversation_id as "conversation: ConversationId", item, status as "status: MessageStatus",
               from_email as "from", to_addresses as to, cc_addresses as cc, bcc_addresses as bcc, subject, answers as "answers: MessageId",
               forwards as "forwards: MessageId", attachments as "attachments: Json<Vec<Attachment>>", text, written,
               signature
           from messages where workspace_id = $1 and id = $2 and direction = 'outbound'"#,
        person.workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_MESSAGE)
}

/// As it is now. Hidden, foreign and unknown messages are the same error.
pub async fn load_preview(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    person: &Person,
    now: DateTime<Utc>,
    message: MessageId,
) -> Result<Look> {
    let failed = read(conn, person, message).await?;
    let id = failed.conversation.to_string();
    let conversation = find_visible(conn, person, now, &id).await.map_err(|error| match error {
        Error::Missing(_) => NO_MESSAGE,
        other => other,
    })?;
    let workspace = person.workspace;
    let addressed = failed.addressed(&conversation);
    let all = everybody(&addressed);
    Ok(Look {
        conversation: conversation.id,
        news: crossing::since(conn, workspace, &conversation, failed.item).await?,
        seen: conversation.last_item,
        barred: suppress::among(conn, keys, workspace, true, &all).await?,
        became: became(conn, person, &failed, message).await?,
        is_failed: failed.status == Some(MessageStatus::Failed),
        to: all,
    })
}

/// `seen` is the newest item of the timeline that the person was shown.
pub async fn send_again(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    seen: i32,
) -> Result<(SendAgainOutcome, ConversationId)> {
    let (conversation, ours) = lock_message(tx, person, message).await?;
    if ours.secure {
        return Err(Error::problem(
            "message",
            "was a secure link. Write it again: its text is in the conversation",
        ));
    }
    let failed = read(tx, person, message).await?;
    let told = |again| Ok((again, conversation.id));
    if failed.status != Some(MessageStatus::Failed) {
        return told(SendAgainOutcome::NotFailed);
    }
    if let Some(became) = became(tx, person, &failed, message).await? {
        return told(SendAgainOutcome::Already(became));
    }
    let workspace = tx.workspace();
    if !crossing::since(tx, workspace, &conversation, seen).await?.is_empty() {
        return told(SendAgainOutcome::Crossed);
    }
    let addressed = failed.addressed(&conversation);
    let all = everybody(&addressed);
    let keys = app.config.secret_key.as_ref();
    if all.is_empty() || !suppress::among(tx, keys, workspace, true, &all).await?.is_empty() {
        return told(SendAgainOutcome::Barred);
    }
    let carrier = Carrier { conversation: conversation.id, message };
    let asks = request::of_message(tx, person.workspace, carrier).await?.map(|carried| RequestForm {
        items: carried.items.into_iter().map(|listed| listed.item).collect(),
        due: carried.due,
        language: carried.language,
    });
    if asks.is_some() {
        // Its link goes with it; the new message has one of its own.
        request::cancel(tx, carrier, &person.by()).await?;
    }
    // What asks again for a document leaves with its link, as it was.
    let written = failed.written.as_deref().filter(|_| asks.is_some());
    let body = written.unwrap_or(&failed.text);
    let reply = NewReply { body, summary: None, asks, send: true };
    let sends_at = tx.now() + app.config.undo_window(conversation.livemode());
    let to = addressed.to.first().cloned().unwrap_or_default();
    let destination = Destination { addressed: Some(&addressed), to };
    let written = write_to(app, tx, &conversation, person, reply, destination, Some(sends_at)).await?;
    if let Some(stored) = html::formatting(tx, workspace, message).await? {
        html::keep_formatting(tx, written.message, &stored.html, stored.signature.as_deref()).await?;
    }
    let data = json!({ "messageId": message, "as": written.message });
    timeline::append(tx, conversation.id, &person.by(), SENT_AGAIN, data).await?;
    told(SendAgainOutcome::Sent(written.message))
}

impl Failed {
    /// From where and to whom it was; what named nobody was for the contact.
    fn addressed(&self, conversation: &Conversation) -> Addressed {
        let contact = || conversation.contact.email.clone().into_iter().collect();
        Addressed {
            from: Some(self.from.clone()),
            to: self.to.clone().unwrap_or_else(contact),
            cc: self.cc.clone().unwrap_or_default(),
            bcc: self.bcc.clone().unwrap_or_default(),
            subject: self.subject.clone(),
            answers: self.answers,
            forwards: self.forwards,
            attachments: self.attachments.0.clone(),
            signature: self.signature.clone(),
        }
    }
}

fn everybody(addressed: &Addressed) -> Vec<String> {
    [&addressed.to, &addressed.cc, &addressed.bcc].into_iter().flatten().cloned().collect()
}

/// The message that it was sent again as, if that is still there.
async fn became(
    conn: &mut PgConnection,
    person: &Person,
    failed: &Failed,
    message: MessageId,
) -> Result<Option<MessageId>> {
    let told = sqlx::query_scalar!(
        r#"select data ->> 'as' as "message!" from timeline_events
           where workspace_id = $1 and conversation_id = $2 and item > $3 and event = $4
             and data ->> 'messageId' = $5 and data ->> 'as' is not null
           order by item desc limit 1"#,
        person.workspace.0,
        failed.conversation.0,
        failed.item,
        SENT_AGAIN,
        message.to_string()
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(became) = told.and_then(|told| told.parse::<MessageId>().ok()) else { return Ok(None) };
    let is_there = sqlx::query_scalar!(
        r#"select exists (select from messages where workspace_id = $1 and id = $2) as "there!""#,
        person.workspace.0,
        became.0
    )
    .fetch_one(conn)
    .await?;
    Ok(is_there.then_some(became))
}
