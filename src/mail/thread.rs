//! Where mail belongs (specification 4.13, 4.14). It joins a conversation when it names a Message-ID we sent
//! from that inbox, which nobody can guess; or answers mail the app recorded, from someone it went to and
//! with DMARC passed; or carries the same reference from the same sender. A subject alone never joins.
//!
//! Whoever names a recorded Message-ID without that right gets a conversation of their own, without a hint
//! that the id was known.

use chrono::TimeDelta;

use crate::app_mail::{record, reference};
use crate::conversations::inbound::takes_part;
use crate::db::Tx;
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId};
use crate::mail::authenticate::{Check, Verdict};
use crate::mail::parse::{ParsedMail, Report};
use crate::workspace::mailboxes::Mailbox;

/// What the sender domain's DMARC check said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dmarc {
    Pass,
    Fail,
    /// Not checked, or the domain has no policy. Not a pass.
    Unknown,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Placement {
    /// The conversation to join; a new one when there is none.
    pub joins: Option<ConversationId>,
    pub reference: Option<String>,
    /// The Message-ID of the recorded app mail that this is a permitted reply to.
    pub answers: Option<String>,
    pub why: Why,
}

impl Placement {
    /// Of mail that names nothing it could belong to.
    pub const ALONE: Self = Self { joins: None, reference: None, answers: None, why: Why::AnswersNothing };
}

/// Why a message stands where it stands, for the people who wonder. Senders never see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("joined by In-Reply-To")]
    InReplyTo,
    #[error("joined by References")]
    References,
    #[error("joined as a report about our own mail")]
    Report,
    #[error("joined as a reply to the app's mail")]
    AppMail,
    #[error("joined by the reference in its address and its sender")]
    Reference,
    #[error("joined where the sandbox was told to")]
    Chosen,
    #[error("started: it answers no mail of this inbox")]
    AnswersNothing,
    #[error("started: the first reply to the app's mail")]
    FirstReply,
    #[error("started: the app's mail was answered in another inbox before")]
    OtherInbox,
    #[error("refused to join: its address names another reference")]
    OtherReference,
    #[error("refused to join: DMARC {}", .0.as_str())]
    Unconfirmed(Check),
    #[error("refused to join: the mail does not name exactly one sender")]
    NoSender,
    #[error("refused to join: the sender is not on the app's mail")]
    Stranger,
}

pub async fn place(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    recipient: Option<&str>,
    mail: &ParsedMail,
    verdict: &Verdict,
    age: TimeDelta,
) -> Result<Placement> {
    let tag = tag(mailbox, recipient, mail);
    let mut why = Why::AnswersNothing;
    if let Some(ours) = of_ours(tx, mailbox.id, mail).await? {
        // One record per conversation: another reference is another matter.
        if ours.reference.is_none() || tag.is_none() || ours.reference == tag {
            let joins = Some(ours.conversation);
            return Ok(Placement { joins, reference: tag, answers: None, why: ours.why });
        }
        why = Why::OtherReference;
    }
    match of_app_mail(tx, mailbox, mail, verdict, age).await? {
        Bridge::Permitted(placement) => {
            let reference = placement.reference.or(tag);
            return Ok(Placement { reference, ..placement });
        }
        Bridge::Refused(reason) => why = reason,
        Bridge::Unknown => {}
    }
    let sender = sender(mail);
    let joins = match (&tag, sender) {
        (Some(reference), Some(sender)) => of_reference(tx, mailbox.id, reference, sender).await?,
        _ => None,
    };
    let why = if joins.is_some() { Why::Reference } else { why };
    Ok(Placement { joins, reference: tag, answers: None, why })
}

/// Whether there is nothing that [`place`] would have to look for.
pub fn names_nothing(mailbox: &Mailbox, recipient: Option<&str>, mail: &ParsedMail) -> bool {
    mail.references.is_empty() && mail.report.is_none() && tag(mailbox, recipient, mail).is_none()
}

/// Exactly one From mailbox, or nobody.
fn sender(mail: &ParsedMail) -> Option<&str> {
    mail.from.as_ref().map(|from| from.email.as_str()).filter(|_| mail.single_from)
}

