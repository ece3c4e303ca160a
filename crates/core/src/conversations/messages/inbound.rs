//! Stores a customer's mail: it starts a conversation, or joins one and may reopen it (specification 3.1, 3.2, 6.2
//! `client.replied`, `turn.changed`, `scout.held`).
//!
//! Everything is written in the caller's transaction. One statement inserts the conversations, messages and index
//! notes of a whole batch of mails, because most of its cost does not depend on the number of rows.

use std::ops::Range;

use chrono::NaiveDate;
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::conversations::conversation::{Contact, Locked};
use crate::conversations::messages::html::{self, Html};
use crate::conversations::notifications;
use crate::conversations::reports::count::shard;
use crate::conversations::search::pending;
use crate::conversations::timeline::{self, Attachment};
use crate::conversations::transitions::{Trigger, apply};
use crate::events::event::{ClientReplied, Event, ScoutHeld, Turn, TurnChanged};
use crate::events::record::{EventContext, record, record_all};
use crate::workspace::access::{By, SANDBOX};
use crate::workspace::mailboxes::Mailbox;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;
use rookery_reading::text;

/// Characters of a snippet.
pub const SNIPPET: usize = 200;
const NO_SUBJECT: &str = "(no subject)";
const NO_SENDER: &str = "unknown@invalid";

/// Mail that was understood and judged, ready to be stored.
#[derive(Debug)]
pub struct Inbound {
    pub from: Contact,
    /// Other recipients, as far as the sender's domain authenticates the list. Unauthenticated mail must not bring
    /// people into a conversation.
    pub also_to: Vec<String>,
    /// Whom its header names, and where answers are asked for.
    pub header: Header,
    /// The conversation that has the mail it answers, when it was not allowed to join it.
    pub answers_in: Option<ConversationId>,
    pub subject: Option<String>,
    /// The app's reference that the mail carries or answers.
    pub reference: Option<String>,
    /// It is a permitted reply to mail that the app sent.
    pub answers_app_mail: bool,
    /// The text without quoted history, and the whole text when something was removed.
    pub text: String,
    pub whole_text: Option<String>,
    pub html: Option<Html>,
    pub attachments: Vec<Attachment>,
    /// Sent by a machine: it changes neither status nor turn, and emits no `client.replied`.
    pub automatic: bool,
    pub risk: Option<Risk>,
    pub rfc_message_id: Option<String>,
    pub id_hash: i64,
    /// SHA-256 of the content, followed by one byte for how far the sender is authenticated.
    pub content_hash: [u8; 33],
    pub raw: Raw,
    /// The result of sender authentication, and why the mail was filed in this conversation.
    pub verdict: serde_json::Value,
    pub placed: String,
}

/// The recipients a mail names, whoever vouches for them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Header {
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub reply_to: Option<String>,
}

/// The raw bytes of a mail: stored in the row when small, in the blob store when large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    Here(Vec<u8>),
    Blob(String),
}

impl Raw {
    fn columns(&self) -> (Option<&[u8]>, Option<&str>) {
        match self {
            Self::Here(bytes) => (Some(bytes), None),
            Self::Blob(key) => (None, Some(key)),
        }
    }

