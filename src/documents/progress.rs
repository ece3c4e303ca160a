//! How far requests for documents are, as the timeline shows them beside the messages that carry them: what was asked for,
//! until when, and what came so far (specification 2.9).

use std::collections::HashMap;

use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::documents::items::{Item, ItemState};
use crate::error::Result;
use crate::ids::{ConversationId, MessageId, WorkspaceId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum RequestState {
    /// Its mail has not left.
    Draft,
    Open,
    Completed,
    Cancelled,
    Expired,
}

#[derive(Debug)]
pub struct Progress {
    pub state: RequestState,
    pub due: Option<NaiveDate>,
    pub items: Vec<(Item, ItemState)>,
}

impl Progress {
    /// What came, or was ticked off.
    pub fn came(&self) -> usize {
        self.items.iter().filter(|(_, state)| !state.is_missing()).count()
    }
}

/// Of the requests that these messages carry. What the version before this one asked for has no rows of items.
pub async fn of_messages(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    messages: &[MessageId],
) -> Result<HashMap<MessageId, Progress>> {
    let rows = sqlx::query!(
        r#"select r.message_id as "message!: MessageId", r.state as "request_state: RequestState", due_date,
               i.label as "label!", i.description, i.required as "required!", i.state as "state!: ItemState"
           from document_requests r
           cross join lateral (
               select label, description, required, state, position from document_request_items
               where workspace_id = $1 and request_id = r.id
               union all
               select item ->> 'label', item ->> 'description', (item ->> 'required')::boolean, 'open', position
               from jsonb_array_elements(r.items) with ordinality asked (item, position)
               where not exists (select from document_request_items where workspace_id = $1 and request_id = r.id)) i
           where r.workspace_id = $1 and r.conversation_id = $2 and r.message_id = any($3)
           order by r.id, i.position"#,
        workspace.0,
        conversation.0,
        messages as &[MessageId]
    )
    .fetch_all(conn)
    .await?;
    let mut found: HashMap<MessageId, Progress> = HashMap::new();
    for row in rows {
        let own = found.entry(row.message).or_insert_with(|| Progress {
            state: row.request_state,
            due: row.due_date,
            items: Vec::new(),
        });
        let item = Item { label: row.label, description: row.description, required: row.required };
        own.items.push((item, row.state));
    }
    Ok(found)
}
