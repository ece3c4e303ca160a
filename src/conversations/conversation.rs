//! One conversation, found for someone who can see it (specification 2.4, 5.7).
//!
//! Unknown, malformed, hidden, foreign and wrong-mode ids all give the same error from the same query:
//! workspace, mode and visible inboxes are part of it, so there is no difference to observe.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::status::Status;
use crate::error::{NO_CONVERSATION, Result};
use crate::ids::{AgentId, ConversationId, MailboxId, PersonId};
use crate::workspace::access::Actor;

#[derive(Clone, Debug)]
pub struct Conversation {
    pub id: ConversationId,
    pub audience: i64,
    pub mailbox_id: MailboxId,
    pub mailbox_address: String,
    pub contact: Contact,
    pub subject: String,
    pub status: Status,
    pub snoozed_until: Option<DateTime<Utc>>,
    pub assignee: Option<Member>,
    pub tags: Vec<String>,
    pub topic: Option<String>,
    pub urgency: Option<String>,
    pub risk: Option<String>,
    pub risk_reasons: Vec<String>,
    pub reference: Option<String>,
    pub last_message_at: DateTime<Utc>,
}

/// The customer. Both are null after an erasure.
#[derive(Clone, Debug)]
pub struct Contact {
    pub name: Option<String>,
    pub email: Option<String>,
}

/// Someone a conversation can be given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberId {
    Person(PersonId),
    Agent(AgentId),
}

impl MemberId {
    /// From the columns `assignee_type` and `assignee_id`.
    pub fn stored(kind: Option<&str>, id: i64) -> Option<Self> {
        match kind? {
            "user" => Some(Self::Person(PersonId(id))),
            _ => Some(Self::Agent(AgentId(id))),
        }
    }
}

/// A conversation the actor can see. A snooze that has run out reads as ended (specification 3.1).
pub async fn find_visible(
    conn: &mut PgConnection,
    actor: &Actor,
    now: DateTime<Utc>,
    id: &str,
) -> Result<Conversation> {
    let id: ConversationId = id.parse().map_err(|_| NO_CONVERSATION)?;
    let row = sqlx::query!(
        r#"select c.id as "id: ConversationId", c.audience, c.mailbox_id as "mailbox_id: MailboxId",
               contact_name, contact_email, subject, topic, urgency, risk, risk_reasons, reference, last_message_at,
               case when snoozed_until <= $4 then 'open' else status end as "status!: Status",
               case when snoozed_until > $4 then snoozed_until end as snoozed_until,
               assignee_type, assignee_id,
               coalesce((select name from people where workspace_id = $1 and people.id = c.assignee_id),
                        (select name from agents where workspace_id = $1 and agents.id = c.assignee_id)) as assignee,
               (select address from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "address!",
               array(select name from conversation_tags tagged
                     join tags on tags.workspace_id = tagged.workspace_id and tags.id = tagged.tag_id
                     where tagged.workspace_id = $1 and tagged.conversation_id = c.id
                     order by folded) as "tags!"
           from conversations c
           where c.workspace_id = $1 and c.id = $2 and c.audience = any($3)"#,
        actor.workspace.0, id.0, &actor.audiences(), now)
        .fetch_optional(conn)
        .await?
        .ok_or(NO_CONVERSATION)?;
    let assignee = MemberId::stored(row.assignee_type.as_deref(), row.assignee_id);
    Ok(Conversation {
        id: row.id,
        audience: row.audience,
        mailbox_id: row.mailbox_id,
        mailbox_address: row.address,
        contact: Contact { name: row.contact_name, email: row.contact_email },
        subject: row.subject,
        status: row.status,
        snoozed_until: row.snoozed_until,
        assignee: assignee.map(|id| Member { id, name: row.assignee.unwrap_or_default() }),
        tags: row.tags,
        topic: row.topic,
        urgency: row.urgency,
        risk: row.risk,
        risk_reasons: row.risk_reasons,
        reference: row.reference,
        last_message_at: row.last_message_at,
    })
}
