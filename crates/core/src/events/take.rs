//! The reading side of the transactional outbox: takes notes of events that are not fanned out yet, some of each
//! workspace, so that a busy workspace does not delay the others. The caller fans them out in the same
//! transaction.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{EventId, WorkspaceId, made_at};

/// Workspaces per batch, notes of each, and notes in total.
const WORKSPACES: i64 = 64;
const NOTES_EACH: i64 = 1000;
/// How far a batch looks for workspaces: so many of each generation, the oldest first.
const STEPS: i64 = 10_000;
/// Notes taken at once.
pub const MOST: i64 = 4000;

/// Notes, as columns.
#[derive(Default)]
pub struct Notes {
    pub workspaces: Vec<i64>,
    pub events: Vec<i64>,
    pub kinds: Vec<String>,
    pub livemodes: Vec<bool>,
    pub audiences: Vec<i64>,
    /// The batch took every note of the workspaces after the given one.
    pub all: bool,
}

/// What is taken at once.
#[derive(Clone, Copy)]
pub struct TakeLimits {
    /// The generation to begin at.
    pub from: i64,
    /// The workspaces after this one.
    pub after: WorkspaceId,
    /// Notes, at most.
    pub most: i64,
}

/// Takes a batch of notes. Fenced workspaces are skipped. Nothing before the batch's generation is read, neither what waits nor
/// what is gone and still stands in the index.
pub async fn take(conn: &mut PgConnection, batch: TakeLimits, aside: &Aside) -> Result<Notes> {
    let rows = sqlx::query!(
        r#"with recursive step (generation, workspace_id) as (
               (select generation, workspace_id from unfanned_events where generation >= $6
                order by generation, workspace_id limit 1)
               union all
               select note.generation, note.workspace_id from step cross join lateral (
                   select generation, workspace_id from unfanned_events
                   where (generation, workspace_id) > (step.generation, step.workspace_id)
                   order by generation, workspace_id limit 1) note),
           stepped as materialized (select workspace_id from step limit $7),
           few as (select workspace_id
                   from (select distinct workspace_id from stepped where workspace_id > $1) waiting
                   -- Not by exists, which may be planned as a walk over all notes that ever were.
                   cross join lateral (
                       select from unfanned_events note where note.workspace_id = waiting.workspace_id
                         and note.generation >= $6 and note.event_id not in (select unnest($5::bigint[])) limit 1) some_note
                   where workspace_id not in (select id from workspaces where fenced_at is not null)
                   order by workspace_id limit $2),
           entered as materialized (select workspace_id from few where try_enter_workspace(workspace_id))
           delete from unfanned_events note using (
               select first.ctid from entered cross join lateral (
                   select note.ctid from unfanned_events note where note.workspace_id = entered.workspace_id
                     and note.generation >= $6 and note.event_id not in (select unnest($5::bigint[]))
                   order by note.generation, note.event_id limit $3 for update skip locked) first
               limit $4) first
           where note.ctid = first.ctid
           returning note.workspace_id, note.event_id, note.kind, note.livemode, note.audience,
               (select count(*) from few) as "workspaces!", (select count(*) from stepped) as "steps!""#,
        batch.after.0,
        WORKSPACES,
        NOTES_EACH,
        batch.most,
        &aside.rows,
        batch.from,
        STEPS
    )
    .fetch_all(conn)
    .await?;
    let mut each: HashMap<i64, i64> = HashMap::new();
    rows.iter().for_each(|row| *each.entry(row.workspace_id).or_default() += 1);
    // Some may have been entered by nobody: they count, for others may lie behind them.
    let looked_at = rows.first().map_or(0, |row| row.workspaces);
    let steps = rows.first().map_or(0, |row| row.steps);
    let fewer = each.values().all(|count| *count < NOTES_EACH) && looked_at < WORKSPACES && steps < STEPS;
    let mut notes = Notes { all: fewer && (rows.len() as i64) < batch.most, ..Notes::default() };
    for row in rows {
        notes.workspaces.push(row.workspace_id);
        notes.events.push(row.event_id);
        notes.kinds.push(row.kind);
        notes.livemodes.push(row.livemode);
        notes.audiences.push(row.audience);
    }
    Ok(notes)
}

/// Since when the oldest note of these generations has been waiting, of those that can be taken. When very many workspaces
/// wait, some of them say how long.
pub async fn next(conn: &mut PgConnection, from: i64) -> Result<Option<DateTime<Utc>>> {
    let oldest = sqlx::query_scalar!(
        r#"with recursive step (generation, workspace_id) as (
               (select generation, workspace_id from unfanned_events where generation >= $2
                order by generation, workspace_id limit 1)
               union all
               select note.generation, note.workspace_id from step cross join lateral (
                   select generation, workspace_id from unfanned_events
                   where (generation, workspace_id) > (step.generation, step.workspace_id)
                   order by generation, workspace_id limit 1) note)
           select min(first.event_id) as "oldest: EventId" from (
               select generation, workspace_id from step
               where workspace_id not in (select id from workspaces where fenced_at is not null)
               limit $1) few
           cross join lateral (
               select event_id from unfanned_events note
               where note.workspace_id = few.workspace_id and note.generation = few.generation
               order by note.event_id limit 1) first"#,
        WORKSPACES,
        from
    )
    .fetch_one(conn)
    .await?;
    Ok(oldest.map(|event| made_at(event.0)))
}
