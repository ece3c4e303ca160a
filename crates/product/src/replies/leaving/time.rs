//! Changing when a message leaves. One conditional update decides between people and the worker: whoever saw another time
//! than it has now changes nothing, and what is on its way stays so.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use crate::replies::send::cannot_wait_until;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::conversations::messages::outbound::{self, lock_message};
use rookery_core::conversations::timeline;
use rookery_core::workspace::people::Person;
use rookery_core::workspace::preferences::undo_window;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    To(DateTime<Utc>),
    /// Somebody changed it after it was shown.
    Crossed,
    /// It is on its way, or was stopped.
    TooLate,
}

/// `shown` is when it was to leave, as the person saw it.
pub async fn change_time(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    shown: DateTime<Utc>,
    at: DateTime<Utc>,
) -> Result<(Moved, ConversationId)> {
    let (conversation, ours) = lock_message(tx, person, message).await?;
    if ours.status != MessageStatus::Scheduled {
        return Ok((Moved::TooLate, conversation.id));
    }
    if let Some(wrong) = cannot_wait_until(tx.now(), at) {
        return Err(Error::Problems(vec![wrong]));
    }
    // Nothing leaves before anyone could stop it; of a mail of one's own that is as long as one chose.
    let longest = app.config.undo_window(conversation.livemode());
    let window = if ours.is_own_of(person) { undo_window(tx, person.id, longest).await? } else { longest };
    let at = at.max(tx.now() + window);
    if !outbound::reschedule(tx, &conversation, message, shown, at).await? {
        return Ok((Moved::Crossed, conversation.id));
    }
    let data = json!({ "messageId": message, "to": at.to_rfc3339_opts(SecondsFormat::Millis, true) });
    timeline::append(tx, conversation.id, &person.by(), "send-time", data).await?;
    Ok((Moved::To(at), conversation.id))
}
