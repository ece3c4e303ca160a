//! Which files a draft names: those that were uploaded to it, and borrowed ones of a saved reply or of the message that is
//! passed on. Bytes go only when the last row that names them has gone, which one function here knows.

use crate::replies::forward;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DraftFileId, DraftId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::timeline::Attachment;

/// Names a file in a draft that is locked. One that is `inline` is a picture within the text.
pub(in crate::replies) async fn add(
    tx: &mut Tx<'_>,
    draft: DraftId,
    attachment: &Attachment,
    inline: bool,
) -> Result<DraftFileId> {
    let id: DraftFileId = tx.mint();
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into written_draft_files (workspace_id, id, draft_id, filename, content_type, size, blob, borrowed, inline)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        workspace,
        id.0,
        draft.0,
        attachment.filename,
        attachment.content_type,
        attachment.size,
        attachment.blob,
        attachment.borrowed,
        inline
    )
    .execute(&mut **tx)
    .await?;
    Ok(id)
}

/// The files of a message that is passed on go with it, unless they are taken out.
pub(super) async fn of_passed_on(
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    draft: DraftId,
    about: MessageId,
) -> Result<()> {
    let workspace = tx.workspace();
    let passed = forward::find(tx, workspace, conversation, about).await?;
    let borrowed = passed.attachments.into_iter().map(|file| Attachment { borrowed: true, ..file });
    lend(tx, draft, &borrowed.collect::<Vec<_>>()).await
}

/// Puts these in the place of all borrowed files. What its writer uploaded stays.
pub(in crate::replies) async fn lend(tx: &mut Tx<'_>, draft: DraftId, files: &[Attachment]) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from written_draft_files where workspace_id = $1 and draft_id = $2 and borrowed",
        workspace,
        draft.0
    )
    .execute(&mut **tx)
    .await?;
    for file in files {
        add(tx, draft, file, false).await?;
    }
    Ok(())
}

/// Bytes that a row named which is gone now, and the conversation it was in.
pub(in crate::replies) struct LeftBlob {
    pub conversation: Option<ConversationId>,
    pub blob: String,
}

/// Those that nobody names any more, to be removed once this is committed. Uploads are only ever named by drafts and by
/// messages of their conversation; what comes from elsewhere is borrowed, and must not be asked about.
pub(in crate::replies) async fn unheld(tx: &mut Tx<'_>, left: Vec<LeftBlob>) -> Result<Vec<String>> {
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = tx.workspace().0;
    let conversations: Vec<Option<i64>> = left.iter().map(|left| left.conversation.map(|id| id.0)).collect();
    let blobs: Vec<String> = left.into_iter().map(|left| left.blob).collect();
    Ok(sqlx::query_scalar!(
        r#"select distinct left_over.blob as "blob!"
           from unnest($2::bigint[], $3::text[]) left_over (conversation, blob)
           where not exists (select from written_draft_files f where f.workspace_id = $1 and f.blob = left_over.blob)
             and not exists (select from saved_reply_files f where f.workspace_id = $1 and f.blob = left_over.blob)
             and not exists (select from messages m
                             where m.workspace_id = $1 and m.conversation_id = left_over.conversation
                               and m.attachments @> jsonb_build_array(jsonb_build_object('blob', left_over.blob)))"#,
        workspace,
        &conversations as &[Option<i64>],
        &blobs
    )
    .fetch_all(&mut **tx)
    .await?)
}
