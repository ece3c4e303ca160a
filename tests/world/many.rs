//! Many rows at once, for what shows only in a full inbox.

use rookery_base::ids::{ConversationId, MailboxId};
use rookery_base::search_terms;

use super::Workspace;

impl Workspace<'_> {
    /// Open conversations, newest first, each a second older than the one before, and indexed: every one
    /// has the given words.
    pub async fn many(&self, mailbox: MailboxId, count: i64, with_words: &str) -> Vec<ConversationId> {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let (base, now): (ConversationId, _) = (tx.mint(), tx.now());
        let made: Vec<ConversationId> = sqlx::query_scalar(
            "with made as (
                 insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, announced_turn,
                     created_at, last_message_at)
                 select $1, $2 + $4 - n, $3, audience, 'Case ' || n, 'open', 'ours', at, at
                 from mailboxes, generate_series(1, $4) n, lateral (select $5 - n * interval '1 second' as at) time
                 where workspace_id = $1 and id = $3
                 returning id, last_message_at),
             indexed as (
                 insert into conversation_words (workspace_id, conversation_id, words) select $1, id, $6 from made)
             select id from made order by last_message_at desc",
        )
        .bind(self.id)
        .bind(base)
        .bind(mailbox)
        .bind(count)
        .bind(now)
        .bind(search_terms::hash_terms(self.id, [with_words]))
        .fetch_all(&mut *tx)
        .await
        .expect("many conversations");
        tx.commit().await.unwrap();
        made
    }
}
