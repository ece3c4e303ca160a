//! A message of ours on its way (specification 3.3): claimed when it is due, then sent, failed or tried later.
//!
//! A claim is a lease: it moves the due time to the lease's end and counts `claim` up. Whoever comes back
//! with a result names the claim it acted under, and a claim that is not the newest writes nothing.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::conversations::conversation::Locked;
use crate::conversations::messages::held::{self, InHand};
use crate::conversations::messages::inbound::SNIPPET;
use crate::conversations::messages::message::{Author, Channel, MessageStatus, Origin};
use crate::conversations::messages::outbound;
use crate::conversations::reports::count;
use crate::conversations::timeline::{self, Attachment};
use crate::conversations::transitions::{Trigger, apply};
use crate::events::event::{Event, MessageSent};
use crate::events::record::record;
use crate::workspace::access::{Actor, By, SANDBOX};
use crate::workspace::agents::days::{self, AgentMessageFate};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::relay::mailer::{Copies, OutgoingLetter, Refusal};
use rookery_base::store::db::Tx;
use rookery_reading::text;

/// The newest message of ours to somebody.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    pub conversation: ConversationId,
    pub status: MessageStatus,
}

/// A message in the hands of this node, until its lease ends.
#[derive(Debug)]
pub struct ClaimedMessage {
    pub letter: OutgoingLetter,
    pub claim: i32,
    /// Tries in vain.
    pub tries: i16,
    pub livemode: bool,
    /// An agent sends it, and no person approved it.
    pub by_agent_alone: bool,
    /// Its words are sealed, and the mail only tells of them.
    pub secure: bool,
    /// It is mail of the service's own that answers nothing, as reminders are.
    pub by_service: bool,
    /// Mail to one of its addresses fails: it complained, or does not exist.
    pub suppressed: bool,
    /// Somebody who must not be written to was erased here: whether it is one of its addresses, the hashes tell.
    pub erased_bans: bool,
    pub attachments: Vec<Attachment>,
}

impl ClaimedMessage {
    pub fn in_hand(&self) -> InHand {
        let OutgoingLetter { workspace, conversation, message, .. } = self.letter;
        InHand { workspace, conversation, message, claim: self.claim }
    }

    /// Handing it over has ended, however it did.
    async fn over(&self, tx: &mut Tx<'_>) -> Result<()> {
        if self.by_agent_alone { held::over(tx, self.in_hand()).await } else { Ok(()) }
    }
}