/// The reference in the address that was written to: the envelope's first, then the header's.
fn tag(mailbox: &Mailbox, recipient: Option<&str>, mail: &ParsedMail) -> Option<String> {
    let listed = [&mail.to, &mail.cc, &mail.delivered_to].into_iter().flatten();
    let mut written = recipient.into_iter().chain(listed.map(|address| address.email.as_str()));
    written.find_map(|address| reference::tag_of(address, &mailbox.address).and_then(reference::of))
}

struct Ours {
    conversation: ConversationId,
    reference: Option<String>,
    why: Why,
}

/// The conversation of the nearest of our messages that the mail answers, with its reference.
async fn of_ours(tx: &mut Tx<'_>, mailbox: MailboxId, mail: &ParsedMail) -> Result<Option<Ours>> {
    let reported = mail.report.as_ref().and_then(Report::about);
    let ids: Vec<&str> = mail.references.iter().map(String::as_str).chain(reported).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let workspace = tx.workspace().0;
    let found = sqlx::query!(
        r#"select conversation_id as "id: ConversationId", array_position($2::text[], rfc_message_id) as "place!",
               (select reference from conversations where workspace_id = $1 and id = conversation_id) as reference
           from messages
           where workspace_id = $1 and direction = 'outbound' and rfc_message_id = any($2) and mailbox_id = $3
           order by array_position($2, rfc_message_id) limit 1"#,
        workspace,
        &ids as &[&str],
        mailbox.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(found.map(|row| {
        let place = row.place as usize - 1;
        let why = match place {
            place if place < mail.in_reply_to => Why::InReplyTo,
            place if place < mail.references.len() => Why::References,
            _ => Why::Report,
        };
        Ours { conversation: row.id, reference: row.reference, why }
    }))
}

enum Bridge {
    Permitted(Placement),
    Refused(Why),
    Unknown,
}

/// Where a permitted answer to recorded app mail belongs. The record is looked for in any case, so that
/// neither the answer nor its time tells a stranger whether there is one.
async fn of_app_mail(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    mail: &ParsedMail,
    verdict: &Verdict,
    age: TimeDelta,
) -> Result<Bridge> {
    let Some(named) = record::named(tx, mailbox.livemode(), &mail.references, age).await? else {
        return Ok(Bridge::Unknown);
    };
    let Some(sender) = sender(mail) else { return Ok(Bridge::Refused(Why::NoSender)) };
    if verdict.dmarc() != Dmarc::Pass {
        return Ok(Bridge::Refused(Why::Unconfirmed(verdict.dmarc)));
    }
    let written_to = named.recipients.iter().any(|recipient| recipient == sender);
    let permitted = written_to
        || match named.conversation {
            Some(conversation) => takes_part(tx, conversation, sender).await?,
            None => false,
        };
    if !permitted {
        return Ok(Bridge::Refused(Why::Stranger));
    }
    let joins = match named.conversation {
        Some(conversation) => in_mailbox(tx, mailbox.id, conversation).await?,
        None => None,
    };
    let why = match (&joins, named.conversation) {
        (Some(_), _) => Why::AppMail,
        (None, Some(_)) => Why::OtherInbox,
        (None, None) => Why::FirstReply,
    };
    let answers = Some(named.message_id);
    Ok(Bridge::Permitted(Placement { joins, reference: named.reference, answers, why }))
}

/// One mail to two inboxes is a conversation in each: a record's conversation is joined in its own inbox only.
async fn in_mailbox(
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    conversation: ConversationId,
) -> Result<Option<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and id = $2 and mailbox_id = $3"#,
        workspace,
        conversation.0,
        mailbox.0
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// The newest conversation of the inbox with this reference on which the sender has written.
async fn of_reference(
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    reference: &str,
    sender: &str,
) -> Result<Option<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations c
           where workspace_id = $1 and reference = $2 and mailbox_id = $3
             and (contact_email = $4 or exists (
                 select from messages where workspace_id = $1 and conversation_id = c.id
                   and direction = 'inbound' and from_email = $4))
           order by last_message_at desc, id desc limit 1"#,
        workspace,
        reference,
        mailbox.0,
        sender
    )
    .fetch_optional(&mut **tx)
    .await?)
}
