//! The conversation list (specification 4.2): every filter, newest first, at a cost that does not grow with
//! the workspace. First the ids of a page, from the one index that fits the filters; then their decoration.
//!
//! Inboxes and audiences are short branches that are merged, never an `in (…)` under an order. With words,
//! the branches are walked from the newest on; what the newest few thousand do not show is rare enough for
//! the word index.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::{Contact, Member, MemberId};
use crate::conversations::status::Status;
use crate::error::Result;
use crate::ids::{AgentId, ConversationId, MailboxId};
use crate::workspace::access::Actor;

/// Conversations looked at, newest first, before the word index is asked. The first round answers common
/// words from a few pages; the second is about √(25 · a million), where both ways cost the same.
const WALKS: [i64; 2] = [250, 4_000];

#[derive(Clone, Debug)]
pub struct Filter {
    pub view: View,
    pub mailbox: Option<MailboxId>,
    pub assigned: Option<Assigned>,
    pub reference: Option<String>,
    /// Hashes of the words that must all occur (words.rs).
    pub words: Option<Vec<i64>>,
    pub limit: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Open,
    Waiting,
    Snoozed,
    Closed,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    To(AgentId),
    ToNobody,
}

#[derive(Debug)]
pub struct Summary {
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

/// A page of ids and what a summary shows of each. A walk ends for all branches together: a hit of a quiet
/// inbox must not come before a newer one that stands deep in a busy inbox. Scalar subqueries throughout:
/// whatever the planner believes of the page's size, it can only look up one row at a time.
macro_rules! decorated {
    ($page:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select c.id as "id: ConversationId", c.subject, c.snippet,
                   case when c.snoozed_until <= $4 then 'open' else c.status end as "status!: Status",
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
               from (select id, last_message_at
                     from (select id, last_message_at from ("# + $page + r#") branches
                           order by last_message_at desc, id desc limit $5) walked
                     where case when $7::bigint[] is null then true else coalesce(
                         (select words @> $7 from conversation_words
                          where workspace_id = $1 and conversation_id = walked.id), false) end
                     order by last_message_at desc, id desc
                     limit $6) page
               cross join lateral (select * from conversations
                                   where workspace_id = $1 and conversations.id = page.id offset 0) c
               order by page.last_message_at desc, page.id desc"#,
            $($argument),+
        )
    };
}

pub async fn list(
    conn: &mut PgConnection,
    actor: &Actor,
    now: DateTime<Utc>,
    filter: &Filter,
) -> Result<Vec<Summary>> {
    let Some(words) = &filter.words else {
        return page(conn, actor, now, filter, filter.limit).await;
    };
    if words.is_empty() {
        return Ok(Vec::new());
    }
    for depth in WALKS {
        let found = page(conn, actor, now, filter, depth).await?;
        if found.len() as i64 == filter.limit {
            return Ok(found);
        }
    }
    by_words(conn, actor, now, filter, words).await
}

