//! What is in an export of a conversation: one JSON with everything, each mail as a file of its own, and their files. What
//! came in is as it came while its bytes are kept; otherwise it is written out of what is stored. Of a contact also the mail
//! of or to them in conversations with others, and what apps sent them.

use std::collections::HashMap;
use std::fmt::Display;

use chrono::{DateTime, Utc};
use mail_builder::MessageBuilder;
use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json;

use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentId, DocumentRequestId, MessageId, NoteId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_core::conversations::messages::html;
use rookery_core::conversations::secure::files::SecureFile;
use rookery_core::conversations::secure::words::{self, Opened};
use rookery_core::conversations::timeline::Attachment;

/// Conversations of these audiences, of one contact or of everybody, in the order of their ids.
pub async fn next(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    audiences: &[i64],
    contact: Option<&str>,
    after: i64,
    most: i64,
) -> Result<Vec<ConversationId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and audience = any($2) and ($3::text is null or contact_email = $3) and id > $4
           order by id limit $5"#,
        workspace.0,
        audiences,
        contact,
        after,
        most
    )
    .fetch_all(conn)
    .await?)
}

pub async fn count(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    audiences: &[i64],
    contact: Option<&str>,
) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "n!" from conversations
           where workspace_id = $1 and audience = any($2) and ($3::text is null or contact_email = $3)"#,
        workspace.0,
        audiences,
        contact
    )
    .fetch_one(conn)
    .await?)
}

/// A mail that goes into the archive as a file.
pub struct ArchivedMail {
    pub id: MessageId,
    pub bytes: Vec<u8>,
    /// Where the bytes are, when they are as they came and large.
    pub blob: Option<String>,
    pub files: Vec<Attachment>,
    /// Files of a secure message, opened on their way.
    pub secure_files: Vec<SecureFile>,
}

/// By what the secure messages of a contact are opened: their own, and no others.
#[derive(Clone, Copy)]
pub struct Opener<'a> {
    pub keys: &'a KeyRing,
    pub contact: &'a str,
}

/// Messages that are in memory at once.
pub const MAILS: i64 = 20;
/// Messages that are looked at in one step of the walk.
const WALKED: i64 = 5_000;

/// The next messages of a conversation.
pub async fn of_conversation(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    after: i64,
) -> Result<Vec<MessageId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "id: MessageId" from messages
           where workspace_id = $1 and conversation_id = $2 and id > $3 order by id limit $4"#,
        workspace.0,
        conversation.0,
        after,
        MAILS
    )
    .fetch_all(conn)
    .await?)
}

/// Messages of or to a contact in conversations with others: found by walking over all messages. Gives where to go on;
/// nothing when the walk is over.
pub async fn elsewhere(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    contact: &str,
    after: i64,
) -> Result<(Vec<MessageId>, Option<i64>)> {
    let walked = sqlx::query!(
        r#"with walked as (
               select id, conversation_id, from_email, to_addresses, cc_addresses, bcc_addresses, also_to, reply_to
               from messages where workspace_id = $1 and id > $3 order by id limit $4)
           select count(*) as "n!", max(id) as last,
               array_agg(id order by id) filter (
                   where (lower(from_email) = $2 or lower(reply_to) = $2
                          or exists (select from unnest(to_addresses || cc_addresses || bcc_addresses || also_to) one
                                     where lower(one) = $2))
                     and not exists (select from conversations c
                                     where c.workspace_id = $1 and c.id = conversation_id and c.contact_email = $2))
                   as "found: Vec<MessageId>"
           from walked"#,
        workspace.0,
        contact,
        after,
        WALKED
    )
    .fetch_one(conn)
    .await?;
    Ok((walked.found.unwrap_or_default(), walked.last.filter(|_| walked.n == WALKED)))
}

