//! One draft as a person looks at it before approving (specification 3.3): what was drafted and what people made of it,
//! the customer's last mail beside it, and everything that came since.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::replies::queue::list::{QueueCursor, WaitingDraft, author_name};
use crate::replies::queue::news::{self, DraftNews, news};
use rookery_base::error::{Error, NO_MESSAGE, Result};
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_core::conversations::messages::message::{Author, Direction, MessageStatus, Origin};
use rookery_core::conversations::timeline::{Attachment, SHOWN_TEXT};
use rookery_core::workspace::access::Actor;

#[derive(Debug)]
pub struct Review {
    pub message: MessageId,
    pub conversation: Conversation,
    pub status: MessageStatus,
    pub at: DateTime<Utc>,
    pub sends_at: Option<DateTime<Utc>>,
    pub author: Author,
    pub author_name: String,
    pub summary: Option<String>,
    /// The words that somebody wrote; all that leaves is `outgoing/whole_mail`.
    pub body: String,
    /// What was drafted, when somebody changed it.
    pub drafted: Option<String>,
    pub edited_at: Option<DateTime<Utc>>,
    pub edited_by: Option<String>,
    pub approved_by: Option<String>,
    /// The mail it answers, and what came after it, oldest first.
    pub letters: Vec<ReviewLetter>,
    pub news: Option<DraftNews>,
}

/// A mail beside the draft.
#[derive(Debug)]
pub struct ReviewLetter {
    pub id: MessageId,
    pub at: DateTime<Utc>,
    pub direction: Direction,
    pub from: String,
    /// The sender's address, if `from` is a name.
    pub email: Option<String>,
    pub text: String,
    pub attachments: Vec<Attachment>,
    /// It came after the draft.
    pub is_new: bool,
}

impl Review {
    pub fn place(&self) -> QueueCursor {
        QueueCursor { at: self.at, message: self.message }
    }
}

/// A message of ours that someone can see. It may be no draft any more. `listed` is its row of the queue, when that was
/// read at the same moment.
pub async fn find(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    message: MessageId,
    listed: Option<&WaitingDraft>,
) -> Result<Review> {
    let row = sqlx::query!(
        r#"select m.conversation_id as "conversation: ConversationId", m.status as "status!: MessageStatus", m.at, m.item,
               m.sends_at, m.origin as "origin: Origin", m.author_type, m.author_id,
               coalesce((select name from people where workspace_id = $1 and people.id = m.author_id),
                        (select name from agents where workspace_id = $1 and agents.id = m.author_id)) as author_name,
               m.summary, coalesce(m.written, m.text) as "body!",
               case when m.drafted_body <> coalesce(m.written, m.text) then m.drafted_body end as drafted, m.edited_at,
               (select name from people where workspace_id = $1 and people.id = m.edited_by) as edited_by,
               (select name from people where workspace_id = $1 and people.id = m.approved_by) as approved_by
           from messages m
           where m.workspace_id = $1 and m.id = $2 and m.direction = 'outbound'"#,
        who.workspace.0,
        message.0
    )
    .fetch_optional(&mut *conn)
    .await?
    .ok_or(NO_MESSAGE)?;
    let conversation = find_visible(conn, who, now, &row.conversation.to_string()).await.map_err(missing)?;
    let news = match listed {
        Some(listed) => listed.news,
        None => news(conn, who.workspace, &[message]).await?.pop(),
    };
    let letters = letters(conn, who.workspace, row.conversation, row.at, row.item, message).await?;
    let author = Author::stored(row.origin, row.author_type.as_deref(), row.author_id);
    Ok(Review {
        message,
        conversation,
        status: row.status,
        at: row.at,
        sends_at: row.sends_at,
        author,
        author_name: author_name(author, row.author_name),
        summary: row.summary,
        body: row.body,
        drafted: row.drafted,
        edited_at: row.edited_at,
        edited_by: row.edited_by,
        approved_by: row.approved_by,
        letters,
        news,
    })
}

/// The customer's last mail before a place of the timeline, and what came after it.
async fn letters(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    at: DateTime<Utc>,
    item: i32,
    but: MessageId,
) -> Result<Vec<ReviewLetter>> {
    let rows = sqlx::query!(
        r#"select id as "id!: MessageId", at as "at!", direction as "direction!: Direction", from_name,
               from_email as "from_email!", left(text, $6) as "text!",
               attachments as "attachments!: Json<Vec<Attachment>>", is_new as "is_new!"
           from ((select id, at, item, direction, from_name, from_email, text, attachments, false as is_new from messages
                  where workspace_id = $1 and conversation_id = $2 and item >= 0 and direction = 'inbound'
                    and not automatic and (at, item) < ($3, $4)
                  order by at desc, item desc limit 1)
                 union all
                 (select id, at, item, direction, from_name, from_email, text, attachments, true from messages
                  where workspace_id = $1 and conversation_id = $2 and item >= 0 and (at, item) > ($3, $4)
                    and id <> $5 and status is distinct from 'draft'
                    and ((direction = 'inbound' and not automatic) or author_type is not null or origin = 'assistant')
                  order by at desc, item desc limit $7)) beside
           order by at, item"#,
        workspace.0,
        conversation.0,
        at,
        item,
        but.0,
        SHOWN_TEXT,
        news::MOST
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let name = row.from_name.filter(|name| !name.is_empty() && *name != row.from_email);
            ReviewLetter {
                id: row.id,
                at: row.at,
                direction: row.direction,
                email: name.is_some().then(|| row.from_email.clone()),
                from: name.unwrap_or(row.from_email),
                text: row.text,
                attachments: row.attachments.0,
                is_new: row.is_new,
            }
        })
        .collect())
}

/// Hidden, foreign and unknown are the same.
fn missing(error: Error) -> Error {
    match error {
        Error::Missing(_) => NO_MESSAGE,
        other => other,
    }
}
