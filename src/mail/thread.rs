//! Where mail belongs: it joins a conversation when it names a Message-ID we sent from that inbox, which
//! nobody can guess. A subject alone never joins anything.

use crate::db::Tx;
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId};

/// The conversation of the nearest of our messages that the mail answers.
pub async fn find(
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    references: &[String],
) -> Result<Option<ConversationId>> {
    if references.is_empty() {
        return Ok(None);
    }
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select conversation_id as "id: ConversationId" from messages
           where workspace_id = $1 and direction = 'outbound' and rfc_message_id = any($2) and mailbox_id = $3
           order by array_position($2, rfc_message_id) limit 1"#,
        workspace,
        references,
        mailbox.0
    )
    .fetch_optional(&mut **tx)
    .await?)
}
