//! Decides which conversation a mail joins (specification 4.13, 4.14): by a Message-ID of ours, by that of
//! recorded app mail, or by the reference in its address, if the sender takes part there. By our Message-ID a
//! confirmed colleague of the contact joins too. A conversation with recorded mail accepts only confirmed mail and
//! authenticated fields. A subject alone never joins. All other mail starts a conversation. If it answers our own
//! mail, that conversation names the other one; if it names recorded mail, it gives no hint that the id is known.

use chrono::TimeDelta;

use crate::incoming::authenticate::{AuthenticationVerdict, Check, MailPart};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::inbound::takes_part;
use rookery_core::workspace::domains::organization::are_colleagues;
use rookery_core::workspace::mailboxes::Mailbox;
use rookery_product::app_mail::sent;
use rookery_reading::mail::parse::{MailReport, ParsedMail};
use rookery_reading::mail::plus_tag;

#[derive(Debug, PartialEq, Eq)]
pub struct Placement {
    /// The conversation to join; a new one when there is none.
    pub joins: Option<ConversationId>,
    pub reference: Option<String>,
    /// The Message-ID of the recorded app mail that this is a permitted reply to.
    pub answers: Option<String>,
    /// The conversation of our mail that this answers without joining it.
    pub answers_in: Option<ConversationId>,
    pub why: Why,
}

impl Placement {
    const fn started(why: Why) -> Self {
        Self { joins: None, reference: None, answers: None, answers_in: None, why }
    }

    pub fn joined(conversation: ConversationId, why: Why) -> Self {
        Self { joins: Some(conversation), ..Self::started(why) }
    }
}

/// Why a message was filed where it is, for people of the team. Senders never see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("joined by In-Reply-To")]
    InReplyTo,
    #[error("joined by References")]
    References,
    #[error("joined as a colleague of the contact, who was not on the conversation")]
    Colleague,
    #[error("joined as a report about our own mail")]
    Report,
    #[error("joined as a reply to the app's mail")]
    AppMail,
    #[error("joined by the reference in its address and its sender")]
    Reference,
    #[error("joined by the reference in its address and its sender, who is not confirmed")]
    UnconfirmedReference,
    #[error("joined as a calendar's answer to an invitation")]
    Invitation,
    #[error("joined where the sandbox was asked to")]
    Chosen,
    #[error("started: it answers no mail of this inbox")]
    AnswersNothing,
    #[error("started: the first reply to the app's mail")]
    FirstReply,
    #[error("started: the app's mail was answered in another inbox before")]
    OtherInbox,
    #[error("started: its sender is not on the conversation of the mail it answers")]
    NotOnIt,
    #[error("refused to join: its address names another reference")]
    OtherReference,
    #[error("refused to join: DMARC {}", .0.as_str())]
    Unconfirmed(Check),
    #[error("refused to join: the sender's signature does not cover what the mail answers")]
    Unsigned,
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
    verdict: &AuthenticationVerdict,
    age: TimeDelta,
) -> Result<Placement> {
    let writer = Writer::from_mail(mail, verdict);
    let mut tag = tag(mailbox, recipient, mail);
    let mut bridge = None;
    if tag.is_some() {
        // A sender who names recorded mail without permission gets no reference, whatever the address says.
        let found = of_app_mail(tx, mailbox, &writer, age).await?;
        tag = tag.filter(|_| !matches!(found, Bridge::Refused(_)));
        bridge = Some(found);
    }
    let ours = of_ours(tx, mailbox.id, mail).await?;
    let mut why = Why::AnswersNothing;
    if let Some(ours) = &ours {
        match ours.takes_in(tx, &writer, tag.as_deref()).await? {
            Ok(why) => {
                return Ok(Placement { reference: tag, ..Placement::joined(ours.conversation, why) });
            }
            Err(refused) => why = refused,
        }
    }
    let answers_in = ours.map(|ours| ours.conversation);
    let bridge = match bridge {
        Some(bridge) => bridge,
        None => of_app_mail(tx, mailbox, &writer, age).await?,
    };
    match bridge {
        Bridge::Permitted(placement) => {
            let reference = placement.reference.or(tag);
            return Ok(Placement { reference, answers_in, ..placement });
        }
        Bridge::Refused(reason) => why = reason,
        Bridge::Unknown => {}
    }
    if let (Some(reference), Some(sender)) = (&tag, writer.address) {
        let is_confirmed = verdict.is_confirmed() && writer.wrote_to(mailbox, reference);
        if let Some(found) = of_reference(tx, mailbox.id, reference, sender, is_confirmed).await? {
            let why = if verdict.is_confirmed() { Why::Reference } else { Why::UnconfirmedReference };
            return Ok(Placement { reference: tag, ..Placement::joined(found, why) });
        }
    }
    Ok(Placement { reference: tag, answers_in, ..Placement::started(why) })
}

