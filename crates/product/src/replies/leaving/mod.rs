//! Outgoing mail (specification 3.3): what leaves soon and can still be stopped, what is on its way, what could not be
//! delivered lately, what leaves later, and what somebody stopped, of the inboxes a person can see.
//!
//! Each list is a branch of an index for each inbox, merged. The strip on every page asks only for what leaves next.

pub mod again;
pub mod now;
pub mod time;
pub mod whole_text;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::replies::queue::list::author_name;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_core::conversations::conversation::Contact;
use rookery_core::conversations::messages::message::{Author, MessageStatus, Origin};
use rookery_core::workspace::access::Actor;

/// How long the page tells of mail that could not be delivered.
const LATELY: TimeDelta = TimeDelta::days(7);
/// Rows of each list.
pub const MOST: i64 = 100;

/// A message of ours that is not there yet.
#[derive(Debug)]
pub struct Leaving {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub status: MessageStatus,
    pub at: DateTime<Utc>,
    pub sends_at: Option<DateTime<Utc>>,
    /// Of what is on its way: when it is tried again.
    pub due_at: Option<DateTime<Utc>>,
    pub tries: i16,
    pub author: Author,
    pub author_name: String,
    pub approved_by: Option<String>,
    pub is_edited: bool,
    /// Its author wrote it in the composer and sent it.
    pub is_composed: bool,
    pub contact: Contact,
    /// Whom it goes to, when that is not just the contact.
    pub to: Vec<String>,
    pub subject: String,
    pub inbox: String,
    /// Why it failed, as its timeline tells it, and whether it was sent again.
    pub reason: Option<String>,
    pub is_again: bool,
}

/// What leaves next.
#[derive(Debug)]
pub struct Next {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub sends_at: DateTime<Utc>,
    /// Since when it waits.
    pub at: DateTime<Utc>,
    /// Who asks wrote and sent it.
    pub is_own: bool,
    pub contact: Contact,
    /// The first it goes to, when that is somebody else.
    pub to: Option<String>,
    /// How many leave soon, this one among them, counted up to [`MOST`].
    pub soon: i64,
}

/// Of which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Scheduled until a time: what is within its undo window.
    Soon(DateTime<Utc>),
    /// Scheduled after that time.
    Later(DateTime<Utc>),
    OnItsWay,
    /// Since so long, newest first.
    Failed(DateTime<Utc>),
    /// Drafts of people: what they stopped, newest first.
    Stopped,
}

impl List {
    pub fn failed_lately(now: DateTime<Utc>) -> Self {
        Self::Failed(now - LATELY)
    }
}

