//! Starting a conversation with somebody who has not written: an address is enough. It has no turn until its first
//! message has left, and then it waits for the answer.

use crate::conversations::conversation::{Contact, Locked};
use crate::conversations::lock::lock_any;
use crate::workspace::mailboxes::Mailbox;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;

pub async fn start(tx: &mut Tx<'_>, mailbox: &Mailbox, contact: &Contact, subject: &str) -> Result<Locked> {
    let id: ConversationId = tx.mint();
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into conversations
             (workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject, status, created_at,
              last_message_at, last_item_at)
         values ($1, $2, $3, $4, $5, $6, $7, 'open', $8, $8, $8)",
        workspace,
        id.0,
        mailbox.id.0,
        mailbox.audience,
        contact.name,
        contact.email,
        subject,
        now
    )
    .execute(&mut **tx)
    .await?;
    lock_any(tx, id).await
}
