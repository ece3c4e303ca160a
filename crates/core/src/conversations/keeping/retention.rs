//! Retention: closed conversations of an inbox that has a number of days go to the trash when nothing happened in them for
//! so long, and are removed seven days later. In the trash they can still be read; opening one again, new mail or a hold
//! takes it out. Open conversations are never touched, nor those with mail that is still to leave or to be approved.
//!
//! Whoever fills the trash or empties it is `holds::alone`: no hold is placed between the look and the deed.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::conversations::lock::lock_visible;
use crate::conversations::status::Status;
use crate::conversations::transitions;
use crate::workspace::people::Person;
use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId, WorkspaceId};
use rookery_base::store::db::Tx;

/// How long a conversation lies in the trash.
pub const IN_TRASH: TimeDelta = TimeDelta::days(7);
/// Conversations that one transaction looks at, in the trash or in an inbox. Whether one is kept is a look at its mail, which may
/// have to come from the disk.
const AT_ONCE: i64 = 250;
/// What pages count up to.
const MOST_COUNTED: i64 = 10_000;
/// Conversations that a page asks whether they are to go, of all inboxes together. Each is asked for drafts, bookings and holds.
const MOST_ASKED: i64 = 1_000;

/// Workspaces where some inbox has a number of days, or something lies in the trash.
pub async fn kept(conn: &mut PgConnection, now: DateTime<Utc>, aside: &Aside) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "workspace!: WorkspaceId" from workspaces w
           where fenced_at is null and id not in (select unnest($2::bigint[]))
             and (exists (select from mailboxes m where m.workspace_id = w.id and keep_days is not null and keep_from <= $1)
                  or exists (select from trash t where t.workspace_id = w.id))
           order by 1 limit 100"#,
        now,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Workspaces where something has had its time in the trash. Looks at the oldest 10,000, so it may not name all.
pub async fn due(conn: &mut PgConnection, now: DateTime<Utc>, aside: &Aside) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct workspace_id as "workspace!: WorkspaceId" from (
               select workspace_id from trash
               where due_at <= $1 and workspace_id not in (select unnest($2::bigint[]))
                 and workspace_id not in (select id from workspaces where fenced_at is not null)
               order by due_at limit 10000) oldest"#,
        now,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// When the next of those in the trash is to go.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(due_at) from trash").fetch_one(conn).await?)
}

/// How far a round through a workspace is: it looks at all that lies in the trash, and then at the closed conversations of each
/// inbox that keeps them for a time. Each transaction looks at so many and notes the last, whether it stays or goes.
#[derive(Clone, Copy, Debug)]
pub enum Round {
    Trash { after: ConversationId },
    Inbox { mailbox: MailboxId, last: Option<Looked> },
}

/// A conversation of an inbox, in the order of their last messages.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    at: DateTime<Utc>,
    conversation: ConversationId,
}

impl Round {
    pub const BEGIN: Self = Self::Trash { after: ConversationId(0) };
    /// What lies in the trash was looked at.
    pub const INBOXES: Self = Self::Inbox { mailbox: MailboxId(0), last: None };
}

/// Takes out of the trash what does not belong there any more, and puts in what does. Gives how far it came; nothing when the
/// round is over.
pub async fn go_round(tx: &mut Tx<'_>, round: Round) -> Result<Option<Round>> {
    match round {
        Round::Trash { after } => {
            let lying = lying(tx, after).await?;
            take_out(tx, &lying).await?;
            let more = lying.last().filter(|_| lying.len() as i64 == AT_ONCE);
            Ok(Some(more.map_or(Round::INBOXES, |last| Round::Trash { after: *last })))
        }
        Round::Inbox { mailbox, last } => fill(tx, mailbox, last).await,
    }
}