    fn from_columns(bytes: Option<Vec<u8>>, key: Option<String>) -> Option<Self> {
        bytes.map(Self::Here).or(key.map(Self::Blob))
    }
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

/// Starts a conversation for each mail; all are of one workspace. When one is already stored the result is
/// `Duplicate`, and the caller has to roll back. Mail that carries a reference or answers the app's own mail is
/// announced as a reply although the conversation is new (D189). `week` is the one that reports count it in.
pub async fn start(
    tx: &mut Tx<'_>,
    mails: &[(&Mailbox, &Inbound)],
    week: NaiveDate,
) -> Result<Result<Vec<Stored>, Duplicate>> {
    let stored: Vec<Stored> =
        mails.iter().map(|_| Stored { conversation: tx.mint(), message: tx.mint() }).collect();
    if insert(tx, mails, &stored, week).await? < mails.len() as u64 {
        return Ok(Err(Duplicate));
    }
    let each = mails.iter().zip(&stored);
    let kept = each.filter_map(|((_, mail), stored)| Some((stored.message, mail.html.as_ref()?)));
    html::keep(tx, &kept.collect::<Vec<_>>()).await?;
    let mut turns = Vec::with_capacity(mails.len());
    for ((mailbox, mail), stored) in mails.iter().zip(&stored) {
        tx.touch(mailbox.audience, LiveTopic::Conversation(stored.conversation));
        let place = EventContext {
            audience: mailbox.audience,
            livemode: mailbox.livemode(),
            conversation: Some(stored.conversation),
            inbox: &mailbox.name,
        };
        let held = hold(tx, place, stored.conversation, mail).await?;
        let turn = TurnChanged {
            conversation_id: stored.conversation,
            turn: Turn::Ours,
            previous: None,
            assignee: None,
        };
        turns.push((tx.mint(), place, Event::TurnChanged(turn)));
        if mail.reference.is_some() || mail.answers_app_mail {
            announce(tx, place, mailbox, *stored, mail, mail.reference.clone(), held).await?;
        }
    }
    let turns: Vec<_> = turns.iter().map(|(id, place, event)| (*id, *place, event)).collect();
    record_all(tx, &turns).await?;
    Ok(Ok(stored))
}

/// Inserts conversation, message and the notes of each mail, for search and for sorting. Returns how many messages were new.
async fn insert(
    tx: &mut Tx<'_>,
    mails: &[(&Mailbox, &Inbound)],
    stored: &[Stored],
    week: NaiveDate,
) -> Result<u64> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let each = || mails.iter().map(|(_, mail)| *mail);
    let conversations: Vec<i64> = stored.iter().map(|stored| stored.conversation.0).collect();
    let messages: Vec<i64> = stored.iter().map(|stored| stored.message.0).collect();
    let mailboxes: Vec<i64> = mails.iter().map(|(mailbox, _)| mailbox.id.0).collect();
    let audiences: Vec<i64> = mails.iter().map(|(mailbox, _)| mailbox.audience).collect();
    let names: Vec<Option<&str>> = each().map(|mail| mail.from.name.as_deref()).collect();
    let emails: Vec<Option<&str>> = each().map(|mail| mail.from.email.as_deref()).collect();
    let subjects: Vec<&str> = each().map(|mail| mail.subject.as_deref().unwrap_or(NO_SUBJECT)).collect();
    let snippets: Vec<String> = each().map(|mail| text::snippet(&mail.text, SNIPPET)).collect();
    let references: Vec<Option<&str>> = each().map(|mail| mail.reference.as_deref()).collect();
    let texts: Vec<&str> = each().map(|mail| mail.text.as_str()).collect();
    let whole_texts: Vec<Option<&str>> = each().map(|mail| mail.whole_text.as_deref()).collect();
    let attachments: Vec<_> = each().map(|mail| Json(&mail.attachments)).collect();
    let automatic: Vec<bool> = each().map(|mail| mail.automatic).collect();
    let rfc_ids: Vec<Option<&str>> = each().map(|mail| mail.rfc_message_id.as_deref()).collect();
    let id_hashes: Vec<i64> = each().map(|mail| mail.id_hash).collect();
    let content_hashes: Vec<&[u8]> = each().map(|mail| &mail.content_hash[..]).collect();
    let (raws, raw_blobs): (Vec<_>, Vec<_>) = each().map(|mail| mail.raw.columns()).unzip();
    // PostgreSQL has no arrays of arrays of different lengths, so each list is passed as JSON.
    let also_to: Vec<_> = each().map(|mail| Json(&mail.also_to)).collect();
    let verdicts: Vec<_> = each().map(|mail| Json(&mail.verdict)).collect();
    let placed: Vec<&str> = each().map(|mail| mail.placed.as_str()).collect();
    let headers: Vec<_> = each().map(|mail| Json(&mail.header)).collect();
    let answers_in: Vec<Option<i64>> = each().map(|mail| mail.answers_in.map(|other| other.0)).collect();
    let inserted = sqlx::query!(
        "with started as (
             insert into conversations
                 (workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject, snippet, status,
                  announced_turn, created_at, last_message_at, message_count, last_item, last_item_at, reference, answers_in)
             select $1, id, mailbox_id, audience, name, email, subject, snippet, 'open', 'ours', $2, $2, 1, 1, $2, reference,
                 answers_in
             from unnest($4::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[],
                         $12::text[], $25::bigint[])
                      as mail (id, mailbox_id, audience, name, email, subject, snippet, reference, answers_in)),
         noted as (
             insert into unindexed_messages (workspace_id, conversation_id, message_id, since)
             select $1, conversation_id, id, $2 from unnest($4::bigint[], $5::bigint[]) as mail (conversation_id, id)),
         unsorted as (
             insert into unsorted_messages (workspace_id, message_id, since)
             select $1, id, $2 from unnest($5::bigint[], $7::bigint[]) as mail (id, audience) where audience <> $28),
         counted as (
             insert into report_counts as kept (workspace_id, mailbox_id, what, week, shard, n)
             select $1, mailbox_id, 'arrived', $29, $27, count(*)
             from unnest($6::bigint[], $7::bigint[], $16::boolean[]) as mail (mailbox_id, audience, automatic)
             where not automatic and audience <> $28
             group by mailbox_id order by mailbox_id
             on conflict (workspace_id, mailbox_id, what, week, shard) do update set n = kept.n + excluded.n)
         insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_name, from_email, text,
              whole_text, attachments, automatic, rfc_message_id, id_hash, content_hash, raw_blob, also_to, verdict,
              placed, raw, to_addresses, cc_addresses, reply_to)
         select $1, conversation_id, id, mailbox_id, 1, $2, 'inbound', name, coalesce(email, $3), text, whole_text,
                attachments, automatic, rfc_id, id_hash, content_hash, raw_blob,
                array(select jsonb_array_elements_text(also_to)), verdict, placed, raw,
                array(select jsonb_array_elements_text(header -> 'to')), array(select jsonb_array_elements_text(header -> 'cc')),
                header ->> 'reply_to'
         from unnest($4, $5::bigint[], $6, $8, $9, $13::text[], $14::text[], $15::jsonb[], $16::boolean[], $17::text[],
                     $18::bigint[], $19::bytea[], $20::text[], $21::jsonb[], $22::jsonb[], $23::text[], $24::bytea[],
                     $26::jsonb[])
                  as mail (conversation_id, id, mailbox_id, name, email, text, whole_text, attachments, automatic, rfc_id,
                           id_hash, content_hash, raw_blob, also_to, verdict, placed, raw, header)
         on conflict (workspace_id, mailbox_id, id_hash, content_hash) where direction = 'inbound' do nothing",
        workspace,
        now,
        NO_SENDER,
        &conversations,
        &messages,
        &mailboxes,
        &audiences,
        &names as &[Option<&str>],
        &emails as &[Option<&str>],
        &subjects as &[&str],
        &snippets,
        &references as &[Option<&str>],
        &texts as &[&str],
        &whole_texts as &[Option<&str>],
        &attachments as _,
        &automatic,
        &rfc_ids as &[Option<&str>],
        &id_hashes,
        &content_hashes as &[&[u8]],
        &raw_blobs as &[Option<&str>],
        &also_to as _,
        &verdicts as _,
        &placed as &[&str],
        &raws as &[Option<&[u8]>],
        &answers_in as &[Option<i64>],
        &headers as _,
        stored.first().map_or(0, |first| shard(first.conversation)),
        SANDBOX,
        week
    )
    .execute(&mut **tx)
    .await?;
    Ok(inserted.rows_affected())
}