/// Takes messages that are due, live ones or the sandbox's: whose time has come, whose lease ended with the node that
/// held it, or whose next try it is. A hundred at most, of every workspace that waits the same share, its oldest first
/// (`due/turns`), and never one that somebody else is taking at this moment.
pub async fn claim(
    conn: &mut PgConnection,
    sandbox: bool,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<ClaimedMessage>> {
    // Joined back by ctid: the rows are locked, so it is theirs; a join by key would read them once more.
    let rows = sqlx::query!(
        r#"with recursive step as (
               (select workspace_id from messages where status in ('scheduled', 'sending') and sandbox = $4
                order by workspace_id limit 1)
               union all
               select (select workspace_id from messages where status in ('scheduled', 'sending') and sandbox = $4
                         and workspace_id > step.workspace_id order by workspace_id limit 1)
               from step where step.workspace_id is not null),
           ready as materialized (
               select step.workspace_id from step cross join lateral (
                   select from messages own where own.status in ('scheduled', 'sending') and own.sandbox = $4
                     and own.workspace_id = step.workspace_id and own.due_at <= $1 order by own.due_at limit 1) first
               where step.workspace_id <> all (array(select id from workspaces where fenced_at is not null))),
           due as (
               select own.place as ctid, ready.workspace_id, own.conversation_id from ready cross join lateral (
                   select ctid as place, conversation_id, due_at from messages
                   where status in ('scheduled', 'sending') and sandbox = $4 and workspace_id = ready.workspace_id
                     and due_at <= $1
                   order by due_at limit (select ceil(100.0 / count(*)) from ready) for update skip locked) own
               order by own.due_at limit 100),
           entered as materialized (
               select workspace_id from (select distinct workspace_id from due) those
               where try_enter_workspace(workspace_id))
           update messages m set status = 'sending', due_at = $2, claim = claim + 1,
               from_email = case when m.from_further and m.status = 'scheduled' and m.tries = 0
                   then leaves_from(m.workspace_id, m.mailbox_id, m.from_email) else m.from_email end
           from due, entered, conversations c
           where m.ctid = due.ctid and entered.workspace_id = due.workspace_id
             and c.workspace_id = due.workspace_id and c.id = due.conversation_id
           returning m.workspace_id as "workspace: WorkspaceId", m.conversation_id as "conversation: ConversationId",
               m.id as "message: MessageId", coalesce(m.rfc_message_id, '') as "rfc_message_id!", m.from_name, m.from_email, m.text,
               c.contact_email, coalesce(m.subject, c.subject) as "subject!", m.to_addresses, m.cc_addresses, m.bcc_addresses,
               m.attachments as "attachments: Json<Vec<Attachment>>", m.claim, m.tries, c.audience <> $3 as "livemode!",
               m.channel = 'secure' as "secure!",
               coalesce(m.author_type = 'agent', false) and m.approved_by is null as "by_agent_alone!",
               coalesce(m.origin = 'service', false) and m.answers is null as "by_service!",
               exists (select from suppressed_addresses s
                       where s.workspace_id = c.workspace_id and s.livemode = (c.audience <> $3)
                         and s.address = any (coalesce(m.to_addresses || m.cc_addresses || m.bcc_addresses,
                                                       array[c.contact_email]))) as "suppressed!",
               exists (select from erased_bans b
                       where b.workspace_id = c.workspace_id and b.livemode = (c.audience <> $3)) as "erased_bans!""#,
        now,
        lease_ends,
        SANDBOX,
        sandbox
    )
    .fetch_all(conn)
    .await?;
    let claimed = rows.into_iter().map(|row| {
        let (to, further) = match row.to_addresses.unwrap_or_default().split_first() {
            Some((first, further)) => (first.clone(), further.to_vec()),
            None => (row.contact_email.unwrap_or_default(), Vec::new()),
        };
        let copies = Copies {
            to: further,
            cc: row.cc_addresses.unwrap_or_default(),
            bcc: row.bcc_addresses.unwrap_or_default(),
        };
        let letter = OutgoingLetter {
            workspace: row.workspace,
            conversation: row.conversation,
            message: row.message,
            rfc_message_id: row.rfc_message_id,
            from_name: row.from_name,
            from: row.from_email,
            to,
            copies,
            subject: row.subject,
            text: row.text,
        };
        ClaimedMessage {
            letter,
            claim: row.claim,
            tries: row.tries,
            livemode: row.livemode,
            by_agent_alone: row.by_agent_alone,
            secure: row.secure,
            by_service: row.by_service,
            suppressed: row.suppressed,
            erased_bans: row.erased_bans,
            attachments: row.attachments.0,
        }
    });
    Ok(claimed.collect())
}

/// When the next message is due, a live one or the sandbox's.
pub async fn next(conn: &mut PgConnection, sandbox: bool) -> Result<Option<DateTime<Utc>>> {
    let next = sqlx::query_scalar!(
        r#"select due_at as "due_at!" from messages
           where status in ('scheduled', 'sending') and sandbox = $1 order by due_at limit 1"#,
        sandbox
    );
    Ok(next.fetch_optional(conn).await?)
}

