//! The conversation list (specification 4.2): every filter, newest first, at a cost that does not grow with
//! the workspace.
//!
//! First the ids of a page, from the one index that fits the filters and, for these, from nothing else; then
//! their decoration. A list never asks for `mailbox_id in (…)` under an order: it reads one short branch for
//! each inbox or audience and merges them. Words are looked for in search.rs, over the same branches.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::{Contact, Member};
use crate::conversations::search;
use crate::conversations::status::Status;
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId};
use crate::workspace::access::{Actor, MemberId};

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
    To(MemberId),
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

/// Hands the branches of a filter to another macro: a query that gives `id` and `last_message_at` of the
/// newest `$5` conversations of each branch, and the arguments behind it. `$1` is the workspace, `$2` now,
/// `$3` the audiences, `$4` the view.
///
/// A branch mentions only what its index holds, so that it need not look at the rows. Two things stand
/// apart for that: the snoozed, whose time must be compared, and those of `open` whose snooze has run out
/// but who were not woken yet; these are few, and read before anything else is asked of them.
macro_rules! branches {
    ($form:ident, $conn:expr, $who:expr, $now:expr, $filter:expr, $depth:expr $(, $more:expr)*) => {{
        let (workspace, audiences, view) = ($who.workspace.0, $who.audiences(), $filter.view.as_str());
        let mailbox = $filter.mailbox.map(|mailbox| mailbox.0);
        let assignee = $filter.assigned.map(|assigned| assigned.stored());
        match (&$filter.reference, mailbox, assignee) {
            (Some(reference), mailbox, assignee) => $form!(
                $conn,
                "select id, last_message_at from conversations
                 where workspace_id = $1 and reference = $6 and audience = any($3)
                   and ($4 = 'all' or $4 = case when snoozed_until <= $2 then 'open' else view end)
                   and ($7::bigint is null or mailbox_id = $7)
                   and ($8::bigint is null or assignee_id = $8)
                 order by last_message_at desc, id desc limit $5",
                ["$9" "$10"],
                workspace, $now, &audiences, view, $depth, reference, mailbox, assignee $(, $more)*
            ),
            (None, mailbox, Some(assignee)) => $form!(
                $conn,
                "(select branch.id, branch.last_message_at
                  from mailboxes
                  cross join lateral (
                      (select id, last_message_at from conversations
                       where $4 <> 'snoozed' and workspace_id = $1 and assignee_id = $6
                         and mailbox_id = mailboxes.id and view = $4
                       order by last_message_at desc, id desc limit $5)
                      union all
                      (select id, last_message_at from conversations
                       where $4 = 'snoozed' and workspace_id = $1 and assignee_id = $6
                         and mailbox_id = mailboxes.id and view = $4 and snoozed_until > $2
                       order by last_message_at desc, id desc limit $5)) branch
                  where mailboxes.workspace_id = $1 and mailboxes.audience = any($3)
                    and ($7::bigint is null or mailboxes.id = $7))
                 union all
                 (select id, last_message_at
                  from (select * from conversations
                        where $4 = 'open' and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                  where audience = any($3) and assignee_id = $6 and ($7::bigint is null or mailbox_id = $7))",
                ["$8" "$9"],
                workspace, $now, &audiences, view, $depth, assignee, mailbox $(, $more)*
            ),
            (None, Some(mailbox), None) => $form!(
                $conn,
                "(select branch.id, branch.last_message_at
                  from mailboxes
                  cross join lateral (
                      (select id, last_message_at from conversations
                       where $4 <> 'snoozed' and workspace_id = $1 and mailbox_id = mailboxes.id and view = $4
                       order by last_message_at desc, id desc limit $5)
                      union all
                      (select id, last_message_at from conversations
                       where $4 = 'snoozed' and workspace_id = $1 and mailbox_id = mailboxes.id and view = $4
                         and snoozed_until > $2
                       order by last_message_at desc, id desc limit $5)) branch
                  where mailboxes.workspace_id = $1 and mailboxes.id = $6 and mailboxes.audience = any($3))
                 union all
                 (select id, last_message_at
                  from (select * from conversations
                        where $4 = 'open' and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                  where audience = any($3) and mailbox_id = $6)",
                ["$7" "$8"],
                workspace, $now, &audiences, view, $depth, mailbox $(, $more)*
            ),
            (None, None, None) => $form!(
                $conn,
                "(select branch.id, branch.last_message_at
                  from unnest($3::bigint[]) seen(audience)
                  cross join lateral (
                      (select id, last_message_at from conversations
                       where $4 <> 'snoozed' and workspace_id = $1 and audience = seen.audience and view = $4
                       order by last_message_at desc, id desc limit $5)
                      union all
                      (select id, last_message_at from conversations
                       where $4 = 'snoozed' and workspace_id = $1 and audience = seen.audience and view = $4
                         and snoozed_until > $2
                       order by last_message_at desc, id desc limit $5)) branch)
                 union all
                 (select id, last_message_at
                  from (select * from conversations
                        where $4 = 'open' and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                  where audience = any($3))",
                ["$6" "$7"],
                workspace, $now, &audiences, view, $depth $(, $more)*
            ),
        }
    }};
}
pub(super) use branches;

/// A page of ids and what a summary shows of each. Scalar subqueries throughout: whatever the planner
/// believes of the page's size, it can only look up one row at a time. `$1` is the workspace, `$2` now.
macro_rules! decorated {
    ($page:tt, $limit:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Row,
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
               from (select id, last_message_at from ("# + $page + r#") branches
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
    ($conn:expr, $page:tt, [$($unused:tt)*], $($argument:expr),+) => {
        decorated!($page, "$5", $($argument),+).fetch_all(&mut *$conn).await?
    };
}

pub async fn list(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &Filter,
) -> Result<Vec<Summary>> {
    let rows = match &filter.words {
        None => branches!(newest, conn, who, now, filter, filter.limit),
        Some(words) => {
            let found = search::find(conn, who, now, filter, words).await?;
            decorated!(
                "select c.id, c.last_message_at from unnest($3::bigint[]) found(id)
                 cross join lateral (select id, last_message_at from conversations
                                     where workspace_id = $1 and conversations.id = found.id
                                       and audience = any($4) offset 0) c",
                "null",
                who.workspace.0,
                now,
                &found,
                &who.audiences()
            )
            .fetch_all(conn)
            .await?
        }
    };
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
    pub(super) fn as_str(self) -> &'static str {
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
    pub(super) fn stored(self) -> i64 {
        match self {
            Self::To(member) => member.columns().1,
            Self::ToNobody => 0,
        }
    }
}