/// Adds the mail to a conversation of the same inbox. A person's mail reopens it and ends its snooze.
pub async fn join(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    conversation: &Locked,
    mail: &Inbound,
    week: NaiveDate,
) -> Result<Result<Stored, Duplicate>> {
    let stored = Stored { conversation: conversation.id, message: tx.mint() };
    let (workspace, now) = (tx.workspace().0, tx.now());
    let (raw, raw_blob) = mail.raw.columns();
    // The note for search is the one that `pending::note_message` would write.
    let inserted = sqlx::query!(
        "with joined as (
             update conversations
             set last_message_at = $3, snippet = $4, message_count = message_count + 1, last_item = last_item + 1,
                 last_item_at = $3,
                 reference = coalesce(reference, $5)
             where workspace_id = $1 and id = $2
             returning last_item),
         noted as (
             insert into unindexed_messages (workspace_id, conversation_id, message_id, since) values ($1, $2, $6, $3)),
         unsorted as (insert into unsorted_messages (workspace_id, message_id, since) select $1, $6, $3 where $27),
         counted as (
             insert into report_counts as kept (workspace_id, mailbox_id, what, week, shard, n)
             select $1, $25, 'arrived', $28, $26, 1 where not $13 and $27
             on conflict (workspace_id, mailbox_id, what, week, shard) do update set n = kept.n + 1)
         insert into messages
             (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_name, from_email, text,
              whole_text, attachments, automatic, rfc_message_id, id_hash, content_hash, raw_blob, also_to, verdict,
              placed, raw, to_addresses, cc_addresses, reply_to)
         select $1, $2, $6, $7, last_item, $3, 'inbound', $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                $21, $22, $23, $24
         from joined
         on conflict (workspace_id, mailbox_id, id_hash, content_hash) where direction = 'inbound' do nothing",
        workspace, conversation.id.0, now, text::snippet(&mail.text, SNIPPET), mail.reference, stored.message.0,
        mailbox.id.0, mail.from.name, mail.from.email.as_deref().unwrap_or(NO_SENDER), mail.text, mail.whole_text,
        Json(&mail.attachments) as _, mail.automatic, mail.rfc_message_id, mail.id_hash, &mail.content_hash,
        raw_blob, &mail.also_to, mail.verdict, mail.placed, raw, &mail.header.to, &mail.header.cc, mail.header.reply_to,
        conversation.mailbox_id.0, shard(conversation.id), conversation.livemode(), week)
        .execute(&mut **tx)
        .await?;
    if inserted.rows_affected() == 0 {
        return Ok(Err(Duplicate));
    }
    if let Some(html) = &mail.html {
        html::keep(tx, &[(stored.message, html)]).await?;
    }
    let trigger = if mail.automatic { Trigger::MachineWrote } else { Trigger::CustomerWrote };
    apply(tx, conversation, trigger, &By::System).await?;
    let held = hold(tx, conversation.event_context(), conversation.id, mail).await?;
    let reference = conversation.reference.clone().or(mail.reference.clone());
    announce(tx, conversation.event_context(), mailbox, stored, mail, reference, held).await?;
    // Drafts that wait for approval may be outdated by it.
    tx.touch(conversation.audience, LiveTopic::Messages);
    if !mail.automatic && conversation.livemode() {
        let who = mail.from.name.as_deref().or(mail.from.email.as_deref());
        notifications::replied(tx, conversation, who.unwrap_or(NO_SENDER)).await?;
    }
    Ok(Ok(stored))
}

