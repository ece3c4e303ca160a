//! Works jobs off: each conversation in a transaction of its own, in which its row of the job says that it was done. So
//! any number of nodes may work on one job, a node that dies leaves nothing half done, and nothing is done twice.
//!
//! One that cannot be changed says why and stops no other.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures::{StreamExt, future, stream};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::action::{Action, Before};
use super::{BulkState, Job, find};
use crate::conversations::lock::lock_visible;
use crate::workspace::people::{self, Person};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece, caught};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BulkJobId, ConversationId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;

/// The worker's loop.
pub const LOOP: &str = "bulk jobs";
/// Tries of one conversation, when the fault is ours.
const TRIES: i32 = 3;
/// How long whoever began a job waits for it, and on how many conversations it is worked meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 2;
const NOT_DONE: &str = "could not be changed: try it alone";

/// A job that has work left, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    pub workspace: WorkspaceId,
    pub job: BulkJobId,
    pub person: PersonId,
}

/// Jobs that have work left, oldest first.
pub async fn due(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<Due>> {
    Ok(sqlx::query_as!(
        Due,
        r#"select workspace_id as "workspace: WorkspaceId", id as "job: BulkJobId", person_id as "person: PersonId"
           from bulk_jobs
           where ended_at is null
             and id not in (select unnest($1::bigint[])) and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by created_at limit 100"#,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Since when the oldest job has been at work.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(created_at) from bulk_jobs where ended_at is null")
        .fetch_one(conn)
        .await?)
}

/// Works off what there is, a part of each job in turn.
pub async fn work_off(app: &App, put_off: &Backoff, at_once: usize) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = due(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for due in due {
            pass.turn(BackoffPiece::Row(due.workspace, due.job.0), some_of(app, due, at_once)).await?;
        }
    }
}

/// Works on a job that a person has just begun or taken back, for as long as they wait for an answer; the worker goes on
/// from there.
pub async fn begin_now(app: &App, person: &Person, job: BulkJobId) -> Result<Job> {
    let due = Due { workspace: person.workspace, job, person: person.id };
    let began = Instant::now();
    while began.elapsed() < PATIENCE && some_of(app, due, AT_ONCE).await? == PassProgress::More {}
    find(&mut *app.connection_of(person.workspace).await?, person, job).await
}

/// Does a part of a job, and writes down how far it is.
pub async fn some_of(app: &App, due: Due, at_once: usize) -> Result<PassProgress> {
    let mut conn = app.connection_of(due.workspace).await?;
    let person = match people::teammate(&mut conn, due.workspace, due.person).await {
        Ok(person) => person,
        // Whoever left the team changes nothing any more.
        Err(Error::Missing(_)) => {
            drop(conn);
            return give_up(app, due).await;
        }
        Err(error) => return Err(error),
    };
    let job = find(&mut conn, &person, due.job).await?;
    let undoing = job.state == BulkState::Undoing;
    let places = places(&mut conn, due, undoing, (job.total / 100).clamp(50, 500)).await?;
    drop(conn);
    let found = places.len();
    let outcomes = stream::iter(places).map(|place| {
        let (action, person) = (&job.action, &person);
        async move {
            if app.stop.is_told() { Ok(()) } else { one(app, due, action, person, place, undoing).await }
        }
    });
    let failed =
        outcomes.buffer_unordered(at_once).filter_map(|ended| future::ready(ended.err())).collect::<Vec<_>>();
    let failed = failed.await;
    let ended = note_progress(app, due, undoing).await?;
    if let Some(error) = failed.into_iter().next() {
        return Err(error);
    }
    Ok(if ended || found == 0 { PassProgress::Done } else { PassProgress::More })
}

/// The next of a job, those last that failed before.
async fn places(conn: &mut PgConnection, due: Due, undoing: bool, most: i32) -> Result<Vec<i32>> {
    let (workspace, job, most) = (due.workspace.0, due.job.0, i64::from(most));
    Ok(if undoing {
        sqlx::query_scalar!(
            "select place from bulk_job_items where workspace_id = $1 and job_id = $2 and state = 'changed'
                 order by tries, place limit $3",
            workspace,
            job,
            most
        )
        .fetch_all(conn)
        .await?
    } else {
        sqlx::query_scalar!(
            "select place from bulk_job_items where workspace_id = $1 and job_id = $2 and state = 'waiting'
                 order by tries, place limit $3",
            workspace,
            job,
            most
        )
        .fetch_all(conn)
        .await?
    })
}

/// One conversation. An error means that even its failure could not be written down.
async fn one(app: &App, due: Due, action: &Action, person: &Person, place: i32, undoing: bool) -> Result<()> {
    let doing = async {
        let mut tx = app.begin(due.workspace).await?;
        let done = if undoing {
            take_back(&mut tx, due, action, person, place).await?
        } else {
            change(&mut tx, due, action, person, place).await?
        };
        if done { tx.commit().await } else { Ok(()) }
    };
    let error = match caught(doing).await {
        Ok(()) => return Ok(()),
        Err(error) if error.is_outage() || error.is_fenced() => return Err(error),
        Err(error) => error,
    };
    let problem = match &error {
        Error::Internal(_) => None,
        Error::Problems(problems) => problems.first().map(|problem| problem.what.clone()),
        told => Some(told.sentence()),
    };
    if problem.is_none() {
        tracing::warn!(%error, workspace = %due.workspace, job = %due.job, "a conversation of a job failed");
        app.loops.backoff_of(LOOP).count(&error);
    }
    let mut tx = app.begin(due.workspace).await?;
    note_failure(&mut tx, due, place, undoing, problem.as_deref()).await?;
    tx.commit().await
}

