//! A customer's mail on a conversation: it starts one, or joins one and may reopen it (specification 3.1,
//! 3.2, 6.2 `client.replied`, `turn.changed`, `scout.held`).
//!
//! Message, timeline entries, events and the note for search are one transaction, the caller's.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::types::Json;
use url::Url;

use crate::conversations::conversation::{Contact, Member, MemberId};
use crate::conversations::search;
use crate::conversations::status::Status;
use crate::conversations::timeline::{self, Attachment, SYSTEM};
use crate::db::Tx;
use crate::error::{NO_CONVERSATION, Result};
use crate::events::event::{Assignee, ClientReplied, Event, ScoutHeld, Turn, TurnChanged};
use crate::events::record::{Place, record};
use crate::ids::{ConversationId, MessageId};
use crate::workspace::mailboxes::Mailbox;

const SNIPPET: usize = 200;
const NO_SUBJECT: &str = "(no subject)";

/// Mail that was understood and judged, ready to be stored.
#[derive(Debug)]
pub struct Inbound {
    pub from: Contact,
    pub subject: Option<String>,
    /// What the customer wrote, and the whole text when something was taken away.
    pub text: String,
    pub whole_text: Option<String>,
    pub attachments: Vec<Attachment>,
    /// Written by a machine: it moves nothing and tells nobody.
    pub automatic: bool,
    pub risk: Option<Risk>,
    pub rfc_message_id: Option<String>,
    pub id_hash: i64,
    pub content_hash: [u8; 32],
    pub raw_blob: String,
}

#[derive(Debug)]
pub struct Risk {
    pub label: &'static str,
    pub reasons: Vec<String>,
    pub held: bool,
}

/// Where mail was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub conversation: ConversationId,
    pub message: MessageId,
}

/// The mail is stored already: it came a second time.
pub struct Duplicate;

/// Opens a conversation with the mail.
pub async fn start(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    mail: &Inbound,
    public_url: &Url,
) -> Result<Result<Stored, Duplicate>> {
    let stored = Stored { conversation: tx.mint(), message: tx.mint() };
    let (workspace, now) = (tx.workspace().0, tx.now());
    let subject = mail.subject.as_deref().unwrap_or(NO_SUBJECT);
    sqlx::query!(
        "insert into conversations
             (workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject, snippet, status,
              announced_turn, created_at, last_message_at, message_count, last_item)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'open', 'ours', $9, $9, 1, 1)",
        workspace,
        stored.conversation.0,
        mailbox.id.0,
        mailbox.audience,
        mail.from.name,
        mail.from.email,
        subject,
        snippet(&mail.text),
        now
    )
    .execute(&mut **tx)
    .await?;
    if !insert_message(tx, mailbox, stored, 1, mail).await? {
        return Ok(Err(Duplicate));
    }
    let place = place(mailbox, stored.conversation, public_url);
    hold(tx, place, stored.conversation, mail).await?;
    let turn = TurnChanged {
        conversation_id: stored.conversation,
        turn: Turn::Ours,
        previous: None,
        assignee: None,
    };
    record(tx, place, &Event::TurnChanged(turn)).await?;
    search::note(tx, stored.conversation).await?;
    Ok(Ok(stored))
}