/// Whether the mail refers to nothing that [`place`] would look up.
pub fn names_nothing(mailbox: &Mailbox, recipient: Option<&str>, mail: &ParsedMail) -> bool {
    mail.references.is_empty() && mail.report.is_none() && tag(mailbox, recipient, mail).is_none()
}

/// The author, and which parts of the mail are authenticated.
struct Writer<'a> {
    /// `None` unless there is exactly one From mailbox.
    address: Option<&'a str>,
    mail: &'a ParsedMail,
    verdict: &'a AuthenticationVerdict,
}

impl<'a> Writer<'a> {
    fn from_mail(mail: &'a ParsedMail, verdict: &'a AuthenticationVerdict) -> Self {
        let address = mail.from.as_ref().map(|from| from.email.as_str()).filter(|_| mail.single_from);
        Self { address, mail, verdict }
    }

    /// Whether an authenticated field says that the mail answers this one.
    fn surely_names(&self, id: &str) -> bool {
        let (answered, _) = self.mail.references.split_at(self.mail.in_reply_to);
        let is_in =
            |part, ids: &[String]| self.verdict.vouches_for(part) && ids.iter().any(|named| named == id);
        is_in(MailPart::InReplyTo, answered) || is_in(MailPart::References, &self.mail.referenced)
    }

    /// The ids that the mail answers, authenticated ones first.
    fn named(&self) -> Vec<&'a str> {
        let (sure, other): (Vec<_>, Vec<_>) =
            self.mail.references.iter().map(String::as_str).partition(|id| self.surely_names(id));
        [sure, other].concat()
    }

    /// Whether authenticated fields say that the mail is for this reference. A signed mail can be resent to any
    /// address.
    fn wrote_to(&self, mailbox: &Mailbox, wanted: &str) -> bool {
        let is_to = |address: &str| tag_in(mailbox, address).is_some_and(|tag| tag == wanted);
        let listed = [(MailPart::To, &self.mail.to), (MailPart::Cc, &self.mail.cc)];
        self.verdict.vouches_for(MailPart::Envelope)
            || listed.iter().any(|(part, list)| {
                self.verdict.vouches_for(*part) && list.iter().any(|address| is_to(&address.email))
            })
    }
}

/// The reference in the address written to: that of the envelope first, then those of the header.
fn tag(mailbox: &Mailbox, recipient: Option<&str>, mail: &ParsedMail) -> Option<String> {
    let listed = [&mail.to, &mail.cc, &mail.delivered_to].into_iter().flatten();
    let mut written = recipient.into_iter().chain(listed.map(|address| address.email.as_str()));
    written.find_map(|address| tag_in(mailbox, address))
}

fn tag_in(mailbox: &Mailbox, address: &str) -> Option<String> {
    plus_tag::tag_of(address, &mailbox.address).and_then(plus_tag::parse)
}

/// A message of ours that a mail answers, and its conversation.
struct Ours {
    conversation: ConversationId,
    message_id: String,
    reference: Option<String>,
    contact: Option<String>,
    /// Recipients of the conversation's recorded app mail, if it has one.
    recorded: Option<Vec<String>>,
    found: Why,
}

impl Ours {
    /// `Ok`: why the mail may join. `Err`: why not.
    async fn takes_in(
        &self,
        tx: &mut Tx<'_>,
        writer: &Writer<'_>,
        tag: Option<&str>,
    ) -> Result<Result<Why, Why>> {
        // A conversation has one reference; mail with another one does not belong to it.
        if self.reference.is_some() && tag.is_some() && self.reference.as_deref() != tag {
            return Ok(Err(Why::OtherReference));
        }
        let Some(sender) = writer.address else { return Ok(Err(Why::NoSender)) };
        let is_contact = self.contact.as_deref() == Some(sender);
        let is_on_it = is_contact || takes_part(tx, self.conversation, sender).await?;
        let is_confirmed = writer.verdict.is_confirmed();
        let is_signed = writer.surely_names(&self.message_id);
        Ok(match &self.recorded {
            Some(_) if !is_confirmed => Err(Why::Unconfirmed(writer.verdict.dmarc)),
            Some(_) if !is_signed => Err(Why::Unsigned),
            Some(recipients) if !is_on_it && !recipients.iter().any(|to| to == sender) => Err(Why::Stranger),
            Some(_) => Ok(self.found),
            None if is_on_it => Ok(self.found),
            None => {
                let contact = self.contact.as_deref().unwrap_or_default();
                if is_confirmed && is_signed && are_colleagues(contact, sender) {
                    Ok(Why::Colleague)
                } else {
                    Err(Why::NotOnIt)
                }
            }
        })
    }
}

