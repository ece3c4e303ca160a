//! Rows that no verb of the product can write yet, inserted as its verbs will.

use rookery_base::ids::{ConversationId, MessageId, NoteId, TagId};
use rookery_core::conversations::search::pending;

use super::Workspace;

/// An outbound message.
pub struct Message<'a> {
    pub status: &'a str,
    pub text: &'a str,
    pub rfc_message_id: Option<&'a str>,
}

impl Workspace<'_> {
    pub async fn set(&self, conversation: ConversationId, assignment: &str) {
        let statement = format!("update conversations set {assignment} where workspace_id = $1 and id = $2");
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .bind(self.id)
            .bind(conversation)
            .execute(&self.world.app.pool)
            .await
            .expect("the assignment is sound");
    }

    pub async fn tag(&self, conversation: ConversationId, name: &str) {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let id: TagId = tx.mint();
        sqlx::query(
            "with tag as (
                 insert into tags (workspace_id, id, name, folded, audiences)
                 select $1, $2, $3, lower($3), array[audience] from conversations where workspace_id = $1 and id = $4
                 on conflict (workspace_id, folded)
                     do update set audiences = tags.audiences || excluded.audiences
                 returning id)
             insert into conversation_tags (workspace_id, conversation_id, tag_id, audience)
             select $1, $4, tag.id, audience from tag, conversations where workspace_id = $1 and conversations.id = $4",
        )
        .bind(self.id)
        .bind(id)
        .bind(name)
        .bind(conversation)
        .execute(&mut *tx)
        .await
        .expect("the tag is new on the conversation");
        tx.commit().await.unwrap();
    }

    pub async fn note(&self, conversation: ConversationId, author: &str, body: &str) -> NoteId {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let (id, now): (NoteId, _) = (tx.mint(), tx.now());
        sqlx::query(
            "with numbered as (
                 update conversations set last_item = last_item + 1, last_item_at = $4 where workspace_id = $1 and id = $2 returning last_item)
             insert into notes (workspace_id, conversation_id, id, item, at, author, body)
             select $1, $2, $3, last_item, $4, $5, $6 from numbered",
        )
        .bind(self.id)
        .bind(conversation)
        .bind(id)
        .bind(now)
        .bind(author)
        .bind(body)
        .execute(&mut *tx)
        .await
        .expect("a note");
        tx.commit().await.unwrap();
        id
    }

    pub async fn outbound(&self, conversation: ConversationId, message: Message<'_>) -> MessageId {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let (id, now): (MessageId, _) = (tx.mint(), tx.now());
        let drafted = message.status == "draft";
        sqlx::query(
            "with numbered as (
                 update conversations
                 set last_item = last_item + 1, last_item_at = $4,
                     message_count = message_count + case when $7 then 0 else 1 end,
                     last_message_at = case when $7 then last_message_at else $4 end,
                     snippet = case when $7 then snippet else left($6, 200) end
                 where workspace_id = $1 and id = $2 returning last_item, mailbox_id)
             insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status,
                 sends_at, sent_at, from_name, from_email, text, rfc_message_id, due_at)
             select $1, $2, $3, mailbox_id, last_item, $4, 'outbound', $5,
                 case when $7 then null else $4 end, case when $5 = 'sent' then $4 end, name, address, $6, $8,
                 case when $5 in ('scheduled', 'sending') then $4 + interval '1 year' end
             from numbered join mailboxes on mailboxes.workspace_id = $1 and mailboxes.id = mailbox_id",
        )
        .bind(self.id)
        .bind(conversation)
        .bind(id)
        .bind(now)
        .bind(message.status)
        .bind(message.text)
        .bind(drafted)
        .bind(message.rfc_message_id)
        .execute(&mut *tx)
        .await
        .expect("an outbound message");
        pending::note(&mut tx, conversation).await.unwrap();
        tx.commit().await.unwrap();
        id
    }
}