/// Records `client.replied`, unless the mail is automatic. A held mail is withheld until a person releases it, so
/// that no app acts on a likely scam.
async fn announce(
    tx: &mut Tx<'_>,
    place: EventContext<'_>,
    mailbox: &Mailbox,
    stored: Stored,
    mail: &Inbound,
    reference: Option<String>,
    held: bool,
) -> Result<()> {
    if mail.automatic {
        return Ok(());
    }
    if held {
        return withhold(tx, stored).await;
    }
    let replied = ClientReplied {
        conversation_id: stored.conversation,
        message_id: stored.message,
        mailbox_id: mailbox.id,
        secure: false,
        reference,
    };
    record(tx, place, &Event::ClientReplied(replied)).await?;
    Ok(())
}

async fn withhold(tx: &mut Tx<'_>, stored: Stored) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into withheld_replies (workspace_id, conversation_id, message_id) values ($1, $2, $3)",
        workspace,
        stored.conversation.0,
        stored.message.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Marks the conversation with the mail's risk; a weaker risk does not replace a hold. True when the mail is held
/// as a likely scam.
async fn hold(
    tx: &mut Tx<'_>,
    place: EventContext<'_>,
    conversation: ConversationId,
    mail: &Inbound,
) -> Result<bool> {
    let Some(risk) = &mail.risk else { return Ok(false) };
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update conversations
         set risk = $3, risk_reasons = $4, held_at = case when $5 then coalesce(held_at, $6) else held_at end
         where workspace_id = $1 and id = $2 and (held_at is null or $5)",
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
        timeline::append(tx, conversation, &By::System, "held", json!({ "risk": risk.label })).await?;
        record(tx, place, &Event::ScoutHeld(ScoutHeld { conversation_id: conversation })).await?;
    }
    Ok(risk.held)
}

/// Replaces the text of a stored message after its raw bytes were parsed again. False when nothing changed.
pub async fn reword(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    message: MessageId,
    text: &str,
    whole_text: Option<&str>,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let changed = sqlx::query!(
        "with reworded as (
             update messages set text = $4, whole_text = $5
             where workspace_id = $1 and conversation_id = $2 and id = $3 and direction = 'inbound'
               and (text, whole_text) is distinct from ($4, $5)
             returning item),
         shown as (
             update conversations set snippet = $6
             where workspace_id = $1 and id = $2 and (select item from reworded) >= all (
                 select item from messages
                 where workspace_id = $1 and conversation_id = $2 and status is distinct from 'draft'))
         select item from reworded",
        workspace,
        conversation.0,
        message.0,
        text,
        whole_text,
        text::snippet(text, SNIPPET)
    )
    .fetch_optional(&mut **tx)
    .await?
    .is_some();
    if changed {
        pending::note(tx, conversation).await?;
    }
    Ok(changed)
}

