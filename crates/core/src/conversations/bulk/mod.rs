//! A change that a person makes to one conversation or to very many, as one job: what it is done to is settled when it
//! begins, `work` does it a conversation at a time, and it can be stopped and, for an hour, taken back.
//!
//! A job belongs to the person who began it. To everybody else it is not there. What keys do to many is `at_once`.

pub mod action;
pub mod at_once;
pub mod work;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use self::action::Action;
use crate::workspace::people::Person;
use rookery_base::error::{Error, NO_CONVERSATION, Result};
use rookery_base::ids::{BulkJobId, ConversationId};
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

const NO_JOB: Error = Error::Missing("No such job.");
/// Conversations of one job.
pub const MOST: i64 = 100_000;
/// Jobs that a person may have at work at once.
const MOST_AT_WORK: i64 = 10;
/// How long a job can be taken back.
pub const UNDO: TimeDelta = TimeDelta::hours(1);
/// How long jobs are kept.
const KEPT: TimeDelta = TimeDelta::days(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum BulkState {
    Working,
    Done,
    Cancelled,
    Undoing,
    Undone,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub id: BulkJobId,
    pub action: Action,
    pub state: BulkState,
    pub total: i32,
    /// Changed, or as wanted already.
    pub done: i32,
    pub failed: i32,
    /// Taken back.
    pub undone: i32,
    pub ended_at: Option<DateTime<Utc>>,
}

impl Job {
    pub fn is_at_work(&self) -> bool {
        self.ended_at.is_none()
    }

    pub fn can_be_undone(&self, now: DateTime<Utc>) -> bool {
        let in_time = self.ended_at.is_some_and(|ended| now < ended + UNDO);
        matches!(self.state, BulkState::Done | BulkState::Cancelled) && self.done > 0 && in_time
    }

    /// Of a hundred.
    pub fn percent(&self) -> i32 {
        match self.state {
            BulkState::Undoing => self.undone * 100 / self.done.max(1),
            BulkState::Undone => 100,
            _ => (self.done + self.failed) * 100 / self.total.max(1),
        }
    }
}

/// Begins with some that were picked or found. Those that the person cannot see are not there.
pub async fn start(
    tx: &mut Tx<'_>,
    person: &Person,
    action: &Action,
    picked: &[ConversationId],
) -> Result<BulkJobId> {
    let workspace = tx.workspace().0;
    let seen = sqlx::query_scalar!(
        r#"select c.id as "id!" from unnest($2::bigint[]) with ordinality as picked (id, place)
           cross join lateral (
               select id from conversations
               where workspace_id = $1 and id = picked.id and audience = any($3) offset 0) c
           group by c.id order by min(picked.place)"#,
        workspace,
        picked as &[ConversationId],
        &person.audiences()
    )
    .fetch_all(&mut **tx)
    .await?;
    begin(tx, person, action, &seen).await
}

async fn begin(tx: &mut Tx<'_>, person: &Person, action: &Action, found: &[i64]) -> Result<BulkJobId> {
    if found.is_empty() {
        return Err(NO_CONVERSATION);
    }
    if found.len() as i64 > MOST {
        let what = format!("match more than {MOST} conversations: choose an inbox or fewer at once");
        return Err(Error::problem("all", what));
    }
    let id: BulkJobId = tx.mint();
    let (workspace, now) = (tx.workspace().0, tx.now());
    let (name, argument) = action.columns();
    let begun = sqlx::query!(
        "insert into bulk_jobs (workspace_id, id, person_id, action, argument, state, total, created_at)
         select $1, $2, $3, $4, $5, 'working', $6, $7
         where (select count(*) from bulk_jobs where workspace_id = $1 and person_id = $3 and ended_at is null) < $8",
        workspace,
        id.0,
        person.id.0,
        name,
        argument,
        found.len() as i32,
        now,
        MOST_AT_WORK
    )
    .execute(&mut **tx)
    .await?;
    if begun.rows_affected() == 0 {
        return Err(Error::problem("act", "has to wait: let what you began before come to its end first"));
    }
    sqlx::query!(
        "insert into bulk_job_items (workspace_id, job_id, place, conversation_id)
         select $1, $2, place, id from unnest($3::bigint[]) with ordinality as found (id, place)",
        workspace,
        id.0,
        found
    )
    .execute(&mut **tx)
    .await?;
    Ok(id)
}

/// A job of this person's own.
pub async fn find(conn: &mut PgConnection, person: &Person, id: BulkJobId) -> Result<Job> {
    let row = sqlx::query!(
        r#"select action, argument, state as "state: BulkState", total, done, failed, undone, ended_at
           from bulk_jobs where workspace_id = $1 and id = $2 and person_id = $3"#,
        person.workspace.0,
        id.0,
        person.id.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_JOB)?;
    Ok(Job {
        id,
        action: Action::stored(&row.action, &row.argument)?,
        state: row.state,
        total: row.total,
        done: row.done,
        failed: row.failed,
        undone: row.undone,
        ended_at: row.ended_at,
    })
}

/// A conversation that could not be changed, and why.
#[derive(Debug)]
pub struct BulkFailure {
    pub conversation: ConversationId,
    pub subject: String,
    pub problem: String,
}

/// The first of those that could not be changed and can still be seen.
pub async fn failures(conn: &mut PgConnection, person: &Person, id: BulkJobId) -> Result<Vec<BulkFailure>> {
    Ok(sqlx::query_as!(
        BulkFailure,
        r#"select c.id as "conversation: ConversationId", c.subject, item.problem as "problem!"
           from (select conversation_id, problem, place from bulk_job_items
                 where workspace_id = $1 and job_id = $2 and state = 'failed'
                   and exists (select from bulk_jobs where workspace_id = $1 and id = $2 and person_id = $3)
                 order by place limit 20) item
           cross join lateral (
               select id, subject from conversations
               where workspace_id = $1 and id = item.conversation_id and audience = any($4) offset 0) c
           order by item.place"#,
        person.workspace.0,
        id.0,
        person.id.0,
        &person.audiences()
    )
    .fetch_all(conn)
    .await?)
}

/// Stops what is not done yet. What is done stays, and can be taken back.
pub async fn cancel(tx: &mut Tx<'_>, person: &Person, id: BulkJobId) -> Result<()> {
    find(tx, person, id).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update bulk_jobs set state = 'cancelled', ended_at = $3
         where workspace_id = $1 and id = $2 and state = 'working'",
        workspace,
        id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes it back, where nothing else happened since.
pub async fn undo(tx: &mut Tx<'_>, person: &Person, id: BulkJobId) -> Result<()> {
    let job = find(tx, person, id).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    if matches!(job.state, BulkState::Undoing | BulkState::Undone) {
        return Ok(());
    }
    if !job.can_be_undone(now) {
        return Err(Error::problem("job", "can be undone for an hour after it has ended"));
    }
    sqlx::query!(
        "update bulk_jobs set state = 'undoing', ended_at = null
         where workspace_id = $1 and id = $2 and state in ('done', 'cancelled')",
        workspace,
        id.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Forgets jobs that nobody can take back any more; each may take a hundred thousand rows with it.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "bulk_jobs", "ended_at", now - KEPT, 5)
}
