//! The mail that asks again for a document: it carries the link of a request that another mail carried. As a draft it has no
//! link, like every draft; it gets it back when it leaves.

use sqlx::PgConnection;

use crate::documents::phrases::AskPhrase;
use crate::documents::request;
use crate::documents::uploads::locked::Request;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{DocumentRequestId, MessageId, RequestItemId, WorkspaceId};
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;

/// A request that a mail asks again for something of.
#[derive(Clone, Copy, Debug)]
pub struct RepeatRequest {
    request: DocumentRequestId,
    generation: i32,
    language: Option<Language>,
}

impl RepeatRequest {
    pub fn new(asked: &Request) -> Self {
        Self { request: asked.id, generation: asked.generation, language: asked.language }
    }

    /// The private upload page, as it is now.
    pub fn link(self, app: &App, workspace: WorkspaceId) -> Result<String> {
        request::link_of(app, workspace, self.request, self.generation)
    }

    /// What was written, with the link under it.
    pub fn under(self, written: &str, link: &str) -> String {
        let upload = self.language.unwrap_or_default().say(AskPhrase::UploadOne);
        format!("{}\n\n{upload}\n{link}", written.trim_end())
    }
}

/// What a message asks again for.
pub async fn of_message(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<RepeatRequest>> {
    let row = sqlx::query!(
        r#"select r.id as "request: DocumentRequestId", link_generation, language as "language: Language"
           from document_request_items i
           join document_requests r on r.workspace_id = $1 and r.id = i.request_id
           where i.workspace_id = $1 and i.again_message_id = $2 limit 1"#,
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| RepeatRequest {
        request: row.request,
        generation: row.link_generation,
        language: row.language,
    }))
}

/// Notes which message asks again for an item.
pub async fn note(
    tx: &mut Tx<'_>,
    request: DocumentRequestId,
    item: RequestItemId,
    message: MessageId,
) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update document_request_items set again_message_id = $4
         where workspace_id = $1 and request_id = $2 and id = $3",
        workspace,
        request.0,
        item.0,
        message.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