/// The newest `depth` conversations of a view, of which `limit` that have all words.
async fn page(
    conn: &mut PgConnection,
    actor: &Actor,
    now: DateTime<Utc>,
    filter: &Filter,
    depth: i64,
) -> Result<Vec<Summary>> {
    let (workspace, audiences, view) = (actor.workspace.0, actor.audiences(), filter.view.as_str());
    let mailbox = filter.mailbox.map(|mailbox| mailbox.0);
    let assignee = filter.assigned.map(Assigned::stored);
    let words = filter.words.as_deref();
    let rows = match (&filter.reference, mailbox, assignee) {
        (Some(reference), _, _) => {
            decorated!(
                "select id, last_message_at from conversations
                 where workspace_id = $1 and reference = $8 and audience = any($2)
                   and ($3 = 'all' or $3 = case when snoozed_until <= $4 then 'open' else view end)
                   and ($9::bigint is null or mailbox_id = $9)
                   and ($10::bigint is null or assignee_id = $10)
                 order by last_message_at desc, id desc limit $5",
                workspace,
                &audiences,
                view,
                now,
                depth,
                filter.limit,
                words,
                reference,
                mailbox,
                assignee
            )
            .fetch_all(conn)
            .await?
        }
        (None, mailbox, Some(assignee)) => {
            decorated!(
                "select branch.id, branch.last_message_at
                 from mailboxes
                 cross join lateral (
                     (select id, last_message_at from conversations
                      where workspace_id = $1 and assignee_id = $8 and mailbox_id = mailboxes.id and view = $3
                        and (snoozed_until is null or snoozed_until > $4)
                      order by last_message_at desc, id desc limit $5)
                     union all
                     (select id, last_message_at from conversations
                      where $3 = 'open' and workspace_id = $1 and audience = mailboxes.audience
                        and snoozed_until <= $4 and mailbox_id = mailboxes.id and assignee_id = $8)) branch
                 where mailboxes.workspace_id = $1 and mailboxes.audience = any($2)
                   and ($9::bigint is null or mailboxes.id = $9)",
                workspace,
                &audiences,
                view,
                now,
                depth,
                filter.limit,
                words,
                assignee,
                mailbox
            )
            .fetch_all(conn)
            .await?
        }
        (None, Some(mailbox), None) => {
            decorated!(
                "(select id, last_message_at from conversations
                  where workspace_id = $1 and mailbox_id = $8 and view = $3 and audience = any($2)
                    and (snoozed_until is null or snoozed_until > $4)
                  order by last_message_at desc, id desc limit $5)
                 union all
                 (select id, last_message_at from conversations
                  where $3 = 'open' and workspace_id = $1 and audience = any($2)
                    and snoozed_until <= $4 and mailbox_id = $8)",
                workspace,
                &audiences,
                view,
                now,
                depth,
                filter.limit,
                words,
                mailbox
            )
            .fetch_all(conn)
            .await?
        }
        (None, None, None) => {
            decorated!(
                "select branch.id, branch.last_message_at
                 from unnest($2::bigint[]) seen(audience)
                 cross join lateral (
                     (select id, last_message_at from conversations
                      where workspace_id = $1 and audience = seen.audience and view = $3
                        and (snoozed_until is null or snoozed_until > $4)
                      order by last_message_at desc, id desc limit $5)
                     union all
                     (select id, last_message_at from conversations
                      where $3 = 'open' and workspace_id = $1 and audience = seen.audience
                        and snoozed_until <= $4)) branch",
                workspace,
                &audiences,
                view,
                now,
                depth,
                filter.limit,
                words
            )
            .fetch_all(conn)
            .await?
        }
    };
    Ok(rows.into_iter().map(Summary::from).collect())
}

/// Conversations that have rare words, by the word index.
async fn by_words(
    conn: &mut PgConnection,
    actor: &Actor,
    now: DateTime<Utc>,
    filter: &Filter,
    words: &[i64],
) -> Result<Vec<Summary>> {
    let (workspace, audiences, view) = (actor.workspace.0, actor.audiences(), filter.view.as_str());
    let mailbox = filter.mailbox.map(|mailbox| mailbox.0);
    let assignee = filter.assigned.map(Assigned::stored);
    let rows = decorated!(
        "select c.id, c.last_message_at
         from (select conversation_id from conversation_words where words @> $7) hit
         cross join lateral (
             select id, last_message_at from conversations
             where workspace_id = $1 and id = hit.conversation_id and audience = any($2)
               and ($3 = 'all' or $3 = case when snoozed_until <= $4 then 'open' else view end)
               and ($8::bigint is null or mailbox_id = $8)
               and ($9::bigint is null or assignee_id = $9)
               and ($10::text is null or reference = $10)
             offset 0) c
         order by c.last_message_at desc, c.id desc limit $5",
        workspace,
        &audiences,
        view,
        now,
        filter.limit,
        filter.limit,
        Some(words),
        mailbox,
        assignee,
        filter.reference.as_deref()
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Summary::from).collect())
}

struct Row {
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

impl From<Row> for Summary {
    fn from(row: Row) -> Self {
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
            assignee: assignee.map(|id| Member { id, name: row.assignee.unwrap_or_default() }),
            tags: row.tags,
            topic: row.topic,
            urgency: row.urgency,
            risk: row.risk,
            reference: row.reference,
        }
    }
}

impl View {
    fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Snoozed => "snoozed",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }
}

impl Assigned {
    /// As the column `assignee_id` has it.
    fn stored(self) -> i64 {
        match self {
            Self::To(agent) => agent.0,
            Self::ToNobody => 0,
        }
    }
}
