//! A message of ours before it leaves (specification 3.3): a draft, or scheduled with its due time.
//!
//! A draft is not mail yet: it is neither counted nor found, and it moves no time. What is scheduled is.
//! Each change is one conditional update, so of two who want different things exactly one gets it.

use chrono::{DateTime, Utc};
use sqlx::types::Json;

use crate::conversations::conversation::Locked;
use crate::conversations::lock::lock_visible;
use crate::conversations::messages::inbound::SNIPPET;
use crate::conversations::messages::message::{Author, Channel, MessageStatus, Origin};
use crate::conversations::messages::sender;
use crate::conversations::notifications::follows;
use crate::conversations::search::pending;
use crate::conversations::secure::files;
use crate::conversations::timeline::Attachment;
use crate::workspace::access::{Actor, MemberId, SANDBOX};
use crate::workspace::agents::days;
use crate::workspace::people::Person;
use rookery_base::error::{Error, NO_MESSAGE, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files;
use rookery_reading::text;

pub struct Outbound<'a> {
    pub message: MessageId,
    pub author: Author,
    /// What the customer will read.
    pub text: &'a str,
    /// What the author wrote, when something of ours stands under it in `text`.
    pub written: Option<&'a str>,
    /// One line for the person who approves it.
    pub summary: Option<String>,
    /// When it leaves. Without a time it is a draft.
    pub sends_at: Option<DateTime<Utc>>,
    /// Whom it goes to. Without it, to the contact.
    pub addressed: Option<&'a Addressed>,
}

/// Whom a message goes to and what it is about, as its writer chose it.
#[derive(Clone, Debug, Default)]
pub struct Addressed {
    /// The address of the inbox that it leaves from. Without it, the one that the answered mail was written to.
    pub from: Option<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    /// When it is not that of the conversation.
    pub subject: Option<String>,
    /// The mail it answers, instead of the newest.
    pub answers: Option<MessageId>,
    /// The message it passes on.
    pub forwards: Option<MessageId>,
    pub attachments: Vec<Attachment>,
    /// What stands under its words, if anything does.
    pub signature: Option<String>,
}

pub async fn add(tx: &mut Tx<'_>, conversation: &Locked, outbound: Outbound<'_>) -> Result<()> {
    insert(tx, conversation, outbound, true).await
}

/// The same for what no list should show: in lists a conversation keeps the words that are there.
pub async fn add_behind(tx: &mut Tx<'_>, conversation: &Locked, outbound: Outbound<'_>) -> Result<()> {
    insert(tx, conversation, outbound, false).await
}

async fn insert(tx: &mut Tx<'_>, conversation: &Locked, outbound: Outbound<'_>, is_told: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let scheduled = outbound.sends_at.is_some();
    if let Author::Agent(agent) = outbound.author {
        let audience = conversation.audience;
        days::written(tx, agent, audience, conversation.id, outbound.message, scheduled).await?;
    }
    let (author_type, author_id) = outbound.author.member().map(MemberId::columns).unzip();
    let from = match outbound.addressed {
        Some(given) => sender::choose(tx, conversation, given.from.as_deref(), given.answers).await?,
        None => sender::choose(tx, conversation, None, None).await?,
    };
    // Fixed now, so that every later try of this message carries the same one; and unguessable, so that
    // only who got the mail can answer it.
    let domain = from.address.rsplit('@').next().unwrap_or_default();
    let rfc_message_id = format!("{}.{}@{domain}", outbound.message, tx.frame().random.hex(32));
    let addressed = outbound.addressed;
    let empty = Vec::new();
    let attachments = addressed.map_or(&empty, |addressed| &addressed.attachments);
    sqlx::query!(
        "with numbered as (
             update conversations
             set last_item = last_item + 1, last_item_at = $5,
                 message_count = message_count + $4::bool::int,
                 last_message_at = case when $4 then $5 else last_message_at end,
                 snippet = case when $26 then $6 else snippet end
             where workspace_id = $1 and id = $2
             returning last_item, mailbox_id, audience)
         insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at, due_at,
              from_name, from_email, text, rfc_message_id, author_type, author_id, summary, written,
              origin, sandbox, to_addresses, cc_addresses, bcc_addresses, subject, answers, forwards, attachments, signature,
              from_further)
         select $1, $2, $3, mailbox_id, last_item, $5, 'outbound', case when $4 then 'scheduled' else 'draft' end,
             $7, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, audience = $17, $18, $19, $20, $21, $22, $23, $24, $25, $27
         from numbered",
        workspace,
        conversation.id.0,
        outbound.message.0,
        scheduled,
        now,
        text::snippet(outbound.text, SNIPPET),
        outbound.sends_at,
        conversation.mailbox_name,
        from.address,
        outbound.text,
        rfc_message_id,
        author_type,
        author_id,
        outbound.summary,
        outbound.written,
        outbound.author.origin() as Origin,
        SANDBOX,
        addressed.map(|addressed| &addressed.to[..]) as Option<&[String]>,
        addressed.map(|addressed| &addressed.cc[..]) as Option<&[String]>,
        addressed.map(|addressed| &addressed.bcc[..]) as Option<&[String]>,
        addressed.and_then(|addressed| addressed.subject.as_deref()),
        addressed.and_then(|addressed| addressed.answers).map(|message| message.0),
        addressed.and_then(|addressed| addressed.forwards).map(|message| message.0),
        Json(attachments) as _,
        addressed.and_then(|addressed| addressed.signature.as_deref()),
        scheduled && is_told,
        from.is_further
    )
    .execute(&mut **tx)
    .await?;
    if scheduled {
        pending::note_message(tx, conversation.id, outbound.message).await?;
    }
    tx.touch(conversation.audience, LiveTopic::Messages);
    if let Some(MemberId::Person(person)) = outbound.author.member() {
        follows::takes_part(tx, conversation, &[person]).await?;
    }
    Ok(())
}