async fn lying(tx: &mut Tx<'_>, after: ConversationId) -> Result<Vec<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select conversation_id as "id: ConversationId" from trash
           where workspace_id = $1 and conversation_id > $2 order by conversation_id limit $3"#,
        workspace,
        after.0,
        AT_ONCE
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Takes those of these out of the trash that do not belong there any more.
async fn take_out(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "delete from trash t using conversations c join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
         where t.workspace_id = $1 and t.conversation_id = any($3) and c.workspace_id = $1 and c.id = t.conversation_id
           and case when t.by_hand then c.last_item_at > t.since or is_held($1, c.id)
                    else c.status <> 'closed' or c.last_item_at >= t.since or m.keep_days is null
                         or c.last_item_at >= $2::timestamptz - make_interval(days => m.keep_days)
                         or c.id in (select conversations_unsent($1)) or is_booked_or_held($1, c.id) end",
        workspace,
        now,
        conversations as &[ConversationId]
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Puts in what has had its time in an inbox, the one given or the next that keeps its mail for a time.
///
/// What happened last decides. The last message is never later and is what lists are sorted by, so it finds them without an
/// index on a time that every note and every tag would have to move.
async fn fill(tx: &mut Tx<'_>, from: MailboxId, last: Option<Looked>) -> Result<Option<Round>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let mailbox = sqlx::query!(
        r#"select id as "id: MailboxId", keep_days as "keep_days!" from mailboxes
           where workspace_id = $1 and id >= $2 and keep_days is not null and keep_from <= $3 order by id limit 1"#,
        workspace,
        from.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(mailbox) = mailbox else { return Ok(None) };
    let last = last.filter(|_| mailbox.id == from);
    let looked = sqlx::query!(
        r#"with looked as materialized (
               select id, last_message_at, last_item_at from conversations
               where workspace_id = $1 and mailbox_id = $2 and view = 'closed'
                 and last_message_at < $3::timestamptz - make_interval(days => $4)
                 and (last_message_at, id) > (coalesce($5, '-infinity'::timestamptz), $6)
               order by last_message_at, id limit $7),
           -- Row by row, so that no plan reads the whole trash for it.
           fresh as materialized (
               select looked.* from looked left join lateral (
                   select true as lies from trash t where t.workspace_id = $1 and t.conversation_id = looked.id limit 1) t on true
               where lies is null),
           put as (
               insert into trash (workspace_id, conversation_id, mailbox_id, since, due_at)
               select $1, c.id, $2, $3, $8 from fresh c
               where c.last_item_at < $3::timestamptz - make_interval(days => $4)
                 and c.id not in (select conversations_unsent($1)) and not is_booked_or_held($1, c.id)
               on conflict do nothing)
           select last_message_at as at, id as "conversation: ConversationId" from looked
           order by last_message_at desc, id desc limit (select greatest(0, count(*) - $7 + 1) from looked)"#,
        workspace,
        mailbox.id.0,
        now,
        mailbox.keep_days,
        last.map(|last| last.at),
        last.map_or(0, |last| last.conversation.0),
        AT_ONCE,
        now + IN_TRASH
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(Some(match looked {
        Some(last) => Round::Inbox {
            mailbox: mailbox.id,
            last: Some(Looked { at: last.at, conversation: last.conversation }),
        },
        None => Round::Inbox { mailbox: MailboxId(mailbox.id.0 + 1), last: None },
    }))
}

/// A conversation whose time in the trash is over.
#[derive(Debug)]
pub struct Over {
    pub conversation: ConversationId,
    pub mailbox: MailboxId,
    /// Somebody deleted it, which is in the audit log.
    pub by_hand: bool,
}

/// Those whose time is over, locked: nobody opens them again from now on. Those that do not belong in the trash any more are
/// taken out. Nothing when there was none to look at that nobody else holds.
pub async fn over(tx: &mut Tx<'_>, most: i64) -> Result<Option<Vec<Over>>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let locked = sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and id = any(array(
               select conversation_id from trash
               where workspace_id = $1 and due_at <= $2 order by due_at, conversation_id limit $3))
           order by id for update skip locked"#,
        workspace,
        now,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    if locked.is_empty() {
        return Ok(None);
    }
    take_out(tx, &locked).await?;
    let left = sqlx::query_as!(
        Over,
        r#"select t.conversation_id as "conversation: ConversationId", c.mailbox_id as "mailbox: MailboxId", by_hand
           from trash t join conversations c on c.workspace_id = $1 and c.id = t.conversation_id
           where t.workspace_id = $1 and t.conversation_id = any($2) order by t.due_at, t.conversation_id"#,
        workspace,
        &locked as &[ConversationId]
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(Some(left))
}

/// Somebody deletes a conversation that is too long to go at once: it goes part by part, from now on.
pub async fn delete_by_hand(tx: &mut Tx<'_>, id: ConversationId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into trash (workspace_id, conversation_id, mailbox_id, since, due_at, by_hand)
         select $1, id, mailbox_id, $3, $3, true from conversations where workspace_id = $1 and id = $2
         on conflict (workspace_id, conversation_id) do update set since = $3, due_at = $3, by_hand = true",
        workspace,
        id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes one out of the trash: it is open again.
pub async fn bring_back(tx: &mut Tx<'_>, person: &Person, id: &str) -> Result<()> {
    let conversation = lock_visible(tx, person, id).await?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from trash where workspace_id = $1 and conversation_id = $2",
        workspace,
        conversation.id.0
    )
    .execute(&mut **tx)
    .await?;
    transitions::set_status(tx, &conversation, person, Status::Open).await
}

/// One in the trash, for those who see its inbox.
#[derive(Debug)]
pub struct Trashed {
    pub id: ConversationId,
    pub subject: String,
    pub contact: Option<String>,
    pub inbox: String,
    pub due_at: DateTime<Utc>,
}

/// Those that go first.
pub async fn trashed(conn: &mut PgConnection, person: &Person, most: i64) -> Result<Vec<Trashed>> {
    Ok(sqlx::query_as!(
        Trashed,
        r#"select c.id as "id: ConversationId", c.subject, coalesce(c.contact_name, c.contact_email) as contact,
               m.name as inbox, t.due_at
           from (select few.conversation_id, few.due_at
                 from mailboxes seen cross join lateral (
                     select conversation_id, due_at from trash
                     where workspace_id = $1 and mailbox_id = seen.id order by due_at limit $3) few
                 where seen.workspace_id = $1 and seen.audience = any($2)) t
           join conversations c on c.workspace_id = $1 and c.id = t.conversation_id
           join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
           where c.audience = any($2) order by t.due_at, c.id limit $3"#,
        person.workspace.0,
        &person.audiences(),
        most
    )
    .fetch_all(conn)
    .await?)
}

/// What becomes of an inbox by the number of days it has.
#[derive(Debug)]
pub struct Leaving {
    pub mailbox: MailboxId,
    /// Go to the trash within a week, and lie there now.
    pub soon: CappedCount,
    pub in_trash: CappedCount,
}

/// A number that counting may have ended at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CappedCount {
    pub n: i64,
    /// There may be more.
    pub is_cut: bool,
}