/// A page of a list and what is shown of each row. `$1` is the workspace, `$2` the audiences, `$3` how many.
macro_rules! listed {
    ($conn:expr, $who:expr, $rows:tt, $order:tt $(, $argument:expr)*) => {
        sqlx::query_as!(
            LeavingRow,
            r#"select m.id as "message: MessageId", m.conversation_id as "conversation: ConversationId",
                   m.status as "status!: MessageStatus", m.at, m.sends_at, m.due_at, m.tries,
                   m.origin as "origin: Origin", m.author_type, m.author_id,
                   coalesce((select name from people where workspace_id = $1 and people.id = m.author_id),
                            (select name from agents where workspace_id = $1 and agents.id = m.author_id)) as author_name,
                   (select name from people where workspace_id = $1 and people.id = m.approved_by) as approved_by,
                   coalesce(m.drafted_body <> coalesce(m.written, m.text), false) as "is_edited!",
                   m.composed as is_composed,
                   c.contact_name, c.contact_email, coalesce(m.subject, c.subject) as "subject!",
                   m.to_addresses || coalesce(m.cc_addresses, '{}') || coalesce(m.bcc_addresses, '{}') as to,
                   (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "inbox!"
               from (select branch.* from mailboxes
                     cross join lateral ("# + $rows + r#") branch
                     where mailboxes.workspace_id = $1 and mailboxes.audience = any($2)
                     order by "# + $order + r#" limit $3::bigint) page
               cross join lateral (select * from messages
                                   where workspace_id = $1 and conversation_id = page.conversation_id
                                     and messages.id = page.message offset 0) m
               cross join lateral (select * from conversations
                                   where workspace_id = $1 and conversations.id = page.conversation_id
                                     and audience = any($2) offset 0) c
               order by "# + $order,
            $who.workspace.0,
            &$who.audiences(),
            MOST
            $(, $argument)*
        )
        .fetch_all(&mut *$conn)
        .await?
    };
}

pub async fn list(conn: &mut PgConnection, who: &Actor, which: List) -> Result<Vec<Leaving>> {
    let rows = match which {
        List::Soon(until) => listed!(
            conn,
            who,
            "select conversation_id, id as message, sends_at as place from messages
             where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'scheduled' and sends_at <= $4
             order by sends_at, id limit $3::bigint",
            "place, message",
            until
        ),
        List::Later(after) => listed!(
            conn,
            who,
            "select conversation_id, id as message, sends_at as place from messages
             where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'scheduled' and sends_at > $4
             order by sends_at, id limit $3::bigint",
            "place, message",
            after
        ),
        List::OnItsWay => listed!(
            conn,
            who,
            "select conversation_id, id as message, sends_at as place from messages
             where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'sending'
             order by sends_at, id limit $3::bigint",
            "place, message"
        ),
        List::Failed(since) => listed!(
            conn,
            who,
            "select conversation_id, id as message, at as place from messages
             where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'failed' and at > $4
             order by at desc, id desc limit $3::bigint",
            "place desc, message desc",
            since
        ),
        List::Stopped => listed!(
            conn,
            who,
            "select conversation_id, id as message, at as place from messages
             where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'draft' and author_type = 'user'
             order by at desc, id desc limit $3::bigint",
            "place desc, message desc"
        ),
    };
    let mut listed: Vec<Leaving> = rows.into_iter().map(Leaving::from).collect();
    if matches!(which, List::Failed(_)) {
        reasons(conn, who, &mut listed).await?;
    }
    Ok(listed)
}

/// Why each failed: what its timeline says after it.
async fn reasons(conn: &mut PgConnection, who: &Actor, failed: &mut [Leaving]) -> Result<()> {
    let conversations: Vec<i64> = failed.iter().map(|failed| failed.conversation.0).collect();
    let messages: Vec<String> = failed.iter().map(|failed| failed.message.to_string()).collect();
    let since: Vec<DateTime<Utc>> = failed.iter().map(|failed| failed.at).collect();
    let rows = sqlx::query!(
        r#"select failed.message as "message!", told.event, told.reason
           from unnest($2::bigint[], $3::text[], $4::timestamptz[]) failed(conversation, message, since)
           cross join lateral (
               select event, data ->> 'reason' as reason from timeline_events
               where workspace_id = $1 and conversation_id = failed.conversation and at >= failed.since
                 and event in ('delivery-failed', 'sent-again') and data ->> 'messageId' = failed.message
               order by at, item limit 10) told"#,
        who.workspace.0,
        &conversations,
        &messages,
        &since
    )
    .fetch_all(conn)
    .await?;
    for row in rows {
        if let Some(failed) = failed.iter_mut().find(|failed| failed.message.to_string() == row.message) {
            if row.event == again::SENT_AGAIN {
                failed.is_again = true;
            } else {
                failed.reason = failed.reason.take().or(row.reason);
            }
        }
    }
    Ok(())
}

/// What leaves next of what leaves until a time, and how many do.
pub async fn next(conn: &mut PgConnection, who: &Actor, until: DateTime<Utc>) -> Result<Option<Next>> {
    let (author_type, author) = who.member.columns();
    let row = sqlx::query!(
        r#"with soon as (
               select branch.* from mailboxes
               cross join lateral (
                   select conversation_id, id, sends_at from messages
                   where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'scheduled' and sends_at <= $3
                   order by sends_at, id limit $4::bigint) branch
               where mailboxes.workspace_id = $1 and mailboxes.audience = any($2)
               order by sends_at, id limit $4::bigint)
           select first.id as "message!: MessageId", first.conversation_id as "conversation!: ConversationId",
               first.sends_at as "sends_at!", c.contact_name, c.contact_email,
               m.to, m.at, m.is_own as "is_own!",
               (select count(*) from soon) as "soon!"
           from (select * from soon order by sends_at, id limit 1) first
           cross join lateral (select contact_name, contact_email from conversations
                               where workspace_id = $1 and conversations.id = first.conversation_id
                                 and audience = any($2) offset 0) c
           cross join lateral (select to_addresses[1] as to, at,
                                   coalesce(author_type = $5 and author_id = $6 and composed and approved_by is null, false) as is_own
                               from messages where workspace_id = $1 and conversation_id = first.conversation_id
                                 and messages.id = first.id offset 0) m"#,
        who.workspace.0,
        &who.audiences(),
        until,
        MOST,
        author_type,
        author
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Next {
        message: row.message,
        conversation: row.conversation,
        sends_at: row.sends_at,
        at: row.at,
        is_own: row.is_own,
        to: row.to.filter(|to| row.contact_email.as_ref() != Some(to)),
        contact: Contact { name: row.contact_name, email: row.contact_email },
        soon: row.soon,
    }))
}

struct LeavingRow {
    message: MessageId,
    conversation: ConversationId,
    status: MessageStatus,
    at: DateTime<Utc>,
    sends_at: Option<DateTime<Utc>>,
    due_at: Option<DateTime<Utc>>,
    tries: i16,
    origin: Option<Origin>,
    author_type: Option<String>,
    author_id: Option<i64>,
    author_name: Option<String>,
    approved_by: Option<String>,
    is_edited: bool,
    is_composed: bool,
    contact_name: Option<String>,
    contact_email: Option<String>,
    to: Option<Vec<String>>,
    subject: String,
    inbox: String,
}

impl From<LeavingRow> for Leaving {
    fn from(row: LeavingRow) -> Self {
        let author = Author::stored(row.origin, row.author_type.as_deref(), row.author_id);
        Self {
            message: row.message,
            conversation: row.conversation,
            status: row.status,
            at: row.at,
            sends_at: row.sends_at,
            due_at: row.due_at,
            tries: row.tries,
            author,
            author_name: author_name(author, row.author_name),
            approved_by: row.approved_by,
            is_edited: row.is_edited,
            is_composed: row.is_composed,
            to: row
                .to
                .filter(|to| row.contact_email.as_ref().is_none_or(|email| *to != [email.clone()]))
                .unwrap_or_default(),
            contact: Contact { name: row.contact_name, email: row.contact_email },
            subject: row.subject,
            inbox: row.inbox,
            reason: None,
            is_again: false,
        }
    }
}