/// A message of ours, on a conversation that is locked.
#[derive(Debug)]
pub struct Ours {
    pub id: MessageId,
    pub status: MessageStatus,
    pub text: String,
    pub written: Option<String>,
    pub author: Author,
    pub attachments: Vec<Attachment>,
    /// Its words are sealed: `text` says only that.
    pub secure: bool,
    /// When it leaves, if it waits for that.
    pub sends_at: Option<DateTime<Utc>>,
    /// Its author wrote it in the composer and sent it, and nobody approved it.
    pub is_composed: bool,
}

impl Ours {
    /// Whether this person wrote it and sent it: it is none that they sent again, and never was a draft that was approved.
    pub fn is_own_of(&self, person: &Person) -> bool {
        self.author == Author::Person(person.id) && self.is_composed
    }
}

/// A message of ours that someone can see, by its own id, with its conversation locked.
pub async fn lock_message(tx: &mut Tx<'_>, who: &Actor, message: MessageId) -> Result<(Locked, Ours)> {
    let workspace = tx.workspace().0;
    let conversation = sqlx::query_scalar!(
        r#"select conversation_id as "id: ConversationId" from messages
           where workspace_id = $1 and id = $2 and direction = 'outbound'"#,
        workspace,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_MESSAGE)?;
    let conversation =
        lock_visible(tx, who, &conversation.to_string()).await.map_err(|error| match error {
            Error::Missing(_) => NO_MESSAGE,
            other => other,
        })?;
    let ours = find(tx, &conversation, message).await?.ok_or(NO_MESSAGE)?;
    // Whoever locks it changes it.
    tx.touch(conversation.audience, LiveTopic::Messages);
    Ok((conversation, ours))
}

/// A draft by its message, which whoever asks can see.
#[derive(Clone, Copy, Debug)]
pub struct Draft(pub MessageId);

/// A message of ours on a locked conversation.
pub async fn find(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId) -> Result<Option<Ours>> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        r#"select status as "status!: MessageStatus", text, written, sends_at, author_type, author_id, origin as "origin: Origin",
               attachments as "attachments: Json<Vec<Attachment>>", channel as "channel: Channel", composed and approved_by is null as "is_composed!"
           from messages
           where workspace_id = $1 and conversation_id = $2 and id = $3 and direction = 'outbound'"#,
        workspace,
        conversation.id.0,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Ours {
        id: message,
        author: Author::stored(row.origin, row.author_type.as_deref(), row.author_id),
        status: row.status,
        text: row.text,
        written: row.written,
        attachments: row.attachments.0,
        secure: row.channel == Channel::Secure,
        sends_at: row.sends_at,
        is_composed: row.is_composed,
    }))
}

