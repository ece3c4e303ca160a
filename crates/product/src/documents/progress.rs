//! How far requests for documents are, as the timeline shows them beside the messages that carry them: what was asked for,
//! until when, and what came so far (specification 2.9).

use std::collections::HashMap;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use crate::documents::items::{ChecklistItem, ItemState};
use rookery_base::error::Result;
use rookery_base::ids::{
    ConversationId, DocumentId, DocumentRequestId, MessageId, RequestItemId, WorkspaceId,
};

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum RequestState {
        /// Its mail has not left.
        Draft = "draft",
        Open = "open",
        Completed = "completed",
        Cancelled = "cancelled",
        Expired = "expired",
    }
}

#[derive(Debug)]
pub struct RequestProgress {
    pub id: DocumentRequestId,
    pub state: RequestState,
    pub due: Option<NaiveDate>,
    pub items: Vec<ItemProgress>,
}

/// An item of a request, and what came for it.
#[derive(Debug)]
pub struct ItemProgress {
    pub id: RequestItemId,
    pub item: ChecklistItem,
    pub state: ItemState,
    pub files: Vec<ReceivedFile>,
}

/// What came for an item over the page.
#[derive(Clone, Debug)]
pub struct ReceivedFile {
    pub document: DocumentId,
    pub filename: String,
    pub size: i64,
    pub received_at: DateTime<Utc>,
}

impl RequestProgress {
    /// What came, or was ticked off.
    pub fn came(&self) -> usize {
        self.items.iter().filter(|line| !line.state.is_missing()).count()
    }
}

/// Of the requests that these messages carry. What the version before this one asked for has no rows of items.
pub async fn of_messages(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    messages: &[MessageId],
) -> Result<HashMap<MessageId, RequestProgress>> {
    let rows = sqlx::query!(
        r#"select r.id as "request: DocumentRequestId", r.message_id as "message!: MessageId",
               r.state as "request_state: RequestState", due_date, i.id as "item!: RequestItemId",
               i.label as "label!", i.description, i.required as "required!", i.state as "state!: ItemState"
           from document_requests r
           cross join lateral (
               select id, label, description, required, state, position from document_request_items
               where workspace_id = $1 and request_id = r.id
               union all
               select r.id + position, item ->> 'label', item ->> 'description', (item ->> 'required')::boolean, 'open',
                   position
               from jsonb_array_elements(r.items) with ordinality asked (item, position)
               where not exists (select from document_request_items where workspace_id = $1 and request_id = r.id)) i
           where r.workspace_id = $1 and r.conversation_id = $2 and r.message_id = any($3)
           order by r.id, i.position"#,
        workspace.0,
        conversation.0,
        messages as &[MessageId]
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut found: HashMap<MessageId, RequestProgress> = HashMap::new();
    for row in rows {
        let own = found.entry(row.message).or_insert_with(|| RequestProgress {
            id: row.request,
            state: row.request_state,
            due: row.due_date,
            items: Vec::new(),
        });
        let item = ChecklistItem { label: row.label, description: row.description, required: row.required };
        own.items.push(ItemProgress { id: row.item, item, state: row.state, files: Vec::new() });
    }
    let has_something = |own: &RequestProgress| own.items.iter().any(|line| line.state != ItemState::Open);
    let requests: Vec<DocumentRequestId> =
        found.values().filter(|own| has_something(own)).map(|own| own.id).collect();
    for (item, file) in files(conn, workspace, &requests).await? {
        let mut lines = found.values_mut().flat_map(|own| own.items.iter_mut());
        if let Some(line) = lines.find(|line| line.id == item) {
            line.files.push(file);
        }
    }
    Ok(found)
}

/// What came for these requests, in the order it came.
pub async fn files(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    requests: &[DocumentRequestId],
) -> Result<Vec<(RequestItemId, ReceivedFile)>> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"select f.item_id as "item: RequestItemId", f.document_id as "document: DocumentId", f.filename, size,
               f.received_at
           from document_request_files f
           join documents d on d.workspace_id = $1 and d.id = f.document_id
           where f.workspace_id = $1 and f.request_id = any($2)
           order by f.received_at, f.id"#,
        workspace.0,
        requests as &[DocumentRequestId]
    )
    .fetch_all(conn)
    .await?;
    let file = |filename, size, document, received_at| ReceivedFile { document, filename, size, received_at };
    Ok(rows
        .into_iter()
        .map(|row| (row.item, file(row.filename, row.size, row.document, row.received_at)))
        .collect())
}
