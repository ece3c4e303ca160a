//! What left in the sandbox: the ledger that its mailer writes instead of sending, newest first, by pages.
//! Only conversations of the sandbox are in it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, EventId, MessageId, WorkspaceId};
use rookery_core::workspace::access::SANDBOX;

pub struct LedgerEntry {
    /// Its place in the ledger: a number in time order.
    pub place: EventId,
    pub conversation: ConversationId,
    pub message: MessageId,
    pub recipient: String,
    pub subject: String,
    pub at: DateTime<Utc>,
}

pub async fn list(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    before: Option<EventId>,
    most: i64,
) -> Result<Vec<LedgerEntry>> {
    Ok(sqlx::query_as!(
        LedgerEntry,
        r#"select mail.id as "place: EventId", conversation_id as "conversation: ConversationId",
                  message_id as "message: MessageId", recipient, c.subject, at
           from (
               select id, conversation_id, message_id, recipient, at from sandbox_mail
               where workspace_id = $1 and id < $2 order by id desc limit $3) mail
           join conversations c on c.workspace_id = $1 and c.id = mail.conversation_id and c.audience = $4
           order by mail.id desc"#,
        workspace.0,
        before.map_or(i64::MAX, |place| place.0),
        most,
        SANDBOX
    )
    .fetch_all(conn)
    .await?)
}
