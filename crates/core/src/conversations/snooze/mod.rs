//! Snoozing (specification 3.1): a conversation leaves the work list until a time. A person does it in the
//! app; there is no API for it in v1.

pub mod times;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::Locked;
use crate::conversations::lock::lock_any;
use crate::conversations::transitions::{Trigger, apply};
use crate::workspace::access::{Actor, SANDBOX};
use rookery_base::due::backoff::Aside;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::store::db::Tx;

const SHORTEST: TimeDelta = TimeDelta::minutes(1);
const LONGEST: TimeDelta = TimeDelta::days(366);

pub async fn until(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    actor: &Actor,
    until: DateTime<Utc>,
) -> Result<()> {
    let ahead = until - tx.now();
    if ahead < SHORTEST || ahead > LONGEST {
        return Err(Error::problem("until", "must be between a minute and a year ahead"));
    }
    apply(tx, conversation, Trigger::SnoozeChosen(until), &actor.by()).await
}

/// A person brings it back before its time.
pub async fn wake(tx: &mut Tx<'_>, conversation: &Locked, actor: &Actor) -> Result<()> {
    apply(tx, conversation, Trigger::WokenByPerson, &actor.by()).await
}

/// Snoozes that have run out, a batch at a time, oldest first.
pub async fn ran_out(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, ConversationId)>> {
    let due = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: ConversationId" from conversations
           where snoozed_until <= $1
             and id not in (select unnest($2::bigint[])) and workspace_id not in (select unnest($3::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by snoozed_until limit 100"#,
        now,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(due.into_iter().map(|row| (row.workspace, row.id)).collect())
}

/// Ends a snooze that has run out. Locking the conversation does that, here and everywhere else.
pub async fn end(tx: &mut Tx<'_>, conversation: ConversationId) -> Result<()> {
    lock_any(tx, conversation).await?;
    Ok(())
}

/// When the next snooze runs out.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(snoozed_until) from conversations where snoozed_until is not null")
        .fetch_one(conn)
        .await?)
}

/// Snoozes of the sandbox run out so much earlier.
pub async fn sooner_in_sandbox(tx: &mut Tx<'_>, by: TimeDelta) -> Result<u64> {
    let workspace = tx.workspace().0;
    let done = sqlx::query!(
        "update conversations set snoozed_until = snoozed_until - make_interval(secs => $3)
         where workspace_id = $1 and audience = $2 and snoozed_until is not null",
        workspace,
        SANDBOX,
        by.num_seconds() as f64
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}