/// Its author has just written it in the composer and sent it.
pub async fn mark_composed(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update messages set composed = true where workspace_id = $1 and conversation_id = $2 and id = $3",
        workspace,
        conversation.id.0,
        message.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What an agent has scheduled. In the order of conversations, so that two who lock several cannot block
/// each other.
pub async fn scheduled_by(tx: &mut Tx<'_>, member: MemberId) -> Result<Vec<(ConversationId, MessageId)>> {
    let (workspace, (kind, id)) = (tx.workspace().0, member.columns());
    let rows = sqlx::query!(
        r#"select conversation_id as "conversation: ConversationId", id as "message: MessageId" from messages
           where workspace_id = $1 and author_id = $2 and author_type = $3 and status = 'scheduled'
           order by conversation_id, id"#,
        workspace,
        id,
        kind
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.conversation, row.message)).collect())
}

/// Gives a draft its time to leave. False when it is no draft any more.
pub async fn schedule(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    text: &str,
    written: Option<&str>,
    sends_at: DateTime<Utc>,
) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let scheduled = sqlx::query!(
        "update messages set status = 'scheduled', sends_at = $4, due_at = $4, at = $5, text = $6, written = $7
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'draft'",
        workspace,
        conversation.id.0,
        message.0,
        sends_at,
        now,
        text,
        written
    )
    .execute(&mut **tx)
    .await?;
    if scheduled.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query!(
        "update conversations set message_count = message_count + 1, last_message_at = $3, snippet = $4
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.id.0,
        now,
        text::snippet(text, SNIPPET)
    )
    .execute(&mut **tx)
    .await?;
    pending::note_message(tx, conversation.id, message).await?;
    Ok(true)
}

/// Gives a scheduled message another time. False when it has another than was shown, or does not wait any more.
pub async fn reschedule(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    shown: DateTime<Utc>,
    sends_at: DateTime<Utc>,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let moved = sqlx::query!(
        "update messages set sends_at = $5, due_at = $5
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'scheduled' and sends_at = $4",
        workspace,
        conversation.id.0,
        message.0,
        shown,
        sends_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(moved.rows_affected() == 1)
}

/// Makes a scheduled message a draft again. False when the worker has taken it already, or it is none.
pub async fn stop(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId, text: &str) -> Result<bool> {
    let workspace = tx.workspace().0;
    let stopped = sqlx::query!(
        "update messages set status = 'draft', sends_at = null, due_at = null, text = $4
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'scheduled'",
        workspace,
        conversation.id.0,
        message.0,
        text
    )
    .execute(&mut **tx)
    .await?;
    if stopped.rows_affected() == 0 {
        return Ok(false);
    }
    took_back(tx, conversation).await?;
    Ok(true)
}

/// A message that was to leave became a draft.
pub(super) async fn took_back(tx: &mut Tx<'_>, conversation: &Locked) -> Result<()> {
    tx.touch(conversation.audience, LiveTopic::Messages);
    uncount(tx, conversation).await?;
    pending::note(tx, conversation.id).await
}

/// Takes a draft off the timeline. False when it is no draft any more.
pub async fn discard(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let sealed = files::blobs_of(tx, &[message.0]).await?;
    let gone = sqlx::query!(
        "delete from messages where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'draft'",
        workspace,
        conversation.id.0,
        message.0
    )
    .execute(&mut **tx)
    .await?;
    if gone.rows_affected() == 0 {
        return Ok(false);
    }
    doomed_files::doom(tx, &sealed).await?;
    Ok(true)
}

/// The conversation as it is without a message that became a draft: its newest mail is another.
async fn uncount(tx: &mut Tx<'_>, conversation: &Locked) -> Result<()> {
    let workspace = tx.workspace().0;
    let newest = sqlx::query!(
        "select at, text from messages
         where workspace_id = $1 and conversation_id = $2 and status is distinct from 'draft'
         order by at desc, item desc limit 1",
        workspace,
        conversation.id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let (at, snippet) = match newest {
        Some(newest) => (Some(newest.at), text::snippet(&newest.text, SNIPPET)),
        None => (None, String::new()),
    };
    sqlx::query!(
        "update conversations
         set message_count = message_count - 1, last_message_at = coalesce($3, created_at), snippet = $4
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.id.0,
        at,
        snippet
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
