//! The timeline (specification 2.4): messages, notes and events of one conversation, oldest first.
//!
//! Every item takes the conversation's next number when it is written, so items of one instant keep their
//! order. Timeline entries and webhook events are two things and share no type.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::conversations::message::{Direction, MessageStatus};
use crate::db::Tx;
use crate::error::Result;
use crate::ids::{ConversationId, MessageId, NoteId, WorkspaceId};
use crate::workspace::access::By;

/// Characters of a message's text that a read shows.
pub const SHOWN_TEXT: i32 = 8_000;

#[derive(Debug)]
pub enum Item {
    Message(Message),
    Note { id: NoteId, at: DateTime<Utc>, author: String, body: String },
    Event { at: DateTime<Utc>, actor: String, event: String, data: Value },
}

#[derive(Debug)]
pub struct Message {
    pub id: MessageId,
    pub at: DateTime<Utc>,
    pub direction: Direction,
    pub from_name: Option<String>,
    pub from_email: String,
    pub status: Option<MessageStatus>,
    pub text: String,
    pub attachments: Vec<Attachment>,
    /// Of mail that came in: whether the sender's domain confirmed it.
    pub sender_confirmed: Option<bool>,
}

/// A file that came with a message, as stored in the message's row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub filename: String,
    pub content_type: String,
    pub size: i64,
    /// Where the bytes are; not part of any answer.
    pub blob: String,
}

/// The whole timeline in one round trip.
pub async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<Vec<Item>> {
    let rows = sqlx::query!(
        r#"select 'message' as "kind!", item as "item!", at as "at!", id, direction as "direction: Direction",
                  status as "status: MessageStatus", from_name, from_email,
                  left(text, $3) as text, attachments as "attachments: Json<Vec<Attachment>>",
                  null as name, null::jsonb as data,
                  case when direction = 'inbound' then coalesce(verdict ->> 'dmarc' = 'pass', false) end as confirmed
           from messages where workspace_id = $1 and conversation_id = $2
           union all
           select 'note', item, at, id, null, null, null, null, body, null, author, null, null
           from notes where workspace_id = $1 and conversation_id = $2
           union all
           select 'event', item, at, null, null, null, actor, null, null, null, event, data, null
           from timeline_events where workspace_id = $1 and conversation_id = $2
           order by 3, 2"#,
        workspace.0, conversation.0, SHOWN_TEXT)
        .fetch_all(conn)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| match row.kind.as_str() {
            "message" => Item::Message(Message {
                id: MessageId(row.id.unwrap_or_default()),
                at: row.at,
                direction: row.direction.unwrap_or(Direction::Inbound),
                from_name: row.from_name,
                from_email: row.from_email.unwrap_or_default(),
                status: row.status,
                text: row.text.unwrap_or_default(),
                attachments: row.attachments.map(|Json(attachments)| attachments).unwrap_or_default(),
                sender_confirmed: row.confirmed,
            }),
            "note" => Item::Note {
                id: NoteId(row.id.unwrap_or_default()),
                at: row.at,
                author: row.name.unwrap_or_default(),
                body: row.text.unwrap_or_default(),
            },
            _ => Item::Event {
                at: row.at,
                actor: row.from_name.unwrap_or_default(),
                event: row.name.unwrap_or_default(),
                data: row.data.unwrap_or_default(),
            },
        })
        .collect())
}

/// Writes an event item. The conversation's row is locked by taking the number, so items never share one.
pub async fn append(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    by: &By,
    event: &str,
    data: Value,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "with numbered as (
             update conversations set last_item = last_item + 1, last_item_at = $3 where workspace_id = $1 and id = $2
             returning last_item)
         insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
         select $1, $2, last_item, $3, $4, $5, $6 from numbered",
        workspace,
        conversation.0,
        now,
        by.name(),
        event,
        data
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
