//! Earlier conversations with the customer of a conversation (APP-4): those that the one who looks can see, in any of their
//! inboxes, the newest first.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::conversations::status::Status;
use crate::workspace::access::Actor;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;

/// More than so many are not counted.
pub const MOST: i64 = 100;

#[derive(Debug)]
pub struct Past {
    pub id: ConversationId,
    pub subject: String,
    pub status: Status,
    pub inbox: String,
    pub last_message_at: DateTime<Utc>,
}

/// The newest of them, and which they all are.
#[derive(Debug, Default)]
pub struct Earlier {
    pub newest: Vec<Past>,
    pub all: Vec<ConversationId>,
}

/// Without the conversation itself. A conversation whose customer has no address has none.
pub async fn with_contact(
    conn: &mut PgConnection,
    who: &Actor,
    conversation: &Conversation,
    shown: i64,
) -> Result<Earlier> {
    let Some(email) = &conversation.contact.email else { return Ok(Earlier::default()) };
    let rows = sqlx::query!(
        r#"with past as materialized (
               select branch.id from unnest($2::bigint[]) seen(audience)
               cross join lateral (
                   select c.id from conversations c
                   where c.workspace_id = $1 and c.audience = seen.audience and c.contact_email = $3 and c.id <> $4
                   order by c.id desc limit $5) branch
               order by branch.id desc limit $5)
           select c.id as "id!: ConversationId", subject as "subject!", status as "status!: Status",
               last_message_at as "last_message_at!",
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = mailbox_id) as "inbox!",
               array(select id from past) as "all!: Vec<ConversationId>"
           from (select id from past order by id desc limit $6) newest
           cross join lateral (select * from conversations
                               where workspace_id = $1 and conversations.id = newest.id offset 0) c
           order by c.id desc"#,
        who.workspace.0,
        &who.audiences(),
        email,
        conversation.id.0,
        MOST,
        shown
    )
    .fetch_all(conn)
    .await?;
    let mut earlier = Earlier::default();
    for row in rows {
        earlier.all = row.all;
        earlier.newest.push(Past {
            id: row.id,
            subject: row.subject,
            status: row.status,
            inbox: row.inbox,
            last_message_at: row.last_message_at,
        });
    }
    Ok(earlier)
}
