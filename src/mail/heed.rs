//! Acts on a bounce or a complaint about our own mail (D133, D134): the message failed after all, and an
//! address that does not exist or complained is not written to again.
//!
//! A report counts only when it names the Message-ID of a message in the conversation it joined, or comes to
//! that message's return path: nobody but the recipient's side can know either. A delay, or a failure that may
//! pass, changes nothing.

use serde_json::json;

use crate::conversations::conversation::Locked;
use crate::conversations::{sending, timeline};
use crate::db::Tx;
use crate::error::Result;
use crate::ids::MessageId;
use crate::key_ring::KeyRing;
use crate::mail::parse::{Bounce, Complaint, Report};
use crate::mail::return_path;
use crate::replies::suppress::{Reason, suppress};
use crate::workspace::access::By;
use crate::workspace::mailboxes::Mailbox;

/// Kinds of feedback that say "do not write to me" (RFC 5965); `not-spam` and others do not.
const COMPLAINTS: [&str; 2] = ["abuse", "fraud"];

/// The report with the Message-ID it is about, when it does not quote it itself: the address it came to is the
/// return path of the mail, and nobody else can make such an address.
pub async fn named_by_return_path(
    tx: &mut Tx<'_>,
    keys: Option<&KeyRing>,
    mailbox: &Mailbox,
    recipient: Option<&str>,
    report: &Report,
) -> Result<Option<Report>> {
    let (None, Some(keys), Some(recipient)) = (report.about(), keys, recipient) else { return Ok(None) };
    let workspace = tx.workspace();
    // Mail that left before the newest key was made comes back to what another key made.
    let made_by = |key| return_path::read(key, workspace, recipient, &mailbox.address);
    let Some(message) = keys.all().find_map(|(_, key)| made_by(key)) else { return Ok(None) };
    let id = sqlx::query_scalar!(
        "select rfc_message_id from messages
         where workspace_id = $1 and id = $2 and mailbox_id = $3 and direction = 'outbound'",
        workspace.0,
        message.0,
        mailbox.id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(id.flatten().map(|id| report.clone().naming(id)))
}

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
    // 5.1.7 and 5.1.8 are about the sender's address, which is ours.
    let gone = |status: &str| status.starts_with("5.1.") && !matches!(status, "5.1.7" | "5.1.8");
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
