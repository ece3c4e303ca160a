//! The timeline (specification 2.4): messages, notes and events of one conversation, oldest first.
//!
//! Every item takes the conversation's next number when it is written, so items of one instant keep their
//! order. A read has so many items and goes on from a cursor. Timeline entries and webhook events are two things and share no type.

pub mod listed;

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::conversations::messages::message::{Direction, MessageStatus};
use crate::workspace::access::By;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId, MessageId, NotAnId, NoteId, WorkspaceId};
use rookery_base::store::db::Tx;

/// Characters of a message's text that a read shows.
pub const SHOWN_TEXT: i32 = 8_000;

/// How much of a timeline one read has.
#[derive(Clone, Copy, Debug)]
pub struct TimelineLimit {
    pub items: i64,
    /// Of texts, attachments' names and events' data together; one item alone may have more.
    pub bytes: i64,
}

/// What a read of a conversation has: most are whole with it. The bytes are those of as many mails in Latin letters, so
/// that other scripts, notes and long lists of attachments are what they cut.
pub const MOST: TimelineLimit = TimelineLimit { items: 500, bytes: 500 * SHOWN_TEXT as i64 };

/// Items in order, oldest first, and where to go on when there are earlier ones.
#[derive(Debug)]
pub struct TimelinePage {
    pub items: Vec<TimelinePiece>,
    pub earlier: Option<TimelineCursor>,
}

/// The place of an item: those before it were earlier. Written as microseconds and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineCursor {
    at: DateTime<Utc>,
    item: i32,
}

#[derive(Debug)]
pub enum TimelinePiece {
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
    /// Whom it is addressed to openly; unknown of what was stored before this was kept, and of what goes to the contact.
    pub to: Option<Vec<String>>,
    pub cc: Option<Vec<String>>,
    /// Of mail that came in: whether the sender's domain confirmed it, or a proof on a secure page.
    pub sender_confirmed: Option<bool>,
    /// Its words are sealed: `text` says only that.
    pub secure: bool,
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
    /// By which the message's HTML names it; not part of any answer either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
    /// The bytes are those of a saved reply or of another message, and do not go with this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borrowed: bool,
    /// SHA-256 of the bytes, by which a document is found; not there of what was stored before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// The document of the conversation that it is, where somebody asked.
    #[serde(skip)]
    pub document: Option<DocumentId>,
}

/// The newest items, or the newest before a place, in one round trip. It reads no more rows than it gives, however
/// long the timeline is.
pub async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    before: Option<TimelineCursor>,
    most: TimelineLimit,
) -> Result<TimelinePage> {
    let rows = sqlx::query!(
        r#"with newest as (
               (select 'message' as kind, item, at, id, direction, status, from_name, from_email, text, attachments,
                       null as name, null::jsonb as data, verdict, to_addresses, cc_addresses, channel
                from messages where workspace_id = $1 and conversation_id = $2 and item >= 0
                  and (at, item) < (coalesce($4::timestamptz, 'infinity'), coalesce($5::integer, 2147483647))
                order by at desc, item desc limit $6::bigint + 1)
               union all
               (select 'note', item, at, id, null, null, null, null, body, null, author, null, null, null, null, null
                from notes where workspace_id = $1 and conversation_id = $2 and item >= 0
                  and (at, item) < (coalesce($4::timestamptz, 'infinity'), coalesce($5::integer, 2147483647))
                order by at desc, item desc limit $6::bigint + 1)
               union all
               (select 'event', item, at, null, null, null, actor, null, null, null, event, data, null, null, null, null
                from timeline_events where workspace_id = $1 and conversation_id = $2
                  and (at, item) < (coalesce($4::timestamptz, 'infinity'), coalesce($5::integer, 2147483647))
                order by at desc, item desc limit $6::bigint + 1)
               order by at desc, item desc limit $6::bigint + 1),
           -- Only now, so that no more texts are unpacked than can be shown.
           shown as (
               select kind, item, at, id, direction, status, from_name, from_email,
                      case kind when 'message' then left(text, $3) else text end as text, attachments, name, data, to_addresses, cc_addresses,
                      coalesce(channel = 'secure', false) as secure,
                      case when direction = 'inbound'
                           then channel = 'secure' or coalesce(verdict ->> 'dmarc' = 'pass', false) end as confirmed
               from newest),
           counted as (
               select *, count(*) over () as found, row_number() over downwards as place,
                      sum(octet_length(coalesce(text, '')) + octet_length(coalesce(attachments::text, ''))
                          + octet_length(coalesce(data::text, ''))
                          + octet_length(coalesce((to_addresses || cc_addresses)::text, ''))) over downwards as bytes
               from shown window downwards as (order by at desc, item desc rows unbounded preceding))
           select kind as "kind!", item as "item!", at as "at!", id, direction as "direction: Direction",
                   status as "status: MessageStatus", from_name, from_email, text,
                  attachments as "attachments: Json<Vec<Attachment>>", name, data, to_addresses, cc_addresses, confirmed, secure as "secure!", found as "found!"
           from counted where place <= $6 and (bytes <= $7 or place = 1)
           order by at, item"#,
        workspace.0,
        conversation.0,
        SHOWN_TEXT,
        before.map(|before| before.at),
        before.map(|before| before.item),
        most.items,
        most.bytes as _
    )
    .fetch_all(conn)
    .await?;
    let cut = rows.first().filter(|oldest| oldest.found > rows.len() as i64);
    let earlier = cut.map(|oldest| TimelineCursor { at: oldest.at, item: oldest.item });
    let items = rows
        .into_iter()
        .map(|row| match row.kind.as_str() {
            "message" => TimelinePiece::Message(Message {
                id: MessageId(row.id.unwrap_or_default()),
                at: row.at,
                direction: row.direction.unwrap_or(Direction::Inbound),
                from_name: row.from_name,
                from_email: row.from_email.unwrap_or_default(),
                status: row.status,
                text: row.text.unwrap_or_default(),
                attachments: row.attachments.map(|Json(attachments)| attachments).unwrap_or_default(),
                to: row.to_addresses,
                cc: row.cc_addresses,
                sender_confirmed: row.confirmed,
                secure: row.secure,
            }),
            "note" => TimelinePiece::Note {
                id: NoteId(row.id.unwrap_or_default()),
                at: row.at,
                author: row.name.unwrap_or_default(),
                body: row.text.unwrap_or_default(),
            },
            _ => TimelinePiece::Event {
                at: row.at,
                actor: row.from_name.unwrap_or_default(),
                event: row.name.unwrap_or_default(),
                data: row.data.unwrap_or_default(),
            },
        })
        .collect();
    Ok(TimelinePage { items, earlier })
}

impl fmt::Display for TimelineCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.timestamp_micros(), self.item)
    }
}

impl FromStr for TimelineCursor {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (at, item) = text.split_once('.').ok_or(NotAnId)?;
        let at = at.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(NotAnId)?;
        Ok(Self { at, item: item.parse().map_err(|_| NotAnId)? })
    }
}

/// Writes an event item that is in the list (`listed`). The conversation's row is locked by taking the number, so items never
/// share one.
pub async fn append(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    by: &By,
    event: &str,
    data: Value,
) -> Result<()> {
    debug_assert_eq!(listed::problem(event, &data), None);
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
