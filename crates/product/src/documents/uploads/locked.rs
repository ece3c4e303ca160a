//! A request, taken for a change: its conversation first, as everybody does, then its row. What is read then is true until
//! the change is made, so nothing is completed twice.

use chrono::{DateTime, Utc};

use crate::documents::items;
use crate::documents::progress::RequestState;
use crate::documents::request::LINK_LIVES;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentRequestId, MessageId};
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::{lock_any, lock_visible};
use rookery_core::workspace::access::Actor;

pub const NO_REQUEST: Error = Error::Missing("No such request for documents.");

/// How often its conversation may become part of another while somebody waits for it.
const MOST_MERGES: usize = 10;

pub struct Request {
    pub id: DocumentRequestId,
    pub conversation: Locked,
    /// The one that carried it.
    pub message: Option<MessageId>,
    pub state: RequestState,
    pub language: Option<Language>,
    pub generation: i32,
    pub opened_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
    pub reminders: i16,
    /// When everything was in for the first time.
    pub completed_at: Option<DateTime<Utc>>,
}

/// Of any conversation, for what customers and the service do.
pub async fn any(tx: &mut Tx<'_>, id: DocumentRequestId) -> Result<Request> {
    lock(tx, id, None).await
}

/// Of a conversation that somebody can see. Hidden, foreign and unknown ones are the same error.
pub async fn visible(tx: &mut Tx<'_>, who: &Actor, id: DocumentRequestId) -> Result<Request> {
    lock(tx, id, Some(who)).await
}

async fn lock(tx: &mut Tx<'_>, id: DocumentRequestId, who: Option<&Actor>) -> Result<Request> {
    for _ in 0..MOST_MERGES {
        let conversation = conversation_of(tx, id).await?;
        let locked = match who {
            Some(who) => lock_visible(tx, who, &conversation.to_string()).await,
            None => lock_any(tx, conversation).await,
        };
        let conversation = locked.map_err(|error| match error {
            Error::Missing(_) => NO_REQUEST,
            other => other,
        })?;
        let workspace = tx.workspace().0;
        let row = sqlx::query!(
            r#"select message_id as "message: MessageId", state as "state: RequestState", link_generation, language as "language: Language",
                   coalesce(opened_at, created_at) as "opened_at!", link_ends_at, reminders, completed_at
               from document_requests where workspace_id = $1 and id = $2 and conversation_id = $3 for update"#,
            workspace,
            id.0,
            conversation.id.0
        )
        .fetch_optional(&mut **tx)
        .await?;
        // Its conversation became part of another meanwhile.
        let Some(row) = row else { continue };
        items::write_down(tx, id).await?;
        return Ok(Request {
            id,
            conversation,
            message: row.message,
            state: row.state,
            language: row.language,
            generation: row.link_generation,
            opened_at: row.opened_at,
            ends_at: row.link_ends_at.unwrap_or(row.opened_at + LINK_LIVES),
            reminders: row.reminders,
            completed_at: row.completed_at,
        });
    }
    Err(Error::internal("a request is not where its conversation is"))
}

async fn conversation_of(tx: &mut Tx<'_>, id: DocumentRequestId) -> Result<ConversationId> {
    let workspace = tx.workspace().0;
    sqlx::query_scalar!(
        r#"select conversation_id as "conversation: ConversationId" from document_requests
           where workspace_id = $1 and id = $2"#,
        workspace,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_REQUEST)
}
