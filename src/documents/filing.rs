//! Files an attachment as a document (specification 4.12). The same bytes are filed once per conversation. Until
//! the reading helper has read it, a document has its file name as title, no kind and no fields.

use std::ops::Range;

use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{ConversationId, DocumentId, PersonId, WorkspaceId};
use crate::search_terms;
use crate::store::db::Tx;
use crate::store::held_blobs::held_blobs;

pub struct NewDocument<'a> {
    pub audience: i64,
    pub conversation: ConversationId,
    pub filename: &'a str,
    pub content_type: &'a str,
    pub size: i64,
    pub content_hash: [u8; 32],
    pub blob: &'a str,
}

pub async fn file(tx: &mut Tx<'_>, document: NewDocument<'_>) -> Result<()> {
    let id: DocumentId = tx.mint();
    let (workspace, now) = (tx.workspace(), tx.now());
    let searched = search_terms::fold(document.filename);
    let pieces = search_terms::pieces(workspace, &searched);
    sqlx::query!(
        "insert into documents
             (workspace_id, id, audience, conversation_id, title, filename, content_type, size, content_hash,
              blob, created_at, searched, pieces)
         values ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $12)
         on conflict (workspace_id, conversation_id, content_hash) do nothing",
        workspace.0,
        id.0,
        document.audience,
        document.conversation.0,
        document.filename,
        document.content_type,
        document.size,
        &document.content_hash,
        document.blob,
        now,
        searched,
        &pieces
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes the documents of a conversation to the one it becomes part of. What both have is there once; its bytes are named
/// by the message that brought it.
pub async fn move_to(tx: &mut Tx<'_>, from: ConversationId, to: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update document_request_items item set document_id = twin.id
         from documents own join documents twin
             on twin.workspace_id = $1 and twin.conversation_id = $3 and twin.content_hash = own.content_hash
         where own.workspace_id = $1 and own.conversation_id = $2
           and item.workspace_id = $1 and item.document_id = own.id",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "delete from documents own where workspace_id = $1 and conversation_id = $2 and exists (
             select from documents twin where twin.workspace_id = $1 and twin.conversation_id = $3
               and twin.content_hash = own.content_hash)",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "update documents set conversation_id = $3 where workspace_id = $1 and conversation_id = $2",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Which of these blobs documents with such ids name.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    ids: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    held_blobs!(conn, "documents", workspace, ids, blobs)
}

/// Documents of conversations that somebody else owns now, a batch at a time. False when none are left.
pub async fn follow_owner(tx: &mut Tx<'_>, from: PersonId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let moved = sqlx::query!(
        "with them as (
             select documents.id, conversations.audience from documents
             join conversations on conversations.workspace_id = $1 and conversations.id = conversation_id
             where documents.workspace_id = $1 and documents.audience = $2 and conversations.audience <> $2
             order by documents.id limit 500 for no key update of documents)
         update documents set audience = them.audience from them
         where workspace_id = $1 and documents.id = them.id",
        workspace,
        from.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(moved.rows_affected() > 0)
}
