//! Mail of the service to its own people, about things they look after. A notice is written in the transaction
//! of what it tells of, and waits to be sent.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{Id, NoticeId, PersonId, WorkspaceId};
use crate::random::Random;
use crate::store::db::Tx;
use crate::store::forget::forget;

/// How long a notice is kept after it was sent.
const KEPT: TimeDelta = TimeDelta::days(30);

pub struct Notice<'a> {
    /// Who looks after it; when they are gone, all owners are told.
    pub to: PersonId,
    pub kind: &'a str,
    pub subject: &'a str,
    pub body: &'a str,
}

pub async fn write(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
    random: &Random,
    notice: Notice<'_>,
) -> Result<()> {
    let recipients = sqlx::query_scalar!(
        "with them as (
             select email from people where workspace_id = $1 and id = $2 and removed_at is null)
         select email as \"email!\" from them
         union all
         select email from people
         where workspace_id = $1 and role = 'owner' and removed_at is null and not exists (select from them)",
        workspace.0,
        notice.to.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let Notice { kind, subject, body, .. } = notice;
    write_to(conn, workspace, now, random, &recipients, Words { kind, subject, body }).await
}

/// What a notice says.
pub struct Words<'a> {
    pub kind: &'a str,
    pub subject: &'a str,
    pub body: &'a str,
}

/// To addresses, whether somebody of the team has them or not: whoever is invited, and whoever has just left.
pub async fn write_to(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
    random: &Random,
    recipients: &[String],
    words: Words<'_>,
) -> Result<()> {
    let ids: Vec<i64> = recipients.iter().map(|_| NoticeId::mint(now, random).0).collect();
    sqlx::query!(
        "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
         select $1, id, recipient, $4, $5, $6, $7, $7 from unnest($2::bigint[], $3::text[]) as t (id, recipient)",
        workspace.0,
        &ids,
        recipients,
        words.kind,
        words.subject,
        words.body,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A notice in the hands of this node, until its lease ends.
pub struct Claimed {
    pub workspace: WorkspaceId,
    pub id: NoticeId,
    pub claim: i32,
    /// Tries in vain.
    pub tries: i16,
    pub recipient: String,
    pub kind: String,
    pub subject: String,
    pub body: String,
    pub created_at: DateTime<Utc>,
}

pub async fn claim(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<Claimed>> {
    Ok(sqlx::query_as!(
        Claimed,
        r#"with due as (
               select ctid, workspace_id from notices
               where due_at <= $1
                 and workspace_id <> all (array(select id from workspaces where fenced_at is not null))
               order by due_at limit 20 for update skip locked),
           entered as materialized (
               select workspace_id from (select distinct workspace_id from due) those
               where try_enter_workspace(workspace_id))
           update notices n set due_at = $2, claim = n.claim + 1
           from due, entered where n.ctid = due.ctid and entered.workspace_id = due.workspace_id
           returning n.workspace_id as "workspace: WorkspaceId", n.id as "id: NoticeId", n.claim, n.tries,
                     n.recipient, n.kind, n.subject, n.body, n.created_at"#,
        now,
        lease_ends
    )
    .fetch_all(conn)
    .await?)
}

/// Deletes notices that were sent long ago.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "notices", "sent_at", now - KEPT, 1000)
}

/// Those that may hold a subject of somebody's mail, because that somebody is erased: what was sent, and mail about what is
/// unread.
pub async fn erase(tx: &mut Tx<'_>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from notices where workspace_id = $1 and (sent_at is not null or kind = 'unread')",
        workspace
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Those of a kind to an address that have not left.
pub async fn withdraw(tx: &mut Tx<'_>, kind: &str, recipient: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from notices where workspace_id = $1 and kind = $2 and recipient = $3 and due_at is not null",
        workspace,
        kind,
        recipient
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// When the next notice is due.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(due_at) from notices where due_at is not null")
        .fetch_one(conn)
        .await?)
}

/// It has left. False when this claim is not the newest any more.
pub async fn sent(tx: &mut Tx<'_>, notice: &Claimed) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let sent = sqlx::query!(
        "update notices set due_at = null, sent_at = $4
         where workspace_id = $1 and id = $2 and claim = $3 and due_at is not null",
        workspace,
        notice.id.0,
        notice.claim,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(sent.rows_affected() == 1)
}

/// Another try at another time, or the first when it was given back untried.
pub async fn again(tx: &mut Tx<'_>, notice: &Claimed, due_at: DateTime<Utc>, tried: bool) -> Result<bool> {
    let workspace = tx.workspace().0;
    let given_back = sqlx::query!(
        "update notices set due_at = $4, tries = tries + $5
         where workspace_id = $1 and id = $2 and claim = $3 and due_at is not null",
        workspace,
        notice.id.0,
        notice.claim,
        due_at,
        i16::from(tried)
    )
    .execute(&mut **tx)
    .await?;
    Ok(given_back.rows_affected() == 1)
}

/// Nobody will ever read it.
pub async fn drop(tx: &mut Tx<'_>, notice: &Claimed) -> Result<bool> {
    let workspace = tx.workspace().0;
    let dropped = sqlx::query!(
        "delete from notices where workspace_id = $1 and id = $2 and claim = $3 and due_at is not null",
        workspace,
        notice.id.0,
        notice.claim
    )
    .execute(&mut **tx)
    .await?;
    Ok(dropped.rows_affected() == 1)
}
