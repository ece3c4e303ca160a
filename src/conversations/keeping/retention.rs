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
use crate::due::backoff::Aside;
use crate::error::Result;
use crate::ids::{ConversationId, MailboxId, WorkspaceId};
use crate::store::db::Tx;
use crate::workspace::people::Person;

/// How long a conversation lies in the trash.
pub const IN_TRASH: TimeDelta = TimeDelta::days(7);
/// Conversations of an inbox that go to the trash in one transaction.
const AT_ONCE: i64 = 500;
/// What pages count up to.
const MOST_COUNTED: i64 = 10_000;

/// Workspaces where some inbox has a number of days, or something lies in the trash.
pub async fn due(conn: &mut PgConnection, now: DateTime<Utc>, aside: &Aside) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select workspace_id as "workspace!: WorkspaceId" from (
               select workspace_id from mailboxes where keep_days is not null and keep_from <= $1
               union select workspace_id from trash) them
           where workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by 1 limit 100"#,
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

/// Takes out of the trash what does not belong there any more, and puts in what does. True when there may be more.
///
/// What happened last decides. The last message is never later and is what lists are sorted by, so it finds them without an
/// index on a time that every note and every tag would have to move.
pub async fn fill(tx: &mut Tx<'_>) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "delete from trash t using conversations c join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
         where t.workspace_id = $1 and c.workspace_id = $1 and c.id = t.conversation_id
           and (c.status <> 'closed' or c.last_item_at >= t.since or m.keep_days is null
                or c.last_item_at >= $2::timestamptz - make_interval(days => m.keep_days)
                or is_kept($1, c.id))",
        workspace,
        now
    )
    .execute(&mut **tx)
    .await?;
    let put = sqlx::query!(
        "insert into trash (workspace_id, conversation_id, mailbox_id, since, due_at)
         select $1, c.id, m.id, $2, $3
         from mailboxes m cross join lateral (
             select id from conversations c
             where c.workspace_id = $1 and c.mailbox_id = m.id and c.view = 'closed'
               and c.last_message_at < $2::timestamptz - make_interval(days => m.keep_days)
               and c.last_item_at < $2::timestamptz - make_interval(days => m.keep_days)
               and not exists (select from trash t where t.workspace_id = $1 and t.conversation_id = c.id)
               and not is_kept($1, c.id)
             order by c.last_message_at limit $4) c
         where m.workspace_id = $1 and m.keep_days is not null and m.keep_from <= $2
         on conflict do nothing",
        workspace,
        now,
        now + IN_TRASH,
        AT_ONCE
    )
    .execute(&mut **tx)
    .await?;
    Ok(put.rows_affected() as i64 >= AT_ONCE)
}

/// Conversations whose time in the trash is over, locked: nobody opens them again from now on. `fill` has taken out before
/// what must stay.
pub async fn over(tx: &mut Tx<'_>, most: i64) -> Result<Vec<(ConversationId, MailboxId)>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let rows = sqlx::query!(
        r#"select c.id as "id: ConversationId", c.mailbox_id as "mailbox: MailboxId"
           from trash t join conversations c on c.workspace_id = $1 and c.id = t.conversation_id
           where t.workspace_id = $1 and t.due_at <= $2 and c.status = 'closed' and c.last_item_at < t.since
             and not is_kept($1, c.id)
           order by t.due_at, c.id limit $3 for update of c skip locked"#,
        workspace,
        now,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.mailbox)).collect())
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
           from trash t join conversations c on c.workspace_id = $1 and c.id = t.conversation_id
           join mailboxes m on m.workspace_id = $1 and m.id = c.mailbox_id
           where t.workspace_id = $1 and c.audience = any($2) order by t.due_at, c.id limit $3"#,
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
    pub soon: i64,
    pub in_trash: i64,
}

pub async fn leaving(conn: &mut PgConnection, person: &Person, now: DateTime<Utc>) -> Result<Vec<Leaving>> {
    Ok(sqlx::query_as!(
        Leaving,
        r#"select m.id as "mailbox: MailboxId",
               (select count(*) from (
                    select from conversations c
                    where c.workspace_id = $1 and c.mailbox_id = m.id and c.view = 'closed'
                      and c.last_message_at < $3::timestamptz - make_interval(days => m.keep_days) + interval '7 days'
                      and c.last_item_at < $3::timestamptz - make_interval(days => m.keep_days) + interval '7 days'
                      and not exists (select from trash t where t.workspace_id = $1 and t.conversation_id = c.id)
                      and not is_kept($1, c.id)
                    limit $4) few) as "soon!",
               (select count(*) from (
                    select from trash t where t.workspace_id = $1 and t.mailbox_id = m.id limit $4) few) as "in_trash!"
           from mailboxes m where m.workspace_id = $1 and m.audience = any($2) and m.keep_days is not null"#,
        person.workspace.0,
        &person.audiences(),
        now,
        MOST_COUNTED
    )
    .fetch_all(conn)
    .await?)
}
