//! Pictures within the text of a draft (docs/decisions/formatted-mail.md). They are files of the draft like others. Its formatting
//! shows no files but those of its own draft, whatever a page claims.

use std::collections::{HashMap, HashSet};

use crate::replies::drafts::files::{self, LeftBlob};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DraftFileId, DraftId};
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files;
use rookery_core::conversations::timeline::Attachment;
use rookery_reading::html::written;

/// The formatting with pictures of this draft alone; others become the words that stand for them.
pub(super) async fn only_own(tx: &mut Tx<'_>, draft: DraftId, html: &str) -> Result<String> {
    if written::pictures(html).is_empty() {
        return Ok(html.to_owned());
    }
    let workspace = tx.workspace().0;
    let own = sqlx::query_scalar!(
        r#"select id as "id: DraftFileId" from written_draft_files where workspace_id = $1 and draft_id = $2 and inline"#,
        workspace,
        draft.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let own: HashSet<String> = own.into_iter().map(|id| id.to_string()).collect();
    Ok(written::with_pictures(html, |id| own.contains(id).then(|| format!("cid:{id}"))))
}

/// Puts the files of a mail that was taken back in the place of all borrowed ones, and its formatting above them: pictures
/// that it shows are within the text again, under the ids that they have in this draft.
pub(in crate::replies) async fn take_back(
    tx: &mut Tx<'_>,
    draft: DraftId,
    attachments: &[Attachment],
    html: &str,
) -> Result<()> {
    files::lend(tx, draft, &[]).await?;
    let shown = written::pictures(html);
    let mut ids = HashMap::new();
    for attachment in attachments {
        let within = attachment.content_id.as_ref().filter(|id| shown.contains(id));
        let id = files::add(tx, draft, attachment, within.is_some()).await?;
        ids.extend(within.map(|within| (within.clone(), id)));
    }
    let html = written::with_pictures(html, |id| ids.get(id).map(|id| format!("cid:{id}")));
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update written_drafts set html = $3 where workspace_id = $1 and id = $2",
        workspace,
        draft.0,
        html
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Pictures that were taken out of the text go, to make room for others. Not when it was saved again meanwhile: another page
/// may show them.
pub(in crate::replies) async fn drop_unshown(
    tx: &mut Tx<'_>,
    draft: DraftId,
    version: i32,
    conversation: Option<ConversationId>,
) -> Result<()> {
    let workspace = tx.workspace().0;
    let html = sqlx::query_scalar!(
        "select html from written_drafts where workspace_id = $1 and id = $2 and version = $3",
        workspace,
        draft.0,
        version
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(html) = html else { return Ok(()) };
    let shown =
        written::pictures(&html).iter().filter_map(|id| id.parse().ok()).collect::<Vec<DraftFileId>>();
    let gone = sqlx::query!(
        "delete from written_draft_files
         where workspace_id = $1 and draft_id = $2 and inline and id <> all($3) returning blob, borrowed",
        workspace,
        draft.0,
        &shown as &[DraftFileId]
    )
    .fetch_all(&mut **tx)
    .await?;
    let own = gone.into_iter().filter(|file| !file.borrowed);
    let left = own.map(|file| LeftBlob { conversation, blob: file.blob }).collect();
    let unheld = files::unheld(tx, left).await?;
    doomed_files::doom(tx, &unheld).await
}