/// It has left. False when this claim is not the newest any more, and nothing was written.
pub async fn sent(tx: &mut Tx<'_>, conversation: &Locked, claimed: &ClaimedMessage) -> Result<bool> {
    let (workspace, now, message) = (tx.workspace().0, tx.now(), claimed.letter.message);
    let row = sqlx::query!(
        r#"with before as (
               select at, item from messages where workspace_id = $1 and conversation_id = $2 and id = $3)
           update messages set status = 'sent', sent_at = $5, at = $5, due_at = null
           where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sending' and claim = $4
           returning author_type, author_id, origin as "origin: Origin", channel as "channel: Channel",
               coalesce(origin = 'service' and answers is not null, false) as "auto_reply!", exists (
               select from messages mail, before
               where mail.workspace_id = $1 and mail.conversation_id = $2 and mail.direction = 'inbound'
                 and not mail.automatic and (mail.at, mail.item) > (before.at, before.item)) as "answered!""#,
        workspace,
        conversation.id.0,
        message.0,
        claimed.claim,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(false) };
    sqlx::query!(
        "with worded as (
             update conversation_words set last_message_at = $3 where workspace_id = $1 and conversation_id = $2)
         update conversations set last_message_at = $3, snippet = case when $5 then snippet else $4 end, last_item_at = $3
         where workspace_id = $1 and id = $2",
        workspace,
        conversation.id.0,
        now,
        text::snippet(&claimed.letter.text, SNIPPET),
        // Lists go on showing what the customer wrote.
        row.auto_reply
    )
    .execute(&mut **tx)
    .await?;
    tx.touch(conversation.audience, LiveTopic::Messages);
    claimed.over(tx).await?;
    let author = Author::stored(row.origin, row.author_type.as_deref(), row.author_id);
    let trigger = match (author, row.answered) {
        (Author::Service, _) => Trigger::ServiceMailSent,
        (_, true) => Trigger::SentAfterCustomerWrote,
        (_, false) => Trigger::Sent,
    };
    let event = MessageSent {
        conversation_id: conversation.id,
        message_id: message,
        mailbox_id: conversation.mailbox_id,
        author: author.of_sent(),
        secure: row.channel == Channel::Secure,
    };
    record(tx, conversation.event_context(), &Event::MessageSent(event)).await?;
    apply(tx, conversation, trigger, &By::System).await?;
    if !matches!(author, Author::Service) {
        count::left(tx, conversation, message).await?;
    }
    if let Author::Agent(agent) = author {
        days::count(tx, agent, conversation.audience, AgentMessageFate::Sent).await?;
    }
    Ok(true)
}

/// It will never leave. False when this claim is not the newest any more.
pub async fn failed(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    claimed: &ClaimedMessage,
    refusal: Refusal,
) -> Result<bool> {
    let (workspace, message) = (tx.workspace().0, claimed.letter.message);
    let failed = sqlx::query!(
        "update messages set status = 'failed', due_at = null
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sending' and claim = $4",
        workspace,
        conversation.id.0,
        message.0,
        claimed.claim
    )
    .execute(&mut **tx)
    .await?;
    if failed.rows_affected() == 0 {
        return Ok(false);
    }
    claimed.over(tx).await?;
    // Which of several it was is not known here.
    let letter = &claimed.letter;
    let email = Some(letter.to.as_str()).filter(|to| !to.is_empty() && letter.copies.all().next().is_none());
    tell_failure(tx, conversation, message, email, refusal).await?;
    apply(tx, conversation, Trigger::SendFailed, &By::System).await?;
    Ok(true)
}

/// It is not wanted any more and goes, as if it had never been written. False when this claim is not the newest any more.
pub async fn drop_claimed(tx: &mut Tx<'_>, conversation: &Locked, claimed: &ClaimedMessage) -> Result<bool> {
    let (workspace, message) = (tx.workspace().0, claimed.letter.message);
    let gone = sqlx::query!(
        "delete from messages
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sending' and claim = $4",
        workspace,
        conversation.id.0,
        message.0,
        claimed.claim
    )
    .execute(&mut **tx)
    .await?;
    if gone.rows_affected() == 0 {
        return Ok(false);
    }
    outbound::took_back(tx, conversation).await?;
    Ok(true)
}

/// Whom a message of ours went to, the first of them first. Those who got it blindly are marked.
pub async fn recipients(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
) -> Result<Vec<MessageRecipient>> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "select to_addresses, cc_addresses, bcc_addresses from messages
         where workspace_id = $1 and conversation_id = $2 and id = $3",
        workspace,
        conversation.id.0,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some((to, row)) = row.and_then(|mut row| row.to_addresses.take().map(|to| (to, row))) else {
        let contact = conversation.contact.email.iter();
        return Ok(contact
            .map(|address| MessageRecipient { address: address.clone(), blind: false })
            .collect());
    };
    let named = to.into_iter().chain(row.cc_addresses.unwrap_or_default());
    let blind = row.bcc_addresses.unwrap_or_default().into_iter();
    let each = named.map(|address| (address, false)).chain(blind.map(|address| (address, true)));
    Ok(each.map(|(address, blind)| MessageRecipient { address, blind }).collect())
}

