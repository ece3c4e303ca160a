//! Acts on bounces and complaints about our own mail (D133, D134): the message is marked as failed, and an address
//! that does not exist or complained is suppressed.
//!
//! A report needs proof. One that only names a Message-ID is treated as ordinary mail, since everybody who got,
//! forwarded or quoted our mail knows that id. Delays and transient failures change nothing.

use std::collections::BTreeMap;

use serde_json::json;

use crate::incoming::authenticate::Check;
use crate::incoming::delivery::Delivery;
use crate::incoming::return_path;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, ConversationId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::inbound::{Inbound, Stored};
use rookery_core::conversations::messages::sending::{self, MessageRecipient};
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;
use rookery_product::bookings::read::{self, BookingRow};
use rookery_product::bookings::tell;
use rookery_product::replies::suppress::{Reason, Wrote, suppress, wrote_again};
use rookery_reading::mail::parse::{Address, Bounce, Complaint, MailReport, ParsedMail, RecipientFailure};

/// Feedback types that are complaints (RFC 5965); `not-spam` and others are not.
const COMPLAINTS: [&str; 2] = ["abuse", "fraud"];

/// A report with proof.
pub struct VerifiedReport {
    pub report: MailReport,
    /// The message of ours that it is about, by its proof and not by what the report names.
    message: MessageId,
    pub conversation: ConversationId,
}

/// The mail's report, if it is proven. A bounce has a null sender (RFC 3464) and comes to the return path of the
/// message it is about, which only the servers that took our mail know. A complaint comes from an authenticated
/// sender that the operator listed as a feedback source.
pub async fn verify_report(
    tx: &mut Tx<'_>,
    app: &App,
    delivery: &Delivery,
    mail: &ParsedMail,
) -> Result<Option<VerifiedReport>> {
    let Some(report) = &mail.report else { return Ok(None) };
    let workspace = tx.workspace();
    let returned = returned(app, workspace, delivery);
    let (message, id) = match report {
        MailReport::Bounce(_) if delivery.verdict.null_sender => (returned, None),
        MailReport::Complaint(_) if is_feedback(app, delivery, mail) => (returned, report.about()),
        _ => (None, None),
    };
    if message.is_none() && id.is_none() {
        return Ok(None);
    }
    // One branch per index, so that the planner never scans both.
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
    Ok(row.map(|row| VerifiedReport {
        report: report.clone().naming(row.rfc_message_id),
        message: row.id,
        conversation: row.conversation,
    }))
}

/// What the return path names that a mail came to: a message of ours, or a booking that a mail was about.
fn returned(app: &App, workspace: WorkspaceId, delivery: &Delivery) -> Option<MessageId> {
    let (keys, to) = (app.config.secret_key.as_ref()?, delivery.recipient.as_ref()?.to_lowercase());
    // The mail may have left from a further address of the inbox.
    let (local, domain) = to.rsplit_once('@')?;
    let inbox = format!("{}@{domain}", return_path::inbox_of(local)?);
    // Mail that left before the newest key was added has a return path made with an older key.
    keys.all().find_map(|(_, key)| return_path::read(key, workspace, &to, &inbox))
}

/// A booking whose visitor could not be written to.
pub struct BouncedBooking {
    pub booking: BookingRow,
    address: String,
    is_gone: bool,
}

/// The booking that a bounce is about. Visitor and host have the same return path, so it has to name the visitor.
pub async fn bounced_booking(
    tx: &mut Tx<'_>,
    app: &App,
    delivery: &Delivery,
    mail: &ParsedMail,
) -> Result<Option<BouncedBooking>> {
    let Some(MailReport::Bounce(bounce)) = mail.report.as_ref().filter(|_| delivery.verdict.null_sender)
    else {
        return Ok(None);
    };
    let workspace = tx.workspace();
    let Some(MessageId(id)) = returned(app, workspace, delivery) else { return Ok(None) };
    let Some(booking) = read::find(tx, workspace, BookingId(id)).await? else { return Ok(None) };
    let Some(address) = booking.email.clone() else { return Ok(None) };
    let mut theirs = bounce
        .failures
        .iter()
        .filter(|failure| failure.permanent && failure.recipients.contains(&address))
        .peekable();
    if theirs.peek().is_none() {
        return Ok(None);
    }
    let is_gone = theirs.any(|failure| is_gone(&failure.status));
    Ok(Some(BouncedBooking { booking, address, is_gone }))
}

/// The host is told, and an address that is not there gets no more mail.
pub async fn apply_to_booking(tx: &mut Tx<'_>, bounced: &BouncedBooking) -> Result<()> {
    if bounced.is_gone {
        suppress(tx, true, &bounced.address, Reason::Bounce, None).await?;
    }
    tell::undeliverable(tx, &bounced.booking).await
}

/// The address is not there. 5.1.7 and 5.1.8 are about the sender's, which is ours.
fn is_gone(status: &str) -> bool {
    status.starts_with("5.1.") && !matches!(status, "5.1.7" | "5.1.8")
}