/// False when another node has it, or it is not to be done any more.
async fn change(tx: &mut Tx<'_>, due: Due, action: &Action, person: &Person, place: i32) -> Result<bool> {
    let workspace = tx.workspace().0;
    let waiting = sqlx::query_scalar!(
        r#"select conversation_id as "id: ConversationId" from bulk_job_items item
           where workspace_id = $1 and job_id = $2 and place = $3 and state = 'waiting'
             and exists (select from bulk_jobs where workspace_id = $1 and id = $2 and state = 'working')
           for update of item skip locked"#,
        workspace,
        due.job.0,
        place
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(id) = waiting else { return Ok(false) };
    let conversation = lock_visible(tx, person, &id.to_string()).await?;
    let changes = action.changes(tx, &conversation, person).await?;
    let before = Before::capture(tx, &conversation, person).await?;
    if changes {
        action.apply(tx, &conversation, person).await?;
    }
    // The conversation may have been waited for, and the job stopped or even taken back meanwhile: then nothing was done.
    // It is looked at last, so that nobody who stops it waits for long.
    let written = sqlx::query!(
        "with job as materialized (
             select from bulk_jobs where workspace_id = $1 and id = $2 and state = 'working' for share)
         update bulk_job_items
         set state = case when $4 then 'changed' else 'same' end, before = case when $4 then $5::jsonb end,
             last_item = (select last_item from conversations where workspace_id = $1 and id = $6)
         where workspace_id = $1 and job_id = $2 and place = $3 and exists (select from job)",
        workspace,
        due.job.0,
        place,
        changes,
        Json(&before) as _,
        conversation.id.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(written.rows_affected() == 1)
}

/// Only where nothing was written on the timeline since, and nothing has left: neither mail nor a colleague's change is
/// overruled, and what was answered meanwhile is not opened again.
async fn take_back(tx: &mut Tx<'_>, due: Due, action: &Action, person: &Person, place: i32) -> Result<bool> {
    let workspace = tx.workspace().0;
    let changed = sqlx::query!(
        r#"select conversation_id as "id: ConversationId", before as "before!: Json<Before>", last_item as "last_item!"
           from bulk_job_items item
           where workspace_id = $1 and job_id = $2 and place = $3 and state = 'changed'
             and exists (select from bulk_jobs where workspace_id = $1 and id = $2 and state = 'undoing')
           for update of item skip locked"#,
        workspace,
        due.job.0,
        place
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(changed) = changed else { return Ok(false) };
    let conversation = lock_visible(tx, person, &changed.id.to_string()).await?;
    let now_there = sqlx::query!(
        r#"select last_item, exists (
               select from messages where workspace_id = $1 and conversation_id = $2 and at > $3 and sent_at > $3) as "answered!"
           from conversations where workspace_id = $1 and id = $2"#,
        workspace,
        conversation.id.0,
        changed.before.changed_at
    )
    .fetch_one(&mut **tx)
    .await?;
    let untouched =
        conversation.id == changed.id && now_there.last_item == changed.last_item && !now_there.answered;
    if untouched {
        action.take_back(tx, &conversation, person, &changed.before).await?;
    }
    sqlx::query!(
        "update bulk_job_items set state = case when $4 then 'restored' else 'kept' end
         where workspace_id = $1 and job_id = $2 and place = $3",
        workspace,
        due.job.0,
        place,
        untouched
    )
    .execute(&mut **tx)
    .await?;
    Ok(true)
}

/// What has a reason is over with; what is our fault is tried again when all others had their turn.
async fn note_failure(
    tx: &mut Tx<'_>,
    due: Due,
    place: i32,
    undoing: bool,
    problem: Option<&str>,
) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update bulk_job_items
         set tries = tries + 1,
             state = case when $5::text is null and tries + 1 < $6 then state when $4 then 'kept' else 'failed' end,
             problem = case when $4 or ($5 is null and tries + 1 < $6) then null else coalesce($5, $7) end
         where workspace_id = $1 and job_id = $2 and place = $3
           and state = case when $4 then 'changed' else 'waiting' end",
        workspace,
        due.job.0,
        place,
        undoing,
        problem,
        TRIES,
        NOT_DONE
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// True when the job has come to its end.
async fn note_progress(app: &App, due: Due, undoing: bool) -> Result<bool> {
    let mut tx = app.begin(due.workspace).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    // Whoever began while it was in another state does not end it: it may have been stopped or taken back meanwhile.
    let (left, at_work) = if undoing { ("changed", "undoing") } else { ("waiting", "working") };
    let ended = sqlx::query_scalar!(
        r#"with counted as (
               select count(*) filter (where state in ('changed', 'same', 'restored', 'kept')) as done,
                      count(*) filter (where state = 'failed') as failed,
                      count(*) filter (where state = 'restored') as undone,
                      count(*) filter (where state = $3) as waiting
               from bulk_job_items where workspace_id = $1 and job_id = $2)
           update bulk_jobs set
               done = counted.done, failed = counted.failed, undone = counted.undone,
               state = case when waiting > 0 or state <> $5 then state when $5 = 'working' then 'done' else 'undone' end,
               ended_at = case when waiting > 0 or state <> $5 then ended_at else $4 end
           from counted where workspace_id = $1 and id = $2
           returning (ended_at is not null) as "ended!""#,
        workspace,
        due.job.0,
        left,
        now,
        at_work
    )
    .fetch_optional(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(ended.unwrap_or(true))
}

async fn give_up(app: &App, due: Due) -> Result<PassProgress> {
    let mut tx = app.begin(due.workspace).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update bulk_jobs set state = case state when 'undoing' then 'undone' else 'cancelled' end, ended_at = $3
         where workspace_id = $1 and id = $2 and ended_at is null",
        workspace,
        due.job.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(PassProgress::Done)
}
