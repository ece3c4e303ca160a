//! Conversations that a version before this one indexed lack what operators look up: who mail is from and to, and that it has
//! files. Those terms are added when nothing else waits; their words stay as they are.
//!
//! Such notes have fewer than no tries, so that the version before this one leaves them alone (docs/decisions/operators.md).

use rookery_base::error::Result;
use rookery_base::store::db::Tx;

/// Conversations of one transaction, and messages of each.
const CONVERSATIONS: i64 = 20;
const MESSAGES: i64 = 100;

/// The conversations that are next, the newest first.
pub(super) async fn next(tx: &mut Tx<'_>, most: i64) -> Result<Vec<i64>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        "select conversation_id from unindexed_conversations where workspace_id = $1 and tries < 0
         order by conversation_id desc limit $2 for update",
        workspace,
        most.min(CONVERSATIONS)
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Messages of these, as conversations and ids. Notes go as far as that, and end when there are no more.
pub(super) async fn take(tx: &mut Tx<'_>, conversations: &[i64]) -> Result<(Vec<i64>, Vec<i64>)> {
    let workspace = tx.workspace().0;
    let found = sqlx::query!(
        r#"with found as materialized (
               select noted.conversation_id, m.id as message_id from unindexed_conversations noted
               cross join lateral (
                   select id from messages
                   where workspace_id = $1 and conversation_id = noted.conversation_id
                     and id > coalesce(noted.noted_to, -1) and status is distinct from 'draft'
                   order by id limit $3) m
               where noted.workspace_id = $1 and noted.conversation_id = any($2)),
           unfinished as materialized (
               select conversation_id, max(message_id) as noted_to from found
               group by conversation_id having count(*) = $3),
           moved as (
               update unindexed_conversations note set noted_to = unfinished.noted_to
               from unfinished
               where note.workspace_id = $1 and note.conversation_id = unfinished.conversation_id),
           finished as (
               delete from unindexed_conversations
               where workspace_id = $1 and conversation_id = any($2)
                 and conversation_id not in (select conversation_id from unfinished))
           select conversation_id as "conversation_id!", message_id as "message_id!" from found"#,
        workspace,
        conversations,
        MESSAGES
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(found.into_iter().map(|row| (row.conversation_id, row.message_id)).unzip())
}
