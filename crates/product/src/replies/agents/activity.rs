//! What an agent did lately, as a person may know it: its newest messages and what became of each, and what revoking its
//! key would do. What happened in private inboxes of others is neither shown nor counted.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{AgentId, ConversationId, MessageId};
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::workspace::access::SANDBOX;
use rookery_core::workspace::people::Person;

/// Messages on the page of an agent.
const NEWEST: i64 = 20;
/// How far what a revocation does is counted.
pub const MOST: i64 = 100;

/// A message that an agent wrote.
#[derive(Debug)]
pub struct Wrote {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub at: DateTime<Utc>,
    pub subject: String,
    pub contact: String,
    /// Nothing: somebody discarded it, or wrote on in its place.
    pub status: Option<MessageStatus>,
    pub sends_at: Option<DateTime<Utc>>,
    pub sent_at: Option<DateTime<Utc>>,
    pub approved_by: Option<String>,
    pub is_edited: bool,
    pub asks_for_documents: bool,
}

/// The newest messages of an agent that the person can see. People do not see the sandbox.
pub async fn newest(conn: &mut PgConnection, person: &Person, agent: AgentId) -> Result<Vec<Wrote>> {
    let rows = sqlx::query!(
        r#"select page.message_id as "message!: MessageId", c.id as "conversation!: ConversationId",
               page.at as "at!", coalesce(m.subject, c.subject) as "subject!",
               coalesce(nullif(c.contact_name, ''), c.contact_email, '') as "contact!",
               m.status as "status?: MessageStatus", m.sends_at as "sends_at?", m.sent_at as "sent_at?",
               (select name from people where workspace_id = $1 and people.id = m.approved_by) as approved_by,
               coalesce(m.drafted_body <> coalesce(m.written, m.text), false) as "is_edited!",
               exists (select from document_requests r
                       where r.workspace_id = $1 and r.conversation_id = c.id
                         and r.message_id = page.message_id) as "asks!"
           from (select branch.* from unnest($3::bigint[]) own(audience)
                 cross join lateral (
                     select message_id, conversation_id, at from agent_messages
                     where workspace_id = $1 and agent_id = $2 and audience = own.audience
                     order by message_id desc limit $4) branch
                 order by message_id desc limit $4) page
           left join lateral (select * from messages
                              where workspace_id = $1 and messages.id = page.message_id offset 0) m on true
           cross join lateral (select * from conversations
                               where workspace_id = $1 and id = coalesce(m.conversation_id, page.conversation_id)
                                 and audience = any($3) offset 0) c
           order by page.message_id desc"#,
        person.workspace.0,
        agent.0,
        &person.audiences(),
        NEWEST
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Wrote {
            message: row.message,
            conversation: row.conversation,
            at: row.at,
            subject: row.subject,
            contact: row.contact,
            status: row.status,
            sends_at: row.sends_at,
            sent_at: row.sent_at,
            approved_by: row.approved_by,
            is_edited: row.is_edited,
            asks_for_documents: row.asks,
        })
        .collect())
}

/// What revoking a key does, as far as the person can see it; counted up to [`MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequences {
    /// Messages that it has sent and that have not left: they become drafts.
    pub scheduled: i64,
    /// Conversations that it holds: they are given back.
    pub assigned: i64,
}

pub async fn consequences(conn: &mut PgConnection, person: &Person, agent: AgentId) -> Result<Consequences> {
    let mut audiences = person.audiences();
    audiences.push(SANDBOX);
    let row = sqlx::query!(
        r#"select (select count(*) from (
                       select from messages m
                       join conversations c on c.workspace_id = $1 and c.id = m.conversation_id and c.audience = any($3)
                       where m.workspace_id = $1 and m.author_id = $2 and m.author_type = 'agent'
                         and m.status = 'scheduled' limit $4) those) as "scheduled!",
                  (select count(*) from (
                       select from conversations
                       where workspace_id = $1 and assignee_id = $2 and assignee_type = 'agent'
                         and audience = any($3) limit $4) those) as "assigned!""#,
        person.workspace.0,
        agent.0,
        &audiences,
        MOST
    )
    .fetch_one(conn)
    .await?;
    Ok(Consequences { scheduled: row.scheduled, assigned: row.assigned })
}
