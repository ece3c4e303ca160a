//! The words of conversations, for `q` (specification 4.2): subject, names, addresses and the whole text of
//! mail that came in or went out; not notes, not drafts.
//!
//! Mail only notes that a conversation has new words, so that a burst of replies is indexed once and no
//! sender waits for it. The worker works the notes off; a search first works off those of its own
//! workspace, so it sees everything that was stored before it began.

use sqlx::PgConnection;

use crate::db::{Reading, Tx};
use crate::error::Result;
use crate::ids::{ConversationId, WorkspaceId};
use crate::words;

/// Conversations indexed in one transaction.
const BATCH: i64 = 50;
/// Batches a search works off before it answers: after a large import the worker does the rest.
const BATCHES_OF_A_SEARCH: usize = 10;

/// Notes that a conversation has words that are not indexed yet.
pub async fn note(tx: &mut Tx<'_>, conversation: ConversationId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // The update takes the row's lock: an indexer that is just reading this conversation finishes first,
    // and this note is then a new one.
    sqlx::query!(
        "insert into unindexed_conversations (workspace_id, conversation_id, since) values ($1, $2, $3)
         on conflict (workspace_id, conversation_id) do update set since = excluded.since",
        workspace,
        conversation.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Works off the notes of the workspace that is about to be searched.
pub async fn catch_up(reading: &mut Reading) -> Result<()> {
    for _ in 0..BATCHES_OF_A_SEARCH {
        let workspace = crate::db::Handle::frame(reading).workspace;
        let waiting = sqlx::query_scalar!(
            r#"select exists (select from unindexed_conversations where workspace_id = $1) as "waiting!""#,
            workspace.0
        )
        .fetch_one(&mut **reading)
        .await?;
        if !waiting {
            break;
        }
        let mut tx = reading.change().await?;
        index(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Workspaces with notes to work off, oldest first.
pub async fn unindexed(conn: &mut PgConnection) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"with recursive step as (
               (select workspace_id from unindexed_conversations order by workspace_id limit 1)
               union all
               select (select workspace_id from unindexed_conversations where workspace_id > step.workspace_id
                       order by workspace_id limit 1)
               from step where step.workspace_id is not null)
           select workspace_id as "id!: WorkspaceId" from step where workspace_id is not null limit 1000"#
    )
    .fetch_all(conn)
    .await?)
}

/// Indexes one batch of a workspace's noted conversations.
pub async fn index(tx: &mut Tx<'_>) -> Result<()> {
    let workspace = tx.workspace();
    // Newest first, so that a search sees the latest mail even while an import is being worked off. Not
    // "skip locked": a search that finds a conversation in the worker's hands waits for its words.
    let noted = sqlx::query_scalar!(
        "select conversation_id from unindexed_conversations where workspace_id = $1
         order by since desc, conversation_id limit $2 for update",
        workspace.0,
        BATCH
    )
    .fetch_all(&mut **tx)
    .await?;
    if noted.is_empty() {
        return Ok(());
    }
    let texts = sqlx::query!(
        r#"select c.id, concat_ws(' ', subject, contact_name, contact_email) as "head!",
               array(select concat_ws(' ', from_name, from_email, coalesce(whole_text, text)) from messages
                     where workspace_id = $1 and conversation_id = c.id and status is distinct from 'draft')
                   as "mail!"
           from conversations c where workspace_id = $1 and id = any($2)"#,
        workspace.0,
        &noted
    )
    .fetch_all(&mut **tx)
    .await?;
    for text in &texts {
        let mail = text.mail.iter().map(String::as_str);
        let words = words::hashed(workspace, std::iter::once(text.head.as_str()).chain(mail));
        sqlx::query!(
            "insert into conversation_words (workspace_id, conversation_id, words) values ($1, $2, $3)
             on conflict (workspace_id, conversation_id) do update set words = excluded.words",
            workspace.0,
            text.id,
            &words
        )
        .execute(&mut **tx)
        .await?;
    }
    sqlx::query!(
        "delete from unindexed_conversations where workspace_id = $1 and conversation_id = any($2)",
        workspace.0,
        &noted
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