/// Adds the mail to a conversation of the same inbox. A person's mail reopens it and ends its snooze.
pub async fn join(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    conversation: ConversationId,
    mail: &Inbound,
    public_url: &Url,
) -> Result<Result<Stored, Duplicate>> {
    let before = lock(tx, mailbox, conversation).await?;
    let stored = Stored { conversation, message: tx.mint() };
    if !insert_message(tx, mailbox, stored, before.last_item + 1, mail).await? {
        return Ok(Err(Duplicate));
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let status = if mail.automatic { before.status } else { Status::Open };
    sqlx::query!(
        "update conversations
         set last_message_at = $3, snippet = $4, message_count = message_count + 1, last_item = last_item + 1,
             status = $5, snoozed_until = case when $6 then snoozed_until end, announced_turn = $7
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.0,
        now,
        snippet(&mail.text),
        status.as_str(),
        mail.automatic,
        status.turn() as Turn
    )
    .execute(&mut **tx)
    .await?;
    if !mail.automatic && before.snoozed_until.is_some() {
        timeline::append(tx, conversation, SYSTEM, "unsnoozed", json!({ "reason": "reply" })).await?;
    }
    if status != before.status {
        let data = json!({ "from": before.status.as_str(), "to": status.as_str(), "reason": "reply" });
        timeline::append(tx, conversation, SYSTEM, "status", data).await?;
    }
    let place = place(mailbox, conversation, public_url);
    let held = hold(tx, place, conversation, mail).await?;
    if before.announced_turn != Some(status.turn()) {
        let turn = TurnChanged {
            conversation_id: conversation,
            turn: status.turn(),
            previous: before.announced_turn,
            assignee: before.assignee.map(Assignee::from),
        };
        record(tx, place, &Event::TurnChanged(turn)).await?;
    }
    // An app must not act on a likely scam, so a held reply is not announced as one.
    if !mail.automatic && !held {
        let replied = ClientReplied {
            conversation_id: conversation,
            message_id: stored.message,
            mailbox_id: mailbox.id,
            secure: false,
            reference: before.reference,
        };
        record(tx, place, &Event::ClientReplied(replied)).await?;
    }
    search::note(tx, conversation).await?;
    Ok(Ok(stored))
}

/// The conversation as it was, locked until the transaction ends.
struct Before {
    status: Status,
    snoozed_until: Option<DateTime<Utc>>,
    announced_turn: Option<Turn>,
    assignee: Option<Member>,
    reference: Option<String>,
    last_item: i32,
}

async fn lock(tx: &mut Tx<'_>, mailbox: &Mailbox, conversation: ConversationId) -> Result<Before> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        r#"select status as "status: Status", snoozed_until, announced_turn as "announced_turn: Turn",
               assignee_type, assignee_id, reference, last_item,
               coalesce((select name from people where workspace_id = $1 and people.id = c.assignee_id),
                        (select name from agents where workspace_id = $1 and agents.id = c.assignee_id)) as assignee
           from conversations c where workspace_id = $1 and id = $2 and mailbox_id = $3
           for no key update"#,
        workspace, conversation.0, mailbox.id.0)
        .fetch_optional(&mut **tx)
        .await?
        .ok_or(NO_CONVERSATION)?;
    let assignee = MemberId::stored(row.assignee_type.as_deref(), row.assignee_id);
    Ok(Before {
        status: row.status,
        snoozed_until: row.snoozed_until,
        announced_turn: row.announced_turn,
        assignee: assignee.map(|id| Member { id, name: row.assignee.unwrap_or_default() }),
        reference: row.reference,
        last_item: row.last_item,
    })
}

/// False when the inbox has this very mail already.
async fn insert_message(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    stored: Stored,
    item: i32,
    mail: &Inbound,
) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let inserted = sqlx::query!(
        "insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_name, from_email, text,
              whole_text, attachments, automatic, rfc_message_id, id_hash, content_hash, raw_blob)
         values ($1, $2, $3, $4, $5, $6, 'inbound', $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         on conflict (workspace_id, mailbox_id, id_hash, content_hash) where direction = 'inbound' do nothing",
        workspace, stored.conversation.0, stored.message.0, mailbox.id.0, item, now, mail.from.name,
        mail.from.email.as_deref().unwrap_or("unknown@invalid"), mail.text, mail.whole_text,
        Json(&mail.attachments) as _, mail.automatic, mail.rfc_message_id, mail.id_hash, &mail.content_hash,
        mail.raw_blob)
        .execute(&mut **tx)
        .await?;
    Ok(inserted.rows_affected() == 1)
}

/// Marks the conversation with the mail's risk. True when it is held as a likely scam.
async fn hold(
    tx: &mut Tx<'_>,
    place: Place<'_>,
    conversation: ConversationId,
    mail: &Inbound,
) -> Result<bool> {
    let Some(risk) = &mail.risk else { return Ok(false) };
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update conversations
         set risk = $3, risk_reasons = $4, held_at = case when $5 then coalesce(held_at, $6) else held_at end
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.0,
        risk.label,
        &risk.reasons,
        risk.held,
        now
    )
    .execute(&mut **tx)
    .await?;
    if risk.held {
        timeline::append(tx, conversation, SYSTEM, "held", json!({ "risk": risk.label })).await?;
        record(tx, place, &Event::ScoutHeld(ScoutHeld { conversation_id: conversation })).await?;
    }
    Ok(risk.held)
}

fn place<'a>(mailbox: &'a Mailbox, conversation: ConversationId, public_url: &'a Url) -> Place<'a> {
    Place {
        audience: mailbox.audience,
        livemode: mailbox.livemode(),
        conversation: Some(conversation),
        inbox: &mailbox.name,
        public_url,
    }
}

/// The start of a text on one line.
fn snippet(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut snippet = words.next().unwrap_or_default().to_owned();
    for word in words {
        if snippet.len() > SNIPPET * 4 {
            break;
        }
        snippet.push(' ');
        snippet.push_str(word);
    }
    snippet.chars().take(SNIPPET).collect()
}

impl From<Member> for Assignee {
    fn from(member: Member) -> Self {
        let name = Some(member.name);
        match member.id {
            MemberId::Person(id) => Self::User { id, name },
            MemberId::Agent(id) => Self::Agent { id, name },
        }
    }
}