/// Applies a report. `joined` is the conversation that the mail itself was filed in.
pub async fn apply_report(tx: &mut Tx<'_>, joined: Option<&Locked>, proven: &VerifiedReport) -> Result<()> {
    let own;
    let conversation = match joined.filter(|joined| joined.id == proven.conversation) {
        Some(joined) => joined,
        None => {
            own = lock_any(tx, proven.conversation).await?;
            &own
        }
    };
    let recipients = sending::recipients(tx, conversation, proven.message).await?;
    if recipients.is_empty() {
        return Ok(());
    }
    match &proven.report {
        MailReport::Bounce(bounce) => bounced(tx, conversation, proven.message, &recipients, bounce).await,
        MailReport::Complaint(complaint) => {
            complained(tx, conversation, proven.message, &recipients, complaint).await
        }
    }
}

/// Whoever wrote a mail, as lifting asks for them.
#[derive(Clone, Copy, Debug)]
pub struct MailAuthor<'a> {
    pub address: &'a str,
    vouched: bool,
    stored: Stored,
}

/// The author, if a person wrote the mail to a live inbox.
pub fn author<'a>(
    delivery: &Delivery,
    mail: &'a ParsedMail,
    inbound: &Inbound,
    stored: Stored,
) -> Option<MailAuthor<'a>> {
    let is_a_person = delivery.mailbox.livemode() && !inbound.automatic;
    let from = mail.from.as_ref().filter(|_| is_a_person && mail.single_from)?;
    let vouched = vouched_for(delivery, mail).is_some();
    Some(MailAuthor { address: from.email.as_str(), vouched, stored })
}

/// Lifts suppressions of authors: whoever writes to us has a working address, and is answered.
pub async fn lift_suppressions(tx: &mut Tx<'_>, authors: &[MailAuthor<'_>]) -> Result<()> {
    if authors.is_empty() {
        return Ok(());
    }
    let mut mails: BTreeMap<&str, Wrote> = BTreeMap::new();
    for author in authors {
        let mail = Wrote { message: author.stored.message, vouched: author.vouched };
        // Of several by one address the one that is theirs for certain counts.
        mails
            .entry(author.address)
            .and_modify(|known| {
                if !known.vouched {
                    *known = mail
                }
            })
            .or_insert(mail);
    }
    for address in wrote_again(tx, &mails).await? {
        for author in authors.iter().filter(|author| {
            author.address == address && mails[author.address].message == author.stored.message
        }) {
            let data = json!({ "email": address });
            let conversation = author.stored.conversation;
            timeline::append(tx, conversation, &By::System, "suppression-lifted", data).await?;
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

/// The sender, if authenticated: DMARC passed, or there is no policy and SPF or DKIM passed for exactly this
/// domain.
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
    recipients: &[MessageRecipient],
    bounce: &Bounce,
) -> Result<()> {
    if !bounce.failures.iter().any(|failure| failure.permanent) {
        return Ok(());
    }
    // Of a message with one recipient any permanent failure is theirs, under whatever address. Of several, the one
    // that is named; a failure that names none of them is told and blamed on nobody.
    let single = recipients.len() == 1;
    let names = |failure: &RecipientFailure, one: &MessageRecipient| {
        if single { failure.may_be_for(&one.address) } else { failure.recipients.contains(&one.address) }
    };
    let failed = |one: &&MessageRecipient| {
        bounce.failures.iter().any(|failure| failure.permanent && names(failure, one))
    };
    let missed: Vec<&MessageRecipient> = recipients.iter().filter(failed).collect();
    if single || missed.iter().any(|one| one.address == recipients[0].address) {
        sending::bounced(tx, conversation, message).await?;
    }
    if !single {
        let others = missed.iter().filter(|one| one.address != recipients[0].address);
        for one in others {
            sending::missed(tx, conversation, message, Some(one)).await?;
        }
        if missed.is_empty() {
            sending::missed(tx, conversation, message, None).await?;
        }
    }
    for one in missed {
        let theirs = |failure: &&RecipientFailure| {
            failure.permanent && is_gone(&failure.status) && names(failure, one)
        };
        if bounce.failures.iter().any(|failure| theirs(&failure)) {
            suppress(tx, conversation.livemode(), &one.address, Reason::Bounce, Some(message)).await?;
        }
    }
    Ok(())
}

async fn complained(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    recipients: &[MessageRecipient],
    complaint: &Complaint,
) -> Result<()> {
    if !COMPLAINTS.contains(&complaint.kind.as_str()) {
        return Ok(());
    }
    // Some providers redact who complained. Of several it may have been anyone, so nobody is taken off.
    let redacted = complaint.recipients.is_empty();
    let who = match recipients {
        [only] if redacted => Some(only),
        all => all.iter().find(|one| complaint.recipients.contains(&one.address)),
    };
    if who.is_none() && !redacted {
        return Ok(());
    }
    if let Some(who) = who {
        suppress(tx, conversation.livemode(), &who.address, Reason::Complaint, Some(message)).await?;
    }
    let data = json!({ "messageId": message, "email": who.and_then(MessageRecipient::visible_address) });
    timeline::append(tx, conversation.id, &By::System, "spam-complaint", data).await
}
