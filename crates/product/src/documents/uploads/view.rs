//! A request as people see it on its own page: how far it is, when it is due and when its link ends. Whether they may see it
//! is asked of its conversation, by whoever shows it.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use crate::documents::items::{self, RequestItem};
use crate::documents::progress::RequestState;
use crate::documents::request::LINK_LIVES;
use crate::documents::uploads::locked::NO_REQUEST;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentRequestId, WorkspaceId};
use rookery_base::zone::Zone;

#[derive(Debug)]
pub struct View {
    pub id: DocumentRequestId,
    pub conversation: ConversationId,
    pub state: RequestState,
    pub due: Option<NaiveDate>,
    pub ends_at: DateTime<Utc>,
    pub zone: Zone,
    pub items: Vec<RequestItem>,
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: DocumentRequestId) -> Result<View> {
    let row = sqlx::query!(
        r#"select conversation_id as "conversation: ConversationId", state as "state: RequestState", due_date, link_ends_at,
               coalesce(opened_at, created_at) as "opened_at!"
           from document_requests where workspace_id = $1 and id = $2"#,
        workspace.0,
        id.0
    )
    .fetch_optional(&mut *conn)
    .await?
    .ok_or(NO_REQUEST)?;
    Ok(View {
        id,
        conversation: row.conversation,
        state: row.state,
        due: row.due_date,
        ends_at: row.link_ends_at.unwrap_or(row.opened_at + LINK_LIVES),
        zone: Zone::load(conn, workspace).await?,
        items: items::load(conn, workspace, id).await?,
    })
}
