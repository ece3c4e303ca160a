//! Sending now what its writer has just sent: the rest of the time in which they could take it back is given up. One
//! conditional update decides between them, the worker and whoever stops it or gives it another time.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::conversations::messages::outbound::{self, lock_message};
use rookery_core::conversations::timeline;
use rookery_core::workspace::people::Person;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentNow {
    Leaves,
    /// It has another time than the one that was shown.
    Crossed,
    /// It is a draft again.
    Stopped,
    /// It is on its way or has arrived.
    Already,
}

/// `shown` is when it was to leave, as the person saw it. Only who wrote and sent a mail may do this: a draft that was
/// approved can be stopped by everybody for the whole window.
pub async fn send_now(
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    shown: DateTime<Utc>,
) -> Result<(SentNow, ConversationId)> {
    let (conversation, ours) = lock_message(tx, person, message).await?;
    if !ours.is_own_of(person) {
        return Err(Error::Forbidden("Only who wrote and sent a mail can send it now.".into()));
    }
    match ours.status {
        MessageStatus::Scheduled => {}
        MessageStatus::Draft => return Ok((SentNow::Stopped, conversation.id)),
        _ => return Ok((SentNow::Already, conversation.id)),
    }
    let now = tx.now();
    if !outbound::reschedule(tx, &conversation, message, shown, now).await? {
        // The same click came before.
        let is_due = ours.sends_at.is_some_and(|at| at <= now);
        return Ok((if is_due { SentNow::Leaves } else { SentNow::Crossed }, conversation.id));
    }
    let data = json!({ "messageId": message, "to": now.to_rfc3339_opts(SecondsFormat::Millis, true) });
    timeline::append(tx, conversation.id, &person.by(), "send-time", data).await?;
    Ok((SentNow::Leaves, conversation.id))
}
