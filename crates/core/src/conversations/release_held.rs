//! Releases a conversation that was held as a likely scam (D239): its risk is cleared and the withheld
//! `client.replied` events are recorded. Only people can release, because a scam may be aimed at agents.

use serde_json::json;

use crate::conversations::lock::lock_visible;
use crate::conversations::messages::message::Channel;
use crate::conversations::{notifications, timeline};
use crate::events::event::{ClientReplied, Event};
use crate::events::record::record;
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::MessageId;
use rookery_base::store::db::Tx;

/// False when there was nothing to release.
pub async fn release(tx: &mut Tx<'_>, person: &Person, conversation: &str) -> Result<bool> {
    let conversation = lock_visible(tx, person, conversation).await?;
    if conversation.risk.is_none() {
        return Ok(false);
    }
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update conversations set risk = null, risk_reasons = '{}', held_at = null
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.id.0
    )
    .execute(&mut **tx)
    .await?;
    timeline::append(tx, conversation.id, &person.by(), "released", json!({})).await?;
    notifications::released(tx, conversation.id).await?;
    let mut replies = sqlx::query!(
        r#"delete from withheld_replies where workspace_id = $1 and conversation_id = $2
           returning message_id as "message: MessageId", (
               select channel from messages where workspace_id = $1 and conversation_id = $2 and id = message_id)
                   as "channel!: Channel""#,
        workspace,
        conversation.id.0
    )
    .fetch_all(&mut **tx)
    .await?;
    replies.sort_by_key(|reply| reply.message);
    for reply in replies {
        let replied = ClientReplied {
            conversation_id: conversation.id,
            message_id: reply.message,
            mailbox_id: conversation.mailbox_id,
            secure: reply.channel == Channel::Secure,
            reference: conversation.reference.clone(),
        };
        record(tx, conversation.event_context(), &Event::ClientReplied(replied)).await?;
    }
    Ok(true)
}