/// Asked about in the order in which they would go last: those that lie in the trash already come at the end.
pub async fn leaving(conn: &mut PgConnection, person: &Person, now: DateTime<Utc>) -> Result<Vec<Leaving>> {
    let rows = sqlx::query!(
        r#"with seen as materialized (
               select id, keep_days, greatest($4::bigint / count(*) over (), 1) as most from mailboxes
               where workspace_id = $1 and audience = any($2) and keep_days is not null)
           select seen.id as "mailbox: MailboxId", soon.n as "soon!", soon.asked >= seen.most as "soon_is_cut!",
                  in_trash.n as "in_trash!"
           from seen
           cross join lateral (
               select count(*) as asked,
                      count(*) filter (
                          where last_item_at < $3::timestamptz - make_interval(days => seen.keep_days) + interval '7 days'
                            and lies is null and few.id not in (select conversations_unsent($1))
                            and not is_booked_or_held($1, few.id)) as n
               from (select id, last_item_at from conversations c
                     where c.workspace_id = $1 and c.mailbox_id = seen.id and c.view = 'closed'
                       and c.last_message_at < $3::timestamptz - make_interval(days => seen.keep_days) + interval '7 days'
                     order by c.last_message_at desc limit seen.most) few
               left join lateral (
                   select true as lies from trash t where t.workspace_id = $1 and t.conversation_id = few.id limit 1) t on true
               ) soon
           cross join lateral (
               select count(*) as n from (
                   select from trash t where t.workspace_id = $1 and t.mailbox_id = seen.id limit $5) few) in_trash"#,
        person.workspace.0,
        &person.audiences(),
        now,
        MOST_ASKED,
        MOST_COUNTED
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Leaving {
            mailbox: row.mailbox,
            soon: CappedCount { n: row.soon, is_cut: row.soon_is_cut },
            in_trash: CappedCount { n: row.in_trash, is_cut: row.in_trash >= MOST_COUNTED },
        })
        .collect())
}
