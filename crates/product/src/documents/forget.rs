//! Documents and requests of conversations that are erased or removed go. Their files are given back, and removed by whoever
//! asked.

use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentRequestId, MessageId};
use rookery_base::store::db::Tx;

/// What was taken away.
#[derive(Debug, Default)]
pub struct ForgottenDocuments {
    pub documents: i64,
    pub blobs: Vec<String>,
}

/// Those of these conversations, but those whose file is named elsewhere and stays. So many at most: as many may mean that
/// there are more.
pub async fn forget(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    stay: &[String],
    most: i64,
) -> Result<ForgottenDocuments> {
    let (workspace, ids) = (tx.workspace().0, numbers(conversations));
    sqlx::query!(
        "delete from document_requests where workspace_id = $1 and conversation_id = any($2)",
        workspace,
        &ids
    )
    .execute(&mut **tx)
    .await?;
    let blobs = sqlx::query_scalar!(
        "delete from documents where workspace_id = $1 and id = any(array(
             select id from documents
             where workspace_id = $1 and conversation_id = any($2) and blob not in (select unnest($3::text[])) limit $4))
         returning blob",
        workspace,
        &ids,
        stay,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ForgottenDocuments { documents: blobs.len() as i64, blobs })
}

/// Those that were filed from these files: of mail that went while its conversation stays.
pub async fn forget_files(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    files: &[String],
) -> Result<ForgottenDocuments> {
    let (workspace, ids) = (tx.workspace().0, numbers(conversations));
    let blobs = sqlx::query_scalar!(
        "delete from documents where workspace_id = $1 and conversation_id = any($2) and blob in (select unnest($3::text[]))
         returning blob",
        workspace,
        &ids,
        files
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(ForgottenDocuments { documents: blobs.len() as i64, blobs })
}

/// What these messages ask for, which are about to go: labels may name somebody. With it goes what came over its page, unless
/// a mail or the page of another request brought it too. Gives the requests as well.
pub async fn forget_requests(
    tx: &mut Tx<'_>,
    messages: &[MessageId],
) -> Result<(Vec<DocumentRequestId>, ForgottenDocuments)> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = messages.iter().map(|id| id.0).collect();
    let requests = sqlx::query_scalar!(
        r#"select r.id as "id: DocumentRequestId" from document_requests r join messages m
               on m.workspace_id = $1 and m.id = any($2) and r.conversation_id = m.conversation_id and r.message_id = m.id
           where r.workspace_id = $1"#,
        workspace,
        &ids
    )
    .fetch_all(&mut **tx)
    .await?;
    if requests.is_empty() {
        return Ok(Default::default());
    }
    let blobs = sqlx::query_scalar!(
        "delete from documents d
         where workspace_id = $1
           and id in (select document_id from document_request_files where workspace_id = $1 and request_id = any($2))
           and not exists (select from document_request_files other
                           where other.workspace_id = $1 and other.document_id = d.id and other.request_id <> all($2))
           and not exists (select from messages m
                           where m.workspace_id = $1 and m.conversation_id = d.conversation_id and m.id <> all($3)
                             and attachments @> jsonb_build_array(jsonb_build_object('blob', d.blob)))
         returning blob",
        workspace,
        &requests as &[DocumentRequestId],
        &ids
    )
    .fetch_all(&mut **tx)
    .await?;
    sqlx::query!(
        "delete from document_requests where workspace_id = $1 and id = any($2)",
        workspace,
        &requests as &[DocumentRequestId]
    )
    .execute(&mut **tx)
    .await?;
    Ok((requests, ForgottenDocuments { documents: blobs.len() as i64, blobs }))
}

fn numbers(conversations: &[ConversationId]) -> Vec<i64> {
    conversations.iter().map(|id| id.0).collect()
}
