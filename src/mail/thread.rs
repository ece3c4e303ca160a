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
use crate::mail::parse::ParsedMail;
use crate::workspace::mailboxes::Mailbox;

/// What the sender domain's DMARC check said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dmarc {
    Pass,
    Fail,
    /// Not checked, or the domain has no policy. Not a pass.
    Unknown,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The conversation to join; a new one when there is none.
    pub joins: Option<ConversationId>,
    pub reference: Option<String>,
    /// The Message-ID of the recorded app mail that this is the first reply to.
    pub answers: Option<String>,
}

pub async fn place(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    recipient: Option<&str>,
    mail: &ParsedMail,
    dmarc: Dmarc,
    age: TimeDelta,
) -> Result<Placement> {
    let tag = tag(mailbox, recipient, mail);
    if let Some((conversation, stored)) = of_ours(tx, mailbox.id, &mail.references).await? {
        // One record per conversation: another reference is another matter.
        if stored.is_none() || tag.is_none() || stored == tag {
            return Ok(Placement { joins: Some(conversation), reference: tag, answers: None });
        }
    }
    let sender = mail.from.as_ref().map(|from| from.email.as_str()).filter(|_| mail.single_from);
    if let Some(placement) = of_app_mail(tx, mailbox, mail, sender, dmarc, age).await? {
        return Ok(placement);
    }
    let joins = match (&tag, sender) {
        (Some(reference), Some(sender)) => of_reference(tx, mailbox.id, reference, sender).await?,
        _ => None,
    };
    Ok(Placement { joins, reference: tag, answers: None })
}

/// The reference in the address that was written to: the envelope's first, then the header's.
fn tag(mailbox: &Mailbox, recipient: Option<&str>, mail: &ParsedMail) -> Option<String> {
    let listed = [&mail.to, &mail.cc, &mail.delivered_to].into_iter().flatten();
    let mut written = recipient.into_iter().chain(listed.map(|address| address.email.as_str()));
    written.find_map(|address| reference::tag_of(address, &mailbox.address).and_then(reference::of))
}

/// The conversation of the nearest of our messages that the mail answers, with its reference.
async fn of_ours(
    tx: &mut Tx<'_>,
    mailbox: MailboxId,
    references: &[String],
) -> Result<Option<(ConversationId, Option<String>)>> {
    if references.is_empty() {
        return Ok(None);
    }
    let workspace = tx.workspace().0;
    let found = sqlx::query!(
        r#"select conversation_id as "id: ConversationId",
               (select reference from conversations where workspace_id = $1 and id = conversation_id) as reference
           from messages
           where workspace_id = $1 and direction = 'outbound' and rfc_message_id = any($2) and mailbox_id = $3
           order by array_position($2, rfc_message_id) limit 1"#,
        workspace,
        references,
        mailbox.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(found.map(|row| (row.id, row.reference)))
}

/// Where a permitted answer to recorded app mail belongs.
async fn of_app_mail(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    mail: &ParsedMail,
    sender: Option<&str>,
    dmarc: Dmarc,
    age: TimeDelta,
) -> Result<Option<Placement>> {
    let (Some(sender), Dmarc::Pass) = (sender, dmarc) else { return Ok(None) };
    let Some(named) = record::named(tx, mailbox.livemode(), &mail.references, age).await? else {
        return Ok(None);
    };
    let written_to = named.recipients.iter().any(|recipient| recipient == sender);
    let permitted = written_to
        || match named.conversation {
            Some(conversation) => takes_part(tx, conversation, sender).await?,
            None => false,
        };
    if !permitted {
        return Ok(None);
    }
    let joins = match named.conversation {
        Some(conversation) => in_mailbox(tx, mailbox.id, conversation).await?,
        None => None,
    };
    let answers = named.conversation.is_none().then_some(named.message_id);
    Ok(Some(Placement { joins, reference: Some(named.reference), answers }))
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