struct MessageRow {
    id: MessageId,
    conversation: ConversationId,
    at: DateTime<Utc>,
    direction: String,
    status: Option<String>,
    from_name: Option<String>,
    from_email: String,
    to: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    bcc: Option<Vec<String>>,
    reply_to: Option<String>,
    subject: Option<String>,
    text: String,
    whole_text: Option<String>,
    html: Option<String>,
    formatted: Option<bool>,
    rfc_message_id: Option<String>,
    attachments: Json<Vec<Attachment>>,
    raw: Option<Vec<u8>>,
    raw_blob: Option<String>,
    secure: bool,
}

/// These messages, as far as these audiences see them: each told as JSON, and as mail. Secure ones stay sealed, but for those
/// that are somebody's own.
pub async fn mails(
    conn: &mut PgConnection,
    opener: Option<Opener<'_>>,
    workspace: WorkspaceId,
    audiences: &[i64],
    messages: &[MessageId],
) -> Result<Vec<(Value, ArchivedMail)>> {
    let mut opened = match opener {
        Some(Opener { keys, contact }) => {
            let own = words::of_contact(conn, workspace, contact, messages).await?;
            words::open(conn, keys, workspace, &own).await?
        }
        None => HashMap::new(),
    };
    let rows = sqlx::query_as!(
        MessageRow,
        r#"select m.id as "id: MessageId", c.id as "conversation: ConversationId", m.at, direction, m.status, from_name,
               from_email, coalesce(to_addresses, case when direction = 'outbound' then array[c.contact_email] end) as to,
               cc_addresses as cc, bcc_addresses as bcc, reply_to, coalesce(m.subject, c.subject) as subject, text, whole_text,
               h.html as "html?", h.formatted as "formatted?",
               rfc_message_id, attachments as "attachments: Json<Vec<Attachment>>", raw, raw_blob,
               channel = 'secure' as "secure!"
           from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           left join message_html h on h.workspace_id = $1 and h.message_id = m.id
           where m.workspace_id = $1 and m.id = any($2) and c.audience = any($3) order by m.id"#,
        workspace.0,
        messages as &[MessageId],
        audiences
    )
    .fetch_all(conn)
    .await?;
    let own = |row: MessageRow| match opened.remove(&row.id) {
        Some(Opened { text, files }) => archive_mail(MessageRow { text, ..row }, files),
        None => archive_mail(row, Vec::new()),
    };
    rows.into_iter().map(own).collect()
}

fn archive_mail(row: MessageRow, secure_files: Vec<SecureFile>) -> Result<(Value, ArchivedMail)> {
    let is_formatted = row.formatted == Some(true);
    let html = row.html.map(|html| if is_formatted { html::whole(&html, &row.text) } else { html });
    let files = row.attachments.0;
    let named: Vec<Value> = files
        .iter()
        .cloned()
        .chain(secure_files.iter().map(SecureFile::attachment))
        .enumerate()
        .map(|(n, file)| {
            let mut named = json!({ "filename": file.filename, "contentType": file.content_type, "size": file.size,
                                    "file": format!("files/{}", file_name(row.id, n, &file.filename)) });
            // By which the HTML shows it.
            if let Some(content_id) = file.content_id {
                named["contentId"] = content_id.into();
            }
            named
        })
        .collect();
    let value = json!({
        "id": row.id, "conversationId": row.conversation, "at": written(row.at), "direction": row.direction,
        "status": row.status, "from": { "name": row.from_name, "email": row.from_email }, "to": row.to, "cc": row.cc,
        "bcc": row.bcc, "replyTo": row.reply_to, "subject": row.subject, "text": row.text, "wholeText": row.whole_text,
        "html": html, "messageId": row.rfc_message_id, "secure": row.secure, "attachments": named, "file": format!("{}.eml", row.id),
    });
    let bytes = match (row.raw, &row.raw_blob) {
        (Some(raw), _) => raw,
        (None, Some(_)) => Vec::new(),
        (None, None) => {
            let listed = |list: &'_ Option<Vec<String>>| -> Vec<(String, String)> {
                list.iter().flatten().map(|address| (String::new(), address.clone())).collect()
            };
            let mut mail = MessageBuilder::new()
                .from((row.from_name.as_deref().unwrap_or_default(), row.from_email.as_str()))
                .to(listed(&row.to))
                .subject(row.subject.as_deref().unwrap_or_default())
                .date(row.at.timestamp())
                .text_body(row.whole_text.as_deref().unwrap_or(&row.text));
            if row.cc.as_ref().is_some_and(|cc| !cc.is_empty()) {
                mail = mail.cc(listed(&row.cc));
            }
            if let Some(reply_to) = &row.reply_to {
                mail = mail.reply_to(reply_to.as_str());
            }
            if let Some(html) = &html {
                mail = mail.html_body(html.as_str());
            }
            if let Some(id) = &row.rfc_message_id {
                mail = mail.message_id(id.as_str());
            }
            mail.write_to_vec().map_err(Error::internal)?
        }
    };
    Ok((value, ArchivedMail { id: row.id, bytes, blob: row.raw_blob, files, secure_files }))
}

