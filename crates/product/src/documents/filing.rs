//! Files an attachment as a document (specification 4.12). The same bytes are filed once per conversation. Until
//! the reading helper has read it, a document has its file name as title, no kind and no fields.

use std::collections::BTreeSet;
use std::ops::Range;

use sqlx::PgConnection;

use crate::documents::to_read;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId, PersonId, WorkspaceId};
use rookery_base::search_terms;
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files;
use rookery_base::store::held_blobs::held_blobs;
use rookery_core::workspace::access::SANDBOX;

pub struct NewDocument<'a> {
    pub audience: i64,
    pub conversation: ConversationId,
    pub filename: &'a str,
    pub content_type: &'a str,
    pub size: i64,
    pub content_hash: [u8; 32],
    pub blob: &'a str,
}

/// A document of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct ConversationDocument {
    pub id: DocumentId,
    /// False when the same bytes were filed there before.
    pub is_new: bool,
}

/// Files it once, and notes that it is to be read, unless it is of the sandbox (HLP-7).
pub async fn file(tx: &mut Tx<'_>, document: NewDocument<'_>) -> Result<ConversationDocument> {
    let id: DocumentId = tx.mint();
    let (workspace, now) = (tx.workspace(), tx.now());
    let searched = search_terms::fold(document.filename);
    let pieces = search_terms::pieces(workspace, &searched);
    let filed = sqlx::query!(
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
    if filed.rows_affected() == 1 {
        if document.audience != SANDBOX {
            to_read::ask(tx, id).await?;
        }
        return Ok(ConversationDocument { id, is_new: true });
    }
    let id = sqlx::query_scalar!(
        r#"select id as "id: DocumentId" from documents
           where workspace_id = $1 and conversation_id = $2 and content_hash = $3"#,
        workspace.0,
        document.conversation.0,
        &document.content_hash
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(ConversationDocument { id, is_new: false })
}

/// Takes the documents of a conversation to the one it becomes part of. What both have is there once. The bytes of the
/// other are named by the message that brought it, or, when they came over a page, by nothing any more, and go.
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
    // A person's value outlives the document that it was set in.
    let corrected = sqlx::query_scalar!(
        r#"insert into document_corrections (workspace_id, document_id, field, value, was, set_by, set_at)
           select $1, twin.id, own_set.field, own_set.value, own_set.was, own_set.set_by, own_set.set_at
           from documents own
           join documents twin
               on twin.workspace_id = $1 and twin.conversation_id = $3 and twin.content_hash = own.content_hash
           join document_corrections own_set on own_set.workspace_id = $1 and own_set.document_id = own.id
           where own.workspace_id = $1 and own.conversation_id = $2
           on conflict do nothing
           returning document_id as "id: DocumentId""#,
        workspace,
        from.0,
        to.0
    )
    .fetch_all(&mut **tx)
    .await?;
    for document in corrected.into_iter().collect::<BTreeSet<_>>() {
        to_read::lay_over(tx, document).await?;
    }
    sqlx::query!(
        "update document_request_files file set document_id = twin.id
         from documents own join documents twin
             on twin.workspace_id = $1 and twin.conversation_id = $3 and twin.content_hash = own.content_hash
         where own.workspace_id = $1 and own.conversation_id = $2
           and file.workspace_id = $1 and file.document_id = own.id",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    let left = sqlx::query_scalar!(
        r#"with gone as (
             delete from documents own where workspace_id = $1 and conversation_id = $2 and exists (
                 select from documents twin where twin.workspace_id = $1 and twin.conversation_id = $3
                   and twin.content_hash = own.content_hash)
             returning blob)
         select blob as "blob!" from gone where not exists (
             select from messages where workspace_id = $1 and conversation_id in ($2, $3)
               and attachments @> jsonb_build_array(jsonb_build_object('blob', gone.blob)))"#,
        workspace,
        from.0,
        to.0
    )
    .fetch_all(&mut **tx)
    .await?;
    if !left.is_empty() {
        doomed_files::doom(tx, &left).await?;
    }
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