/// The nearest of our messages that the mail answers.
async fn of_ours(tx: &mut Tx<'_>, mailbox: MailboxId, mail: &ParsedMail) -> Result<Option<Ours>> {
    let reported = mail.report.as_ref().and_then(MailReport::about);
    let ids: Vec<&str> = mail.references.iter().map(String::as_str).chain(reported).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let workspace = tx.workspace().0;
    let found = sqlx::query!(
        r#"select c.id as "id: ConversationId", m.rfc_message_id as "message_id!", c.reference, c.contact_email,
               array_position($2::text[], m.rfc_message_id) as "place!",
               (select recipients from app_mail where workspace_id = $1 and conversation_id = c.id) as recorded
           from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           where m.workspace_id = $1 and m.direction = 'outbound' and m.rfc_message_id = any($2) and m.mailbox_id = $3
           order by array_position($2, m.rfc_message_id) limit 1"#,
        workspace,
        &ids as &[&str],
        mailbox.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(found.map(|row| {
        let place = row.place as usize - 1;
        let found = match place {
            place if place < mail.in_reply_to => Why::InReplyTo,
            place if place < mail.references.len() => Why::References,
            _ => Why::Report,
        };
        Ours {
            conversation: row.id,
            message_id: row.message_id,
            reference: row.reference,
            contact: row.contact_email,
            recorded: row.recorded,
            found,
        }
    }))
}

enum Bridge {
    Permitted(Placement),
    Refused(Why),
    Unknown,
}

/// Finds the conversation for a permitted reply to recorded app mail. The record is always looked up, so that
/// neither the outcome nor its timing tells a stranger whether there is one.
async fn of_app_mail(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    writer: &Writer<'_>,
    age: TimeDelta,
) -> Result<Bridge> {
    let Some(named) = sent::named(tx, mailbox.livemode(), &writer.named(), age).await? else {
        return Ok(Bridge::Unknown);
    };
    let Some(sender) = writer.address else { return Ok(Bridge::Refused(Why::NoSender)) };
    if !writer.verdict.is_confirmed() {
        return Ok(Bridge::Refused(Why::Unconfirmed(writer.verdict.dmarc)));
    }
    if !writer.surely_names(&named.message_id) {
        return Ok(Bridge::Refused(Why::Unsigned));
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
    Ok(Bridge::Permitted(Placement { joins, reference: named.reference, answers, answers_in: None, why }))
}

/// A mail to two inboxes is a conversation in each, so a record's or a booking's conversation is joined in its own inbox only,
/// in those it was in before, and in those whose conversations it took in.
pub async fn in_mailbox(
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    conversation: ConversationId,
) -> Result<Option<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and id = $2 and (mailbox_id = $3 or exists (
               select from merged_conversations where workspace_id = $1 and into_id = $2 and mailbox_id = $3))"#,
        workspace,
        conversation.0,
        mailbox.0
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// The newest conversation of the inbox with this reference in which the sender takes part. Unconfirmed mail
/// cannot join one that has recorded mail.
async fn of_reference(
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    reference: &str,
    sender: &str,
    is_confirmed: bool,
) -> Result<Option<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations c
           where workspace_id = $1 and reference = $2
             and (mailbox_id = $3 or exists (
                 select from merged_conversations where workspace_id = $1 and into_id = c.id and mailbox_id = $3))
             and (contact_email = $4 or exists (
                 select from merged_conversations where workspace_id = $1 and into_id = c.id and contact_email = $4)
               or exists (
                 select from messages where workspace_id = $1 and conversation_id = c.id and direction = 'inbound'
                   and verdict ->> 'dmarc' = 'pass' and (from_email = $4 or $4 = any(also_to))))
             and ($5 or not exists (select from app_mail where workspace_id = $1 and conversation_id = c.id))
           order by last_message_at desc, id desc limit 1"#,
        workspace,
        reference,
        mailbox.0,
        sender,
        is_confirmed
    )
    .fetch_optional(&mut **tx)
    .await?)
}