/// Whether mail ever came to an inbox.
pub async fn has_arrived(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    mailbox: MailboxId,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from messages
               where workspace_id = $1 and mailbox_id = $2 and direction = 'inbound') as "has_arrived!""#,
        workspace.0,
        mailbox.0
    )
    .fetch_one(conn)
    .await?)
}

/// What is known of where a received message came from.
pub struct Explained {
    pub conversation: ConversationId,
    pub placed: Option<String>,
    pub verdict: Option<serde_json::Value>,
    pub raw: Option<Raw>,
}

pub async fn explained(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<Explained>> {
    let row = sqlx::query!(
        r#"select conversation_id as "conversation: ConversationId", placed, verdict, raw, raw_blob from messages
           where workspace_id = $1 and id = $2 and direction = 'inbound'"#,
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Explained {
        conversation: row.conversation,
        placed: row.placed,
        verdict: row.verdict,
        raw: Raw::from_columns(row.raw, row.raw_blob),
    }))
}

/// Received mail after the given message, oldest first, and whether its bytes are kept.
pub async fn received_after(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    after: MessageId,
    most: i64,
) -> Result<Vec<(MessageId, bool)>> {
    let rows = sqlx::query!(
        r#"select id as "message: MessageId", (raw is not null or raw_blob is not null) as "kept!" from messages
           where workspace_id = $1 and id > $2 and direction = 'inbound'
           order by id limit $3"#,
        workspace.0,
        after.0,
        most
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.message, row.kept)).collect())
}

/// Received mail whose bytes are kept, from one id up to another, oldest first, with the names of their files.
pub async fn raw_between(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    from: MessageId,
    to: MessageId,
    most: i64,
) -> Result<Vec<(MessageId, Option<String>)>> {
    let rows = sqlx::query!(
        r#"select id as "message: MessageId", raw_blob from messages
           where workspace_id = $1 and id >= $2 and id < $3 and direction = 'inbound'
             and (raw is not null or raw_blob is not null)
           order by id limit $4"#,
        workspace.0,
        from.0,
        to.0,
        most
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.message, row.raw_blob)).collect())
}

/// Deletes the raw bytes of received mail. Everything that was parsed from them stays.
pub async fn drop_raw(tx: &mut Tx<'_>, messages: &[MessageId]) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update messages set raw = null, raw_blob = null where workspace_id = $1 and id = any($2)",
        workspace,
        messages as &[MessageId]
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Which of these blobs messages with such ids name, as their bytes or as a file that came with them.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    ids: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select named.blob as "blob!"
           from messages cross join lateral (
               select raw_blob union all select jsonb_array_elements(attachments) ->> 'blob') named (blob)
           where workspace_id = $1 and id >= $2 and id < $3 and named.blob in (select unnest($4::text[]))"#,
        workspace.0,
        ids.start,
        ids.end,
        blobs
    )
    .fetch_all(conn)
    .await?)
}

/// Whether an address takes part in the conversation: the contact, that of a conversation which became part of it, our
/// inbox, a sender or recipient of mail that passed DMARC, or somebody we wrote to openly. Who got it blindly or was
/// passed a message on is not on it.
pub async fn takes_part(tx: &mut Tx<'_>, conversation: ConversationId, address: &str) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select exists (select from conversations c join mailboxes ours on ours.workspace_id = $1 and ours.id = c.mailbox_id
                          where c.workspace_id = $1 and c.id = $2 and $3 in (contact_email, ours.address))
               or exists (select from merged_conversations
                          where workspace_id = $1 and into_id = $2 and contact_email = $3)
               or exists (select from messages where workspace_id = $1 and conversation_id = $2
                          and direction = 'inbound' and verdict ->> 'dmarc' = 'pass'
                          and (from_email = $3 or $3 = any(also_to)))
               or exists (select from messages where workspace_id = $1 and conversation_id = $2
                          and direction = 'outbound' and status in ('sending', 'sent', 'failed') and forwards is null
                          and $3 = any(to_addresses || cc_addresses)) as "takes_part!""#,
        workspace,
        conversation.0,
        address
    )
    .fetch_one(&mut **tx)
    .await?)
}
