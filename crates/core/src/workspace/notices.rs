//! Mail of the service to its own people, about things they look after. A notice is written in the transaction
//! of what it tells of, and waits to be sent. What people are told of in the app stands in `conversations/notifications`.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use rookery_base::due::turns::claim_by_turns;
use rookery_base::error::Result;
use rookery_base::ids::{Id, NoticeId, PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

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
    write_to(conn, workspace, now, random, &recipients, NoticeWords { kind, subject, body }).await
}

/// What a notice says.
pub struct NoticeWords<'a> {
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
    words: NoticeWords<'_>,
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
pub struct ClaimedNotice {
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

/// Takes a few of what is due: sign-in mail, for which somebody waits at a door, then the rest. Workspaces take turns. Few,
/// because sign-in mail that is written meanwhile waits for all of them.
pub async fn claim(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<ClaimedNotice>> {
    let mut claimed = claim_by_turns!(
        ClaimedNotice, &mut *conn, now, lease_ends, most "8", from "notices", due "due_at", claim "claim",
        only "kind in ('sign_in', 'sign_in_by_sso')", with "", "",
        returning r#"t.workspace_id as "workspace: WorkspaceId", t.id as "id: NoticeId", t.claim, t.tries, t.recipient,
                     t.kind, t.subject, t.body, t.created_at"#
    );
    claimed.extend(claim_by_turns!(
        ClaimedNotice, &mut *conn, now, lease_ends, most "8", from "notices", due "due_at", claim "claim",
        only "kind is not null", with "", "",
        returning r#"t.workspace_id as "workspace: WorkspaceId", t.id as "id: NoticeId", t.claim, t.tries, t.recipient,
                     t.kind, t.subject, t.body, t.created_at"#
    ));
    Ok(claimed)
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
pub async fn sent(tx: &mut Tx<'_>, notice: &ClaimedNotice) -> Result<bool> {
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
pub async fn again(
    tx: &mut Tx<'_>,
    notice: &ClaimedNotice,
    due_at: DateTime<Utc>,
    tried: bool,
) -> Result<bool> {
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
pub async fn drop(tx: &mut Tx<'_>, notice: &ClaimedNotice) -> Result<bool> {
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
