//! The reading side of the transactional outbox: takes notes of events that are not fanned out yet, some of each
//! workspace, so that a busy workspace does not delay the others. The caller fans them out in the same
//! transaction.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::due::backoff::Aside;
use crate::error::Result;
use crate::ids::{EventId, WorkspaceId, made_at};

/// Workspaces per batch, notes of each, and notes in total.
const WORKSPACES: i64 = 64;
const NOTES_EACH: i64 = 1000;
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

/// Takes notes of the workspaces after this one, `most` at most. Fenced workspaces are skipped.
pub async fn take(conn: &mut PgConnection, after: WorkspaceId, most: i64, aside: &Aside) -> Result<Notes> {
    let rows = sqlx::query!(
        r#"with recursive waiting (workspace_id) as (
               (select workspace_id from unfanned_events where workspace_id > $1 order by workspace_id limit 1)
               union all
               select (select note.workspace_id from unfanned_events note
                       where note.workspace_id > waiting.workspace_id order by note.workspace_id limit 1)
               from waiting where waiting.workspace_id is not null),
           few as (select workspace_id from waiting
                   where workspace_id is not null
                     and workspace_id not in (select id from workspaces where fenced_at is not null)
                     and exists (select from unfanned_events note where note.workspace_id = waiting.workspace_id
                                   and note.event_id not in (select unnest($5::bigint[])))
                   limit $2),
           entered as materialized (select workspace_id from few where try_enter_workspace(workspace_id))
           delete from unfanned_events note using (
               select first.ctid from entered cross join lateral (
                   select note.ctid from unfanned_events note where note.workspace_id = entered.workspace_id
                     and note.event_id not in (select unnest($5::bigint[]))
                   order by note.event_id limit $3 for update skip locked) first
               limit $4) first
           where note.ctid = first.ctid
           returning note.workspace_id, note.event_id, note.kind, note.livemode, note.audience,
               (select count(*) from few) as "workspaces!""#,
        after.0,
        WORKSPACES,
        NOTES_EACH,
        most,
        &aside.rows
    )
    .fetch_all(conn)
    .await?;
    let mut each: HashMap<i64, i64> = HashMap::new();
    rows.iter().for_each(|row| *each.entry(row.workspace_id).or_default() += 1);
    // Some may have been entered by nobody: they count, for others may lie behind them.
    let looked_at = rows.first().map_or(0, |row| row.workspaces);
    let fewer = each.values().all(|count| *count < NOTES_EACH) && looked_at < WORKSPACES;
    let mut notes = Notes { all: fewer && (rows.len() as i64) < most, ..Notes::default() };
    for row in rows {
        notes.workspaces.push(row.workspace_id);
        notes.events.push(row.event_id);
        notes.kinds.push(row.kind);
        notes.livemodes.push(row.livemode);
        notes.audiences.push(row.audience);
    }
    Ok(notes)
}

/// Since when the oldest note has been waiting, of those that can be taken. When very many workspaces wait, some of them
/// say how long.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    let oldest = sqlx::query_scalar!(
        r#"with recursive first (workspace_id, event_id) as (
               (select workspace_id, event_id from unfanned_events order by workspace_id, event_id limit 1)
               union all
               select note.workspace_id, note.event_id from first cross join lateral (
                   select workspace_id, event_id from unfanned_events
                   where unfanned_events.workspace_id > first.workspace_id
                   order by workspace_id, event_id limit 1) note)
           select min(event_id) as "oldest: EventId" from (
               select event_id from first
               where workspace_id not in (select id from workspaces where fenced_at is not null)
               limit $1) few"#,
        WORKSPACES
    )
    .fetch_one(conn)
    .await?;
    Ok(oldest.map(|event| made_at(event.0)))
}