pub struct MessageRecipient {
    pub address: String,
    pub blind: bool,
}

impl MessageRecipient {
    /// As the timeline may name it.
    pub fn visible_address(&self) -> Option<&str> {
        (!self.blind).then_some(self.address.as_str())
    }
}

/// One of several recipients did not get it; the message has left all the same.
pub async fn missed(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    recipient: Option<&MessageRecipient>,
) -> Result<()> {
    tell_failure(
        tx,
        conversation,
        message,
        recipient.and_then(MessageRecipient::visible_address),
        Refusal::Bounce,
    )
    .await
}

/// A bounce came for a message that had left: its first recipient did not get it. False when there was nothing to
/// change.
pub async fn bounced(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        r#"update messages m set status = 'failed'
           where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sent'
           returning not exists (
               select from messages newer where newer.workspace_id = $1 and newer.conversation_id = $2
                 and newer.status is distinct from 'draft' and not newer.automatic
                 and (newer.at, newer.item) > (m.at, m.item)) as "newest!""#,
        workspace,
        conversation.id.0,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(false) };
    let recipients = recipients(tx, conversation, message).await?;
    let first = recipients.first().and_then(MessageRecipient::visible_address);
    tell_failure(tx, conversation, message, first, Refusal::Bounce).await?;
    if row.newest {
        apply(tx, conversation, Trigger::NewestBounced, &By::System).await?;
    }
    Ok(true)
}

async fn tell_failure(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    email: Option<&str>,
    refusal: Refusal,
) -> Result<()> {
    tx.touch(conversation.audience, LiveTopic::Messages);
    let data = json!({ "messageId": message, "email": email, "reason": refusal.as_str() });
    timeline::append(tx, conversation.id, &By::System, "delivery-failed", data).await
}

/// Another try at another time, or the first when it was given back untried. It stays on its way.
pub async fn again(
    tx: &mut Tx<'_>,
    claimed: &ClaimedMessage,
    due_at: DateTime<Utc>,
    tried: bool,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let given_back = sqlx::query!(
        "update messages set due_at = $5, tries = tries + $6
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sending' and claim = $4",
        workspace,
        claimed.letter.conversation.0,
        claimed.letter.message.0,
        claimed.claim,
        due_at,
        i16::from(tried)
    )
    .execute(&mut **tx)
    .await?;
    claimed.over(tx).await?;
    Ok(given_back.rows_affected() == 1)
}

/// The newest message from an inbox to a contact, among the newest conversations with them.
pub async fn newest_to(
    conn: &mut PgConnection,
    who: &Actor,
    mailbox: MailboxId,
    contact: &str,
) -> Result<Option<Newest>> {
    Ok(sqlx::query_as!(
        Newest,
        r#"select m.conversation_id as "conversation: ConversationId", m.status as "status!: MessageStatus"
           from (select id from conversations
                 where workspace_id = $1 and audience = any($2) and contact_email = $4 and mailbox_id = $3
                 order by id desc limit 20) c
           join messages m on m.workspace_id = $1 and m.conversation_id = c.id
           where direction = 'outbound' and item >= 0 order by m.at desc, m.item desc limit 1"#,
        who.workspace.0,
        &who.audiences(),
        mailbox.0,
        contact
    )
    .fetch_optional(conn)
    .await?)
}

/// What waits in the sandbox leaves so much earlier. What is being handed over has its lease.
pub async fn sooner_in_sandbox(tx: &mut Tx<'_>, by: TimeDelta) -> Result<u64> {
    let workspace = tx.workspace().0;
    let done = sqlx::query!(
        "update messages set due_at = due_at - make_interval(secs => $2), sends_at = sends_at - make_interval(secs => $2)
         where workspace_id = $1 and sandbox and status = 'scheduled'",
        workspace,
        by.num_seconds() as f64
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}
