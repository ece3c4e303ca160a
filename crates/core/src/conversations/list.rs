//! The conversation list (specification 4.2): every filter, newest first, at a cost that does not grow with
//! the workspace.
//!
//! First the ids of a page, from the one index that fits the filters and, for these, from nothing else; then
//! their decoration. A list never asks for `mailbox_id in (…)` under an order: it reads one short branch for
//! each inbox or audience and merges them. Words are looked for in search.rs, over the same branches.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::{Contact, Member};
use crate::conversations::filter::{ConversationFilter, branches};
use crate::conversations::search::find;
use crate::conversations::status::Status;
use crate::workspace::access::{Actor, MemberId};
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;

#[derive(Debug)]
pub struct ListedConversation {
    pub id: ConversationId,
    pub subject: String,
    pub snippet: String,
    pub status: Status,
    pub contact: Contact,
    pub mailbox_name: String,
    pub last_message_at: DateTime<Utc>,
    pub message_count: i32,
    pub assignee: Option<Member>,
    pub tags: Vec<String>,
    pub topic: Option<String>,
    pub urgency: Option<String>,
    pub risk: Option<String>,
    pub reference: Option<String>,
}

/// A page of ids and what a summary shows of each. Scalar subqueries throughout: whatever the planner
/// believes of the page's size, it can only look up one row at a time. `$1` is the workspace, `$2` now.
macro_rules! decorated {
    ([$($page:tt)+], $limit:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            ListRow,
            r#"select c.id as "id: ConversationId", c.subject, c.snippet,
                   case when c.snoozed_until <= $2 then 'open' else c.status end as "status!: Status",
                   c.contact_name, c.contact_email, c.last_message_at, c.message_count,
                   (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "mailbox!",
                   c.assignee_type, c.assignee_id,
                   coalesce((select name from people where workspace_id = $1 and people.id = c.assignee_id),
                            (select name from agents where workspace_id = $1 and agents.id = c.assignee_id)) as assignee,
                   array(select (select name from tags where workspace_id = $1 and tags.id = tagged.tag_id)
                         from conversation_tags tagged
                         where tagged.workspace_id = $1 and tagged.conversation_id = c.id
                         order by (select folded from tags where workspace_id = $1 and tags.id = tagged.tag_id))
                       as "tags!",
                   c.topic, c.urgency, c.risk, c.reference
               from (select id, last_message_at from ("# + $($page)+ + r#") branches
                     order by last_message_at desc, id desc limit "# + $limit + r#") page
               cross join lateral (select * from conversations
                                   where workspace_id = $1 and conversations.id = page.id offset 0) c
               order by page.last_message_at desc, page.id desc"#,
            $($argument),+
        )
    };
}

/// The newest of the branches, decorated.
macro_rules! newest {
    ($conn:expr, [$($page:tt)+], $order:tt, [$($unused:tt)*], $($argument:expr),+) => {
        decorated!([$($page)+], "$5", $($argument),+).fetch_all(&mut *$conn).await?
    };
}

pub async fn list(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
) -> Result<Vec<ListedConversation>> {
    let rows = match &filter.words {
        None => branches!(newest first, newest, conn, who, now, filter, filter.limit),
        Some(words) => {
            let found = find::find(conn, who, now, filter, words).await?;
            return these(conn, who, now, &found).await;
        }
    };
    Ok(rows
        .into_iter()
        .map(ListedConversation::from)
        .filter(|one| filter.reaches(one.last_message_at))
        .collect())
}

/// Conversations that were found some other way, those that somebody can see, newest mail first.
pub async fn these(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    found: &[i64],
) -> Result<Vec<ListedConversation>> {
    let rows = decorated!(
        ["select c.id, c.last_message_at from unnest($3::bigint[]) found(id)
          cross join lateral (select id, last_message_at from conversations
                              where workspace_id = $1 and conversations.id = found.id
                                and audience = any($4) offset 0) c"],
        "null",
        who.workspace.0,
        now,
        found,
        &who.audiences()
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(ListedConversation::from).collect())
}

struct ListRow {
    id: ConversationId,
    subject: String,
    snippet: String,
    status: Status,
    contact_name: Option<String>,
    contact_email: Option<String>,
    last_message_at: DateTime<Utc>,
    message_count: i32,
    mailbox: String,
    assignee_type: Option<String>,
    assignee_id: i64,
    assignee: Option<String>,
    tags: Vec<String>,
    topic: Option<String>,
    urgency: Option<String>,
    risk: Option<String>,
    reference: Option<String>,
}

impl From<ListRow> for ListedConversation {
    fn from(row: ListRow) -> Self {
        let assignee = MemberId::stored(row.assignee_type.as_deref(), row.assignee_id);
        Self {
            id: row.id,
            subject: row.subject,
            snippet: row.snippet,
            status: row.status,
            contact: Contact { name: row.contact_name, email: row.contact_email },
            mailbox_name: row.mailbox,
            last_message_at: row.last_message_at,
            message_count: row.message_count,
            assignee: assignee.map(|id| Member::named(id, row.assignee.unwrap_or_default())),
            tags: row.tags,
            topic: row.topic,
            urgency: row.urgency,
            risk: row.risk,
            reference: row.reference,
        }
    }
}
