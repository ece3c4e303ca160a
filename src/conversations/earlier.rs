//! Earlier conversations with the customer of a conversation (APP-4): those that the one who looks can see, in any of their
//! inboxes, the newest first.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::conversations::status::Status;
use crate::error::Result;
use crate::ids::ConversationId;
use crate::workspace::access::Actor;

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

/// Without the conversation itself. A conversation whose customer has no address has none.
pub async fn with_contact(
    conn: &mut PgConnection,
    who: &Actor,
    conversation: &Conversation,
) -> Result<Vec<Past>> {
    let Some(email) = &conversation.contact.email else { return Ok(Vec::new()) };
    Ok(sqlx::query_as!(
        Past,
        r#"select past.id as "id!: ConversationId", subject as "subject!", status as "status!: Status",
               last_message_at as "last_message_at!",
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = mailbox_id) as "inbox!"
           from unnest($2::bigint[]) seen(audience)
           cross join lateral (
               select * from conversations c
               where c.workspace_id = $1 and c.audience = seen.audience and c.contact_email = $3 and c.id <> $4
               order by c.id desc limit $5) past
           order by past.id desc limit $5"#,
        who.workspace.0,
        &who.audiences(),
        email,
        conversation.id.0,
        MOST
    )
    .fetch_all(conn)
    .await?)
}
