//! Acts on a bounce or a complaint about our own mail (D133, D134): the message failed after all, and an
//! address that does not exist or complained is not written to again.
//!
//! A report counts only when it names the Message-ID of a message in the conversation it joined, which nobody
//! but the recipient's side can know. A delay, or a failure that may pass, changes nothing.

use serde_json::json;

use crate::conversations::conversation::Locked;
use crate::conversations::{sending, timeline};
use crate::db::Tx;
use crate::error::Result;
use crate::ids::MessageId;
use crate::mail::parse::{Bounce, Complaint, Report};
use crate::replies::suppress::{Reason, suppress};
use crate::workspace::access::By;

/// Kinds of feedback that say "do not write to me" (RFC 5965); `not-spam` and others do not.
const COMPLAINTS: [&str; 2] = ["abuse", "fraud"];

pub async fn heed(tx: &mut Tx<'_>, conversation: &Locked, report: &Report) -> Result<()> {
    let Some(id) = report.about() else { return Ok(()) };
    let workspace = tx.workspace().0;
    let message = sqlx::query_scalar!(
        r#"select id as "id: MessageId" from messages
           where workspace_id = $1 and conversation_id = $2 and direction = 'outbound' and rfc_message_id = $3"#,
        workspace,
        conversation.id.0,
        id
    )
    .fetch_optional(&mut **tx)
    .await?;
    let (Some(message), Some(contact)) = (message, conversation.contact.email.clone()) else { return Ok(()) };
    match report {
        Report::Bounce(bounce) => bounced(tx, conversation, message, &contact, bounce).await,
        Report::Complaint(complaint) => complained(tx, conversation, message, &contact, complaint).await,
    }
}

async fn bounced(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    contact: &str,
    bounce: &Bounce,
) -> Result<()> {
    // A message of ours has one recipient, so whatever failed for good is it, under whatever address.
    if !bounce.failures.iter().any(|failure| failure.permanent) {
        return Ok(());
    }
    sending::bounced(tx, conversation, message).await?;
    let gone = |status: &str| status.starts_with("5.1.");
    let mut ours = bounce.failures.iter().filter(|failure| failure.is_for(contact));
    if ours.any(|failure| failure.permanent && gone(&failure.status)) {
        suppress(tx, conversation.livemode(), contact, Reason::Bounce).await?;
    }
    Ok(())
}

async fn complained(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    contact: &str,
    complaint: &Complaint,
) -> Result<()> {
    if !COMPLAINTS.contains(&complaint.kind.as_str()) {
        return Ok(());
    }
    suppress(tx, conversation.livemode(), contact, Reason::Complaint).await?;
    let data = json!({ "messageId": message, "email": contact });
    timeline::append(tx, conversation.id, &By::System, "spam-complaint", data).await
}