/// The name of a file in the archive. Names from outside are no paths.
pub fn file_name(of: impl Display, n: usize, filename: &str) -> String {
    let sound: String = filename
        .chars()
        .map(|letter| match letter {
            letter if letter.is_control() || "/\\:*?\"<>|".contains(letter) => '_',
            letter => letter,
        })
        .take(100)
        .collect();
    format!("{of}-{n}-{}", sound.trim_start_matches('.'))
}

/// Everything else of a conversation: its head, notes, tags, what happened, documents and what was asked for.
pub async fn about(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    audiences: &[i64],
    conversation: ConversationId,
) -> Result<Option<(Value, Vec<FiledDocument>)>> {
    let head = sqlx::query!(
        r#"select c.subject, contact_name, contact_email, status, m.address as inbox, c.created_at, last_message_at,
               topic, topic_by, urgency, risk, risk_reasons,
               array(select name from conversation_tags t join tags on tags.workspace_id = $1 and tags.id = t.tag_id
                     where t.workspace_id = $1 and t.conversation_id = c.id order by 1) as "tags!: Vec<String>"
           from conversations c join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
           where c.workspace_id = $1 and c.id = $2 and c.audience = any($3)"#,
        workspace.0,
        conversation.0,
        audiences
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(head) = head else { return Ok(None) };
    let notes = sqlx::query!(
        r#"select id as "id: NoteId", at, author, body from notes where workspace_id = $1 and conversation_id = $2 order by id"#,
        workspace.0,
        conversation.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let events = sqlx::query!(
        "select at, actor, event, data from timeline_events where workspace_id = $1 and conversation_id = $2 order by at, item",
        workspace.0,
        conversation.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let filed = filed(&mut *conn, workspace, conversation).await?;
    let requests = requests(&mut *conn, workspace, conversation).await?;
    let app_sent = answered(conn, workspace, conversation).await?;
    let notes: Vec<Value> = notes
        .into_iter()
        .map(
            |note| json!({ "id": note.id, "at": written(note.at), "author": note.author, "body": note.body }),
        )
        .collect();
    let events: Vec<Value> = events
        .into_iter()
        .map(|one| json!({ "at": written(one.at), "actor": one.actor, "event": one.event, "data": one.data }))
        .collect();
    let documents: Vec<&Value> = filed.iter().map(|one| &one.told).collect();
    let about = json!({
        "id": conversation, "subject": head.subject,
        "contact": { "name": head.contact_name, "email": head.contact_email }, "status": head.status,
        "inbox": head.inbox, "createdAt": written(head.created_at), "lastMessageAt": written(head.last_message_at),
        // What was made of them is theirs to know, too.
        "topic": head.topic, "topicBy": head.topic_by, "urgency": head.urgency, "risk": head.risk,
        "riskReasons": head.risk_reasons,
        "tags": head.tags, "notes": notes, "events": events, "documents": documents, "documentRequests": requests,
        "appSent": app_sent,
    });
    Ok(Some((about, filed)))
}

/// A document that is filed with a conversation. Mostly it came with a mail, and its bytes are there.
pub struct FiledDocument {
    pub name: String,
    pub blob: String,
    told: Value,
}

async fn filed(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<Vec<FiledDocument>> {
    let rows = sqlx::query!(
        r#"select id as "id: DocumentId", kind, title, filename, fields, content_type, size, blob, created_at from documents
           where workspace_id = $1 and conversation_id = $2 order by id"#,
        workspace.0,
        conversation.0
    )
    .fetch_all(conn)
    .await?;
    let each = rows.into_iter().map(|row| FiledDocument {
        name: file_name(row.id, 0, &row.filename),
        told: json!({ "id": row.id, "kind": row.kind, "title": row.title, "filename": row.filename, "fields": row.fields,
                      "contentType": row.content_type, "size": row.size, "createdAt": written(row.created_at) }),
        blob: row.blob,
    });
    Ok(each.collect())
}

async fn requests(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<Vec<Value>> {
    let rows = sqlx::query!(
        r#"select id as "id: DocumentRequestId", message_id as "message: MessageId", state, due_date, created_at, ended_at,
               array(select jsonb_build_object('label', label, 'description', description, 'required', required, 'state', i.state)
                     from document_request_items i where i.workspace_id = $1 and request_id = r.id
                     order by position) as "items!: Vec<Value>"
           from document_requests r where workspace_id = $1 and conversation_id = $2 order by id"#,
        workspace.0,
        conversation.0
    )
    .fetch_all(conn)
    .await?;
    let each = rows.into_iter().map(|row| {
        json!({ "id": row.id, "messageId": row.message, "state": row.state, "dueDate": row.due_date, "items": row.items,
                "createdAt": written(row.created_at), "endedAt": row.ended_at.map(written) })
    });
    Ok(each.collect())
}

/// Lines of app mail that are in memory at once.
pub const APP_MAIL: i64 = 200;

struct SentAppMail {
    message_id: String,
    reference: Option<String>,
    recipients: Vec<String>,
    subject: String,
    body_text: Option<String>,
    body_html: Option<String>,
    recorded_at: DateTime<Utc>,
    sent_at: Option<DateTime<Utc>>,
}

impl SentAppMail {
    fn into_json(self) -> Value {
        json!({
            "messageId": self.message_id, "reference": self.reference, "to": self.recipients, "subject": self.subject,
            "text": self.body_text, "html": self.body_html, "recordedAt": written(self.recorded_at),
            "sentAt": self.sent_at.map(written),
        })
    }
}

/// What an app sent by itself, and the conversation answers.
async fn answered(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<Option<Value>> {
    let sent = sqlx::query_as!(
        SentAppMail,
        "select message_id, reference, recipients, subject, body_text, body_html, recorded_at, sent_at from app_mail
         where workspace_id = $1 and conversation_id = $2",
        workspace.0,
        conversation.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(sent.map(SentAppMail::into_json))
}

/// What apps sent by themselves and nobody answered, to one contact or to everybody, in the order of Message-IDs.
pub async fn unanswered(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    contact: Option<&str>,
    after: &str,
) -> Result<Vec<(String, Value)>> {
    let sent = sqlx::query_as!(
        SentAppMail,
        "select message_id, reference, recipients, subject, body_text, body_html, recorded_at, sent_at from app_mail
         where workspace_id = $1 and livemode and conversation_id is null and message_id > $2
           and ($3::text is null or exists (select from unnest(recipients) one where lower(one) = $3))
         order by message_id limit $4",
        workspace.0,
        after,
        contact,
        APP_MAIL
    )
    .fetch_all(conn)
    .await?;
    Ok(sent.into_iter().map(|one| (one.message_id.clone(), one.into_json())).collect())
}
