//! Mail and documents that a model is to be asked about: a row for each, taken under a lease and a claim. What a model said is written
//! only under the newest claim.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{DocumentId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

/// Few, and of one workspace fewer still, so that a model that hangs does not keep the mail of others waiting.
const AT_ONCE: i64 = 16;
const OF_A_WORKSPACE: i64 = 2;
/// How long a workspace's other mail waits when its model did not answer.
const PAUSE: TimeDelta = TimeDelta::minutes(1);
/// An answer that comes later helps nobody.
const LATEST: TimeDelta = TimeDelta::hours(2);
const FORGOTTEN_AT_ONCE: i64 = 1_000;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TaskKind {
        Sort = "sort",
        Draft = "draft",
        /// Of a document; the others are of a message.
        Read = "read",
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub workspace: WorkspaceId,
    about: i64,
    pub claim: i32,
    pub tries: i16,
}

impl Task {
    pub fn message(&self) -> MessageId {
        MessageId(self.about)
    }

    pub fn document(&self) -> DocumentId {
        DocumentId(self.about)
    }
}

/// From now on: messages, or documents.
pub async fn note(tx: &mut Tx<'_>, about: &[i64], kind: TaskKind) -> Result<()> {
    if about.is_empty() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into assistant_tasks (workspace_id, about, kind, since, due_at)
         select $1, id, $3, $4, $4 from unnest($2::bigint[]) as one (id) on conflict do nothing",
        workspace,
        about,
        kind.as_str(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub async fn claim(
    conn: &mut PgConnection,
    kind: TaskKind,
    now: DateTime<Utc>,
    lease_ends: DateTime<Utc>,
) -> Result<Vec<Task>> {
    Ok(sqlx::query_as!(
        Task,
        r#"with recursive step as (
               (select workspace_id from assistant_tasks where kind = $3 order by workspace_id limit 1)
               union all
               select (select workspace_id from assistant_tasks
                       where kind = $3 and workspace_id > step.workspace_id order by workspace_id limit 1)
               from step where step.workspace_id is not null),
           due as (
               select own.ctid, step.workspace_id from step
               cross join lateral (
                   select ctid, due_at from assistant_tasks
                   where kind = $3 and workspace_id = step.workspace_id and due_at <= $1
                   order by due_at limit $5 for update skip locked) own
               where step.workspace_id <> all (array(select id from workspaces where fenced_at is not null))
                 and step.workspace_id <> all (
                     array(select workspace_id from assistant_settings where paused_until > $1))
               order by own.due_at limit $4),
           entered as materialized (
               select workspace_id from (select distinct workspace_id from due) those
               where try_enter_workspace(workspace_id))
           update assistant_tasks t set due_at = $2, claim = t.claim + 1
           from due, entered where t.ctid = due.ctid and entered.workspace_id = due.workspace_id
           returning t.workspace_id as "workspace: WorkspaceId", t.about, t.claim, t.tries"#,
        now,
        lease_ends,
        kind.as_str(),
        AT_ONCE,
        OF_A_WORKSPACE
    )
    .fetch_all(conn)
    .await?)
}

/// It is done with. False when this claim is not the newest any more.
pub async fn done(tx: &mut Tx<'_>, task: &Task, kind: TaskKind) -> Result<bool> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "delete from assistant_tasks where workspace_id = $1 and about = $2 and kind = $3 and claim = $4",
        workspace,
        task.about,
        kind.as_str(),
        task.claim
    )
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() == 1)
}

pub async fn again(
    tx: &mut Tx<'_>,
    task: &Task,
    kind: TaskKind,
    due_at: DateTime<Utc>,
    tried: bool,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    let put_off = sqlx::query!(
        "update assistant_tasks set due_at = $5, tries = tries + $6::boolean::int
         where workspace_id = $1 and about = $2 and kind = $3 and claim = $4",
        workspace,
        task.about,
        kind.as_str(),
        task.claim,
        due_at,
        tried
    )
    .execute(&mut **tx)
    .await?;
    Ok(put_off.rows_affected() == 1)
}

/// A workspace's model did not answer: what waits for it is not tried for a while.
pub async fn put_off_others(app: &App, workspace: WorkspaceId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let until = tx.now() + PAUSE;
    sqlx::query!(
        "update assistant_settings set paused_until = $2 where workspace_id = $1",
        workspace.0,
        until
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}

/// When the next is due.
pub async fn next(conn: &mut PgConnection, kind: TaskKind) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "with recursive step as (
             (select workspace_id from assistant_tasks where kind = $1 order by workspace_id limit 1)
             union all
             select (select workspace_id from assistant_tasks
                     where kind = $1 and workspace_id > step.workspace_id order by workspace_id limit 1)
             from step where step.workspace_id is not null)
         select min(own.due_at) from (select workspace_id from step where workspace_id is not null limit 64) few
         cross join lateral (
             select due_at from assistant_tasks where kind = $1 and workspace_id = few.workspace_id
             order by due_at limit 1) own",
        kind.as_str()
    )
    .fetch_one(conn)
    .await?)
}

/// What waited too long.
pub async fn forget_late(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "assistant_tasks", "since", now - LATEST, FORGOTTEN_AT_ONCE)
}
