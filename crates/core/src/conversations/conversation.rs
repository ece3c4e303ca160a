//! One conversation, found for someone who can see it (specification 2.4, 5.7). `lock` takes it for a change.
//!
//! Unknown, malformed, hidden, foreign and wrong-mode ids all give the same error from the same query:
//! workspace, mode and visible inboxes are part of it, so there is no difference to observe.

use std::ops::Deref;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::status::Status;
use crate::events::event::{Assignee, Turn};
use crate::events::record::EventContext;
use crate::workspace::access::{Actor, MemberId, SANDBOX};
use crate::workspace::mailboxes::Mailbox;
use crate::workspace::people::away::Absence;
use rookery_base::error::{Error, NO_CONVERSATION, Result};
use rookery_base::ids::{ConversationId, MailboxId, WorkspaceId};

#[derive(Clone, Debug)]
pub struct Conversation {
    pub id: ConversationId,
    pub audience: i64,
    pub mailbox_id: MailboxId,
    pub mailbox_address: String,
    pub mailbox_name: String,
    pub contact: Contact,
    pub subject: String,
    pub status: Status,
    pub snoozed_until: Option<DateTime<Utc>>,
    pub announced_turn: Option<Turn>,
    pub assignee: Option<Member>,
    pub tags: Vec<String>,
    pub topic: Option<String>,
    pub urgency: Option<String>,
    pub risk: Option<String>,
    pub risk_reasons: Vec<String>,
    pub reference: Option<String>,
    /// The conversation whose mail this one answers, when its first mail was not let in there.
    pub answers_in: Option<ConversationId>,
    pub last_message_at: DateTime<Utc>,
    /// The newest item of its timeline, and when it was written.
    pub last_item: i32,
    pub last_item_at: DateTime<Utc>,
}

/// The customer. Both are null after an erasure.
#[derive(Clone, Debug)]
pub struct Contact {
    pub name: Option<String>,
    pub email: Option<String>,
}

impl Contact {
    /// What people call them.
    pub fn called(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.trim().is_empty());
        name.or(self.email.as_deref()).unwrap_or("Somebody who was erased")
    }
}

/// Someone a conversation can be given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    pub name: String,
    /// Known of the team. Of whom a conversation names it is not asked.
    pub absence: Option<Absence>,
}

impl Member {
    pub fn named(id: MemberId, name: String) -> Self {
        Self { id, name, absence: None }
    }

    /// Their absence, while it holds.
    pub fn away(&self, now: &DateTime<Utc>) -> Option<Absence> {
        self.absence.filter(|absence| absence.holds(*now))
    }

    pub fn is_agent(&self) -> bool {
        matches!(self.id, MemberId::Agent(_))
    }
}

impl From<&Member> for Assignee {
    fn from(member: &Member) -> Self {
        let name = Some(member.name.clone());
        match member.id {
            MemberId::Person(id) => Self::User { id, name },
            MemberId::Agent(id) => Self::Agent { id, name },
        }
    }
}

impl Conversation {
    pub fn livemode(&self) -> bool {
        self.audience != SANDBOX
    }

    /// The inbox it is in.
    pub fn mailbox(&self) -> Mailbox {
        Mailbox {
            id: self.mailbox_id,
            audience: self.audience,
            address: self.mailbox_address.clone(),
            name: self.mailbox_name.clone(),
        }
    }

    /// Where its events happen.
    pub fn event_context(&self) -> EventContext<'_> {
        EventContext {
            audience: self.audience,
            livemode: self.livemode(),
            conversation: Some(self.id),
            inbox: &self.mailbox_name,
        }
    }
}

/// A conversation that nobody else can change until the transaction ends. Every verb that changes one takes
/// this, so that what it read is still true when it writes.
#[derive(Debug)]
pub struct Locked(pub(super) Conversation);

impl Deref for Locked {
    type Target = Conversation;
    fn deref(&self) -> &Conversation {
        &self.0
    }
}

/// A conversation someone can see, or the one that it became part of. A snooze that has run out reads as ended
/// (specification 3.1).
pub async fn find_visible(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    id: &str,
) -> Result<Conversation> {
    let id: ConversationId = id.parse().map_err(|_| NO_CONVERSATION)?;
    let audiences = who.audiences();
    let mut found = match fetch(conn, who.workspace, id, Some(&audiences)).await {
        Err(Error::Missing(_)) => {
            let into = merged_into(conn, who.workspace, id).await?.ok_or(NO_CONVERSATION)?;
            fetch(conn, who.workspace, into, Some(&audiences)).await?
        }
        found => found?,
    };
    if found.snoozed_until.is_some_and(|until| until <= now) {
        found.snoozed_until = None;
        found.status = Status::Open;
    }
    Ok(found)
}

/// The conversation that one became part of. Its id keeps answering for it.
pub(in crate::conversations) async fn merged_into(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: ConversationId,
) -> Result<Option<ConversationId>> {
    Ok(sqlx::query_scalar!(
        r#"select into_id as "into: ConversationId" from merged_conversations where workspace_id = $1 and id = $2"#,
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?)
}

pub(super) async fn fetch(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: ConversationId,
    audiences: Option<&[i64]>,
) -> Result<Conversation> {
    let row = sqlx::query!(
        r#"select c.id as "id: ConversationId", c.audience, c.mailbox_id as "mailbox_id: MailboxId",
               contact_name, contact_email, subject, topic, urgency, risk, risk_reasons, reference, last_message_at, last_item, last_item_at,
               status as "status: Status", snoozed_until, announced_turn as "announced_turn: Turn",
               assignee_type, assignee_id,
               coalesce((select name from people where workspace_id = $1 and people.id = c.assignee_id),
                        (select name from agents where workspace_id = $1 and agents.id = c.assignee_id)) as assignee,
               (select other.id from conversations other where other.workspace_id = $1 and other.id = c.answers_in
                  and other.audience = c.audience) as "answers_in: ConversationId",
               (select address from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "address!",
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "inbox!",
               array(select name from conversation_tags tagged
                     join tags on tags.workspace_id = tagged.workspace_id and tags.id = tagged.tag_id
                     where tagged.workspace_id = $1 and tagged.conversation_id = c.id
                     order by folded limit 500) as "tags!"
           from conversations c
           where c.workspace_id = $1 and c.id = $2 and ($3::bigint[] is null or c.audience = any($3))"#,
        workspace.0,
        id.0,
        audiences as _
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_CONVERSATION)?;
    let assignee = MemberId::stored(row.assignee_type.as_deref(), row.assignee_id);
    Ok(Conversation {
        id: row.id,
        audience: row.audience,
        mailbox_id: row.mailbox_id,
        mailbox_address: row.address,
        mailbox_name: row.inbox,
        contact: Contact { name: row.contact_name, email: row.contact_email },
        subject: row.subject,
        status: row.status,
        snoozed_until: row.snoozed_until,
        announced_turn: row.announced_turn,
        assignee: assignee.map(|id| Member::named(id, row.assignee.unwrap_or_default())),
        tags: row.tags,
        topic: row.topic,
        urgency: row.urgency,
        risk: row.risk,
        risk_reasons: row.risk_reasons,
        reference: row.reference,
        answers_in: row.answers_in,
        last_message_at: row.last_message_at,
        last_item: row.last_item,
        last_item_at: row.last_item_at,
    })
}
