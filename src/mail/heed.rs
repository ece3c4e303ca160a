//! Acts on a bounce or a complaint about our own mail (D133, D134): the message failed after all, and an
//! address that does not exist or complained is not written to again.
//!
//! A report is believed only with proof; one that merely names a Message-ID is mail like any other, since
//! everybody who got, forwarded or quoted our mail knows it. A delay, or a failure that may pass, changes nothing.

use std::collections::BTreeMap;

use serde_json::json;

use crate::app::App;
use crate::conversations::conversation::{Locked, lock_any};
use crate::conversations::inbound::{Inbound, Stored};
use crate::conversations::{sending, timeline};
use crate::db::Tx;
use crate::error::Result;
use crate::ids::{ConversationId, MessageId};
use crate::mail::authenticate::Check;
use crate::mail::delivery::Delivery;
use crate::mail::parse::{Address, Bounce, Complaint, ParsedMail, Report};
use crate::mail::return_path;
use crate::replies::suppress::{Reason, suppress, wrote_again};
use crate::workspace::access::By;

/// Kinds of feedback that say "do not write to me" (RFC 5965); `not-spam` and others do not.
const COMPLAINTS: [&str; 2] = ["abuse", "fraud"];

/// A report that counts.
pub struct Proven {
    pub report: Report,
    /// The message of ours that it is about, whatever else it names.
    message: MessageId,
    pub conversation: ConversationId,
}

/// The mail's report, if it counts. A bounce comes from nobody (RFC 3464) to the return path of the message it is
/// about: only the side that took our mail knows that address. A complaint comes from a feedback source that the
/// operator knows and that is who it says.
pub async fn prove(
    tx: &mut Tx<'_>,
    app: &App,
    delivery: &Delivery,
    mail: &ParsedMail,
) -> Result<Option<Proven>> {
    let Some(report) = &mail.report else { return Ok(None) };
    let workspace = tx.workspace();
    let returned = match (&app.config.secret_key, &delivery.recipient) {
        // Mail that left before the newest key was made comes back to what another key made.
        (Some(keys), Some(to)) => {
            keys.all().find_map(|(_, key)| return_path::read(key, workspace, to, &delivery.mailbox.address))
        }
        _ => None,
    };
    let (message, id) = match report {
        Report::Bounce(_) if delivery.verdict.null_sender => (returned, None),
        Report::Complaint(_) if is_feedback(app, delivery, mail) => (returned, report.about()),
        _ => (None, None),
    };
    if message.is_none() && id.is_none() {
        return Ok(None);
    }
    // By the one index or the other, never by both.
    let row = sqlx::query!(
        r#"select id as "id!: MessageId", conversation_id as "conversation!: ConversationId", rfc_message_id as "rfc_message_id!"
           from (select id, conversation_id, rfc_message_id, mailbox_id, status from messages
                 where workspace_id = $1 and id = $2 and direction = 'outbound'
                 union all
                 select id, conversation_id, rfc_message_id, mailbox_id, status from messages
                 where workspace_id = $1 and rfc_message_id = $3 and direction = 'outbound'
                   and $2::bigint is null) sent
           where mailbox_id = $4 and status in ('sending', 'sent', 'failed') and rfc_message_id is not null"#,
        workspace.0,
        message.map(|message| message.0),
        id,
        delivery.mailbox.id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| Proven {
        report: report.clone().naming(row.rfc_message_id),
        message: row.id,
        conversation: row.conversation,
    }))
}

/// Does what the report says. `joined` is the conversation that the mail itself went to.
pub async fn heed(tx: &mut Tx<'_>, joined: Option<&Locked>, proven: &Proven) -> Result<()> {
    let own;
    let conversation = match joined.filter(|joined| joined.id == proven.conversation) {
        Some(joined) => joined,
        None => {
            own = lock_any(tx, proven.conversation).await?;
            &own
        }
    };
    let Some(contact) = conversation.contact.email.as_deref() else { return Ok(()) };
    match &proven.report {
        Report::Bounce(bounce) => bounced(tx, conversation, proven.message, contact, bounce).await,
        Report::Complaint(complaint) => {
            complained(tx, conversation, proven.message, contact, complaint).await
        }
    }
}

/// Whose mail this is, if that is certain and a person wrote it to a live inbox.
pub fn author<'a>(delivery: &Delivery, mail: &'a ParsedMail, inbound: &Inbound) -> Option<&'a str> {
    let is_a_person = delivery.mailbox.livemode() && !inbound.automatic;
    vouched_for(delivery, mail).filter(|_| is_a_person).map(|from| from.email.as_str())
}

/// Whoever writes to us is there, whatever a bounce said: their addresses are written to again.
pub async fn lift(tx: &mut Tx<'_>, wrote: &[(&str, Stored)]) -> Result<()> {
    if wrote.is_empty() {
        return Ok(());
    }
    let mails = wrote.iter().map(|(address, stored)| (*address, stored.message)).collect::<BTreeMap<_, _>>();
    for address in wrote_again(tx, &mails).await? {
        for (_, stored) in
            wrote.iter().filter(|(author, stored)| *author == address && mails[author] == stored.message)
        {
            let data = json!({ "email": address });
            timeline::append(tx, stored.conversation, &By::System, "suppression-lifted", data).await?;
        }
    }
    Ok(())
}

fn is_feedback(app: &App, delivery: &Delivery, mail: &ParsedMail) -> bool {
    let sources = &app.config.feedback_sources;
    vouched_for(delivery, mail).is_some_and(|from| {
        sources.iter().any(|source| {
            let whole = if source.contains('@') { from.email.as_str() } else { from.domain() };
            source.trim().eq_ignore_ascii_case(whole)
        })
    })
}

/// The sender, when their domain answers for the mail: DMARC passed, or there is no such policy and the very domain
/// signed or sent it.
fn vouched_for<'a>(delivery: &Delivery, mail: &'a ParsedMail) -> Option<&'a Address> {
    let from = mail.from.as_ref().filter(|_| mail.single_from)?;
    let verdict = &delivery.verdict;
    let is_theirs = |domain: &String| domain.eq_ignore_ascii_case(from.domain());
    let signed = || verdict.dkim_domains.iter().any(is_theirs);
    let sent = || verdict.spf == Check::Pass && verdict.spf_domain.as_ref().is_some_and(is_theirs);
    let vouched = match verdict.dmarc {
        Check::Pass => true,
        Check::None => signed() || sent(),
        _ => false,
    };
    vouched.then_some(from)
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
    let mut theirs = bounce.failures.iter().filter(|failure| failure.may_be_for(contact));
    if theirs.any(|failure| failure.permanent && gone(&failure.status)) {
        suppress(tx, conversation.livemode(), contact, Reason::Bounce, message).await?;
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
    // Some providers black out who complained; a message of ours has one recipient.
    let theirs = complaint.recipients.is_empty() || complaint.recipients.iter().any(|one| one == contact);
    if !theirs || !COMPLAINTS.contains(&complaint.kind.as_str()) {
        return Ok(());
    }
    suppress(tx, conversation.livemode(), contact, Reason::Complaint, message).await?;
    let data = json!({ "messageId": message, "email": contact });
    timeline::append(tx, conversation.id, &By::System, "spam-complaint", data).await
}
