//! The mail that asks again for a document: it carries the link of a request that another mail carried. As a draft it has no
//! link, like every draft; it gets it back when it leaves.

use crate::app::App;
use crate::documents::request;
use crate::error::Result;
use crate::ids::{DocumentRequestId, MessageId, RequestItemId};
use crate::store::db::Tx;

/// A request that a mail asks again for something of.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    request: DocumentRequestId,
    generation: i32,
}

impl Again {
    pub fn of(request: DocumentRequestId, generation: i32) -> Self {
        Self { request, generation }
    }

    /// What was written, with the link as it is now.
    pub fn with_link(self, app: &App, tx: &Tx<'_>, written: &str) -> Result<String> {
        let link = request::link_of(app, tx.workspace(), self.request, self.generation)?;
        Ok(format!("{}\n\nUpload it here, no account needed:\n{link}", written.trim_end()))
    }
}

/// What a message asks again for.
pub async fn of_message(tx: &mut Tx<'_>, message: MessageId) -> Result<Option<Again>> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        r#"select r.id as "request: DocumentRequestId", link_generation from document_request_items i
           join document_requests r on r.workspace_id = $1 and r.id = i.request_id
           where i.workspace_id = $1 and i.again_message_id = $2 limit 1"#,
        workspace,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Again { request: row.request, generation: row.link_generation }))
}

/// Notes which message asks again for an item.
pub async fn note(
    tx: &mut Tx<'_>,
    (request, item): (DocumentRequestId, RequestItemId),
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
