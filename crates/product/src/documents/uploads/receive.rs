//! A file that a customer sent over the page, checked already: it becomes a document of the conversation (D264), counts
//! for its item, and may be the last that was missing; all in one commit. To send the same again changes nothing.

use serde_json::json;

use crate::documents::checks::FileKind;
use crate::documents::filing::{self, ConversationDocument, NewDocument};
use crate::documents::items::{self, ItemState};
use crate::documents::uploads::link::{UploadLink, has_ended};
use crate::documents::uploads::{complete, kinds, locked};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{RequestFileId, RequestItemId};
use rookery_base::store::blobs::StoredBlob;
use rookery_base::store::db::Tx;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;

/// Files for one item and for a whole request (D164).
pub const MOST_OF_ITEM: i64 = 10;
pub const MOST_OF_REQUEST: i64 = 50;

/// A file that is stored and passed its checks.
pub struct UploadedFile<'a> {
    pub filename: &'a str,
    pub kind: FileKind,
    pub written: &'a StoredBlob,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It counts, and its bytes are named by a row.
    Taken,
    /// It counts, and the same bytes were there: these are nobody's.
    Known,
    /// A person refused this very file.
    RefusedBefore,
    TooManyOfItem,
    TooManyOfRequest,
    /// The link ended while the file came.
    Ended,
}

impl Received {
    /// Whether the stored bytes may go once this is committed.
    pub fn leaves_the_bytes(self) -> bool {
        self != Self::Taken
    }
}

pub async fn receive(
    tx: &mut Tx<'_>,
    link: &UploadLink,
    item: RequestItemId,
    sent: &UploadedFile<'_>,
) -> Result<Received> {
    let request = match locked::any(tx, link.request).await {
        // Erased meanwhile.
        Err(Error::Missing(_)) => return Ok(Received::Ended),
        other => other?,
    };
    let (workspace, now) = (tx.workspace(), tx.now());
    if request.generation != link.generation || has_ended(request.state, request.ends_at, now) {
        return Ok(Received::Ended);
    }
    let listed = items::load(tx, workspace, request.id).await?;
    let Some(listed) = listed.into_iter().find(|listed| listed.id == item) else {
        return Ok(Received::Ended);
    };
    let there = sqlx::query!(
        r#"select count(*) filter (where item_id = $3 and is_new) as "of_item!",
               count(*) filter (where is_new) as "of_request!",
               coalesce(bool_or(item_id = $3 and content_hash = $4), false) as "same!"
           from document_request_files f
           join documents d on d.workspace_id = $1 and d.id = f.document_id
           join document_request_items i on i.workspace_id = $1 and i.request_id = $2 and i.id = f.item_id
           cross join lateral (select i.refused_at is null or f.received_at > i.refused_at as is_new) counts
           where f.workspace_id = $1 and f.request_id = $2"#,
        workspace.0,
        request.id.0,
        item.0,
        &sent.written.hash
    )
    .fetch_one(&mut **tx)
    .await?;
    match (there.same, listed.state) {
        (true, ItemState::Refused) => return Ok(Received::RefusedBefore),
        (true, _) => return Ok(Received::Known),
        _ if there.of_item >= MOST_OF_ITEM => return Ok(Received::TooManyOfItem),
        _ if there.of_request >= MOST_OF_REQUEST => return Ok(Received::TooManyOfRequest),
        _ => {}
    }
    let conversation = &request.conversation;
    let document = NewDocument {
        audience: conversation.audience,
        conversation: conversation.id,
        filename: sent.filename,
        content_type: kinds::media_type(sent.kind),
        size: sent.written.length as i64,
        content_hash: sent.written.hash,
        blob: &sent.written.key,
    };
    let ConversationDocument { id: document, is_new } = filing::file(tx, document).await?;
    let file: RequestFileId = tx.mint();
    sqlx::query!(
        "insert into document_request_files (workspace_id, request_id, item_id, id, document_id, filename, received_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace.0,
        request.id.0,
        item.0,
        file.0,
        document.0,
        sent.filename,
        now
    )
    .execute(&mut **tx)
    .await?;
    // Nobody has looked at this yet, also where a person accepted what came before.
    sqlx::query!(
        "update document_request_items
         set document_id = $4, received_at = $5, refused_why = null, state = 'received', decided_at = null, decided_by = null
         where workspace_id = $1 and request_id = $2 and id = $3",
        workspace.0,
        request.id.0,
        item.0,
        document.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "requestId": request.id, "documentId": document, "label": listed.item.label });
    timeline::append(tx, conversation.id, &By::System, "document-uploaded", data).await?;
    complete::settle(tx, &request, &By::System).await?;
    Ok(if is_new { Received::Taken } else { Received::Known })
}
