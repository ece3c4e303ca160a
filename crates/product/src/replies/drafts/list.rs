//! What somebody has begun and not sent, as the page of their drafts lists it. Of one that will be a secure message only that
//! is shown.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::replies::drafts::DraftKind;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DraftId};
use rookery_core::conversations::secure::SHOWN;
use rookery_core::workspace::people::Person;

const MOST_LISTED: i64 = 50;

/// Something this person has not sent yet.
pub struct Unsent {
    pub id: DraftId,
    pub kind: DraftKind,
    pub conversation: Option<ConversationId>,
    pub subject: String,
    pub to: String,
    pub body: String,
    pub saved_at: DateTime<Utc>,
}

/// Newest first; what belongs to a conversation that they cannot see any more is left out.
pub async fn unsent(conn: &mut PgConnection, person: &Person) -> Result<Vec<Unsent>> {
    Ok(sqlx::query_as!(
        Unsent,
        r#"select d.id as "id: DraftId", kind as "kind: DraftKind", conversation_id as "conversation: ConversationId",
               coalesce(nullif(d.subject, ''), c.subject, '') as "subject!", to_line as "to", case when secure then $5 else left(body, 300) end as "body!",
               saved_at
           from written_drafts d
           left join conversations c on c.workspace_id = $1 and c.id = d.conversation_id
           where d.workspace_id = $1 and person_id = $2 and became is null
             and (conversation_id is null or c.audience = any($3))
           order by saved_at desc limit $4"#,
        person.workspace.0,
        person.id.0,
        &person.audiences(),
        MOST_LISTED,
        SHOWN
    )
    .fetch_all(conn)
    .await?)
}
