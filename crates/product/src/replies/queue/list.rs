//! The approval queue (specification 3.3): drafts that agents and assistants wrote and that wait for a person, oldest
//! first, of the inboxes the person can see.
//!
//! One short branch of an index for each inbox, merged, so that its cost follows the page and not the workspace.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::replies::queue::news::{DraftNews, news};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, NotAnId};
use rookery_core::conversations::conversation::Contact;
use rookery_core::conversations::messages::message::{Author, Origin};
use rookery_core::workspace::access::Actor;

/// How much of a draft stands for it when it has no summary.
const SNIPPET: i32 = 200;

/// A draft in the queue.
#[derive(Debug)]
pub struct WaitingDraft {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub at: DateTime<Utc>,
    pub author: Author,
    /// Of whoever drafted it.
    pub author_name: String,
    /// What they say of it.
    pub summary: Option<String>,
    /// How it begins.
    pub snippet: String,
    pub contact: Contact,
    pub subject: String,
    pub inbox: String,
    pub risk: Option<String>,
    /// A person changed it.
    pub is_edited: bool,
    /// When somebody last did, whatever it is now.
    pub edited_at: Option<DateTime<Utc>>,
    /// How many documents it asks for.
    pub asks: i64,
    /// What came after it was written.
    pub news: Option<DraftNews>,
}

impl WaitingDraft {
    pub fn place(&self) -> QueueCursor {
        QueueCursor { at: self.at, message: self.message }
    }

    /// It may be approved together with others.
    pub fn is_plain(&self) -> bool {
        self.risk.is_none() && self.news.is_none()
    }
}

/// The place of a draft: those after it are later. Written as microseconds and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueCursor {
    pub at: DateTime<Utc>,
    pub message: MessageId,
}

#[derive(Debug)]
pub struct DraftQueuePage {
    pub drafts: Vec<WaitingDraft>,
    /// Where to go on.
    pub next: Option<QueueCursor>,
}

/// Drafts after a place, oldest first.
pub async fn list(
    conn: &mut PgConnection,
    who: &Actor,
    after: Option<QueueCursor>,
    limit: i64,
) -> Result<DraftQueuePage> {
    let rows = sqlx::query!(
        r#"select d.id as "message: MessageId", d.conversation_id as "conversation: ConversationId", d.at,
               d.origin as "origin: Origin", d.author_type, d.author_id,
               (select name from agents where workspace_id = $1 and agents.id = d.author_id) as author_name,
               d.summary, left(coalesce(d.written, d.text), $6) as "snippet!",
               coalesce(d.drafted_body <> coalesce(d.written, d.text), false) as "is_edited!", d.edited_at,
               (select count(*) from document_requests r
                join document_request_items i on i.workspace_id = r.workspace_id and i.request_id = r.id
                where r.workspace_id = $1 and r.conversation_id = d.conversation_id and r.message_id = d.id)
                   as "asks!",
               c.contact_name, c.contact_email, c.subject, c.risk,
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "inbox!"
           from (select branch.id, branch.conversation_id, branch.at
                 from mailboxes
                 cross join lateral (
                     select id, conversation_id, at from messages
                     where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'draft'
                       and author_type is distinct from 'user'
                       and (at, id) > (coalesce($3::timestamptz, '-infinity'), coalesce($4::bigint, 0))
                     order by at, id limit $5::bigint) branch
                 where mailboxes.workspace_id = $1 and mailboxes.audience = any($2)
                 order by branch.at, branch.id limit $5::bigint) page
           cross join lateral (select * from messages
                               where workspace_id = $1 and conversation_id = page.conversation_id
                                 and messages.id = page.id offset 0) d
           cross join lateral (select * from conversations
                               where workspace_id = $1 and conversations.id = page.conversation_id
                                 and audience = any($2) offset 0) c
           order by page.at, page.id"#,
        who.workspace.0,
        &who.audiences(),
        after.map(|after| after.at),
        after.map(|after| after.message.0),
        limit + 1,
        SNIPPET
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut drafts: Vec<WaitingDraft> = rows
        .into_iter()
        .map(|row| {
            let author = Author::stored(row.origin, row.author_type.as_deref(), row.author_id);
            WaitingDraft {
                message: row.message,
                conversation: row.conversation,
                at: row.at,
                author,
                author_name: author_name(author, row.author_name),
                summary: row.summary,
                snippet: row.snippet,
                contact: Contact { name: row.contact_name, email: row.contact_email },
                subject: row.subject,
                inbox: row.inbox,
                risk: row.risk,
                is_edited: row.is_edited,
                edited_at: row.edited_at,
                asks: row.asks,
                news: None,
            }
        })
        .collect();
    let more = drafts.len() as i64 > limit;
    drafts.truncate(limit as usize);
    let ids: Vec<MessageId> = drafts.iter().map(|draft| draft.message).collect();
    for news in news(conn, who.workspace, &ids).await? {
        if let Some(draft) = drafts.iter_mut().find(|draft| draft.message == news.draft) {
            draft.news = Some(news);
        }
    }
    let last = drafts.last().filter(|_| more);
    let next = last.map(WaitingDraft::place);
    Ok(DraftQueuePage { drafts, next })
}

/// The draft that comes after a place, or the oldest when none does. Never `but`, which was just dealt with.
pub async fn next(
    conn: &mut PgConnection,
    who: &Actor,
    after: Option<QueueCursor>,
    but: MessageId,
) -> Result<Option<QueueCursor>> {
    for after in [after, None] {
        // Two, so that one is left when the first is the one that is passed over.
        let page = list(conn, who, after, 2).await?;
        let next = page.drafts.iter().map(WaitingDraft::place).find(|next| next.message != but);
        if next.is_some() {
            return Ok(next);
        }
    }
    Ok(None)
}

/// What whoever drafted a message is called.
pub fn author_name(author: Author, stored: Option<String>) -> String {
    match (author, stored) {
        (_, Some(name)) => name,
        (Author::Assistant, None) => "Assistant".to_owned(),
        (Author::Person(_) | Author::Agent(_), None) => "Somebody who left".to_owned(),
        (Author::Service, None) => "Rookery".to_owned(),
    }
}

impl fmt::Display for QueueCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.timestamp_micros(), self.message)
    }
}

impl FromStr for QueueCursor {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (at, message) = text.split_once('.').ok_or(NotAnId)?;
        let at = at.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(NotAnId)?;
        Ok(Self { at, message: message.parse()? })
    }
}
