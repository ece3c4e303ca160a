//! Drafts of people that hold something of somebody who is erased: those in their conversations, those that go to them, and
//! files of theirs that were about to be passed on.

use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;
use rookery_reading::text::names_address;

/// What people are writing in these conversations goes. Gives its own files.
pub async fn in_conversations(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = conversations.iter().map(|id| id.0).collect();
    let drafts = sqlx::query_scalar!(
        "select id from written_drafts where workspace_id = $1 and conversation_id = any($2)",
        workspace,
        &ids
    )
    .fetch_all(&mut **tx)
    .await?;
    remove(tx, &drafts).await
}

/// What people are writing to an address goes too, wherever it stands.
pub async fn to_address(tx: &mut Tx<'_>, address: &str) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    let naming = sqlx::query!(
        r#"select id, to_line || ' ' || cc_line || ' ' || bcc_line as "lines!" from written_drafts
           where workspace_id = $1 and strpos(lower(to_line || ' ' || cc_line || ' ' || bcc_line), $2) > 0"#,
        workspace,
        address
    )
    .fetch_all(&mut **tx)
    .await?;
    let drafts: Vec<i64> =
        naming.into_iter().filter(|row| names_address(&row.lines, address)).map(|row| row.id).collect();
    remove(tx, &drafts).await
}

async fn remove(tx: &mut Tx<'_>, drafts: &[i64]) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    let blobs = sqlx::query_scalar!(
        "select blob from written_draft_files where workspace_id = $1 and draft_id = any($2) and not borrowed",
        workspace,
        drafts
    )
    .fetch_all(&mut **tx)
    .await?;
    sqlx::query!("delete from written_drafts where workspace_id = $1 and id = any($2)", workspace, drafts)
        .execute(&mut **tx)
        .await?;
    Ok(blobs)
}

/// Files of somebody's mail that people were about to pass on.
pub async fn lent(tx: &mut Tx<'_>, blobs: &[String]) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from written_draft_files where workspace_id = $1 and borrowed and blob in (select unnest($2::text[]))",
        workspace,
        blobs
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
