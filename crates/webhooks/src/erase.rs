//! What receivers answered is kept for 30 days, and may name somebody who is erased, by the address or by anything else. So
//! all answers go; that there was one, its status and its time stay. Events themselves hold ids only.

use std::ops::Range;

use chrono::{Days, NaiveDate};

use rookery_base::error::Result;
use rookery_base::ids::{lowest_on, made_at};
use rookery_base::store::db::Tx;

/// Days that are looked through: the log keeps thirty, and one may be about to go.
const DAYS: Days = Days::new(32);
/// Answers that go in one transaction.
const AT_ONCE: i64 = 2_000;

/// Takes a batch, day by day. Gives the first id of the day to go on with; nothing when the whole log is done. `from` is 0
/// for the first.
pub async fn answers(tx: &mut Tx<'_>, from: i64) -> Result<Option<i64>> {
    let today = tx.now().date_naive();
    let day = match from {
        0 => today - DAYS,
        from => made_at(from).date_naive(),
    };
    let next = day.succ_opt().unwrap_or(NaiveDate::MAX);
    // What is still to be delivered, first: it moves to the log of today.
    if from == 0 && waiting(tx).await? == AT_ONCE {
        return Ok(Some(0));
    }
    match logged(tx, lowest_on(day)..lowest_on(next)).await? {
        AT_ONCE => Ok(Some(lowest_on(day))),
        _ if day >= today => Ok(None),
        _ => Ok(Some(lowest_on(next))),
    }
}

async fn waiting(tx: &mut Tx<'_>) -> Result<i64> {
    let workspace = tx.workspace().0;
    let took = sqlx::query!(
        "with batch as (
             select webhook_id, event_id from deliveries
             where workspace_id = $1 and tries @? '$[*].answer' limit $2 for update)
         update deliveries d set tries = (
             select coalesce(jsonb_agg(one - 'answer' order by place), '[]')
             from jsonb_array_elements(tries) with ordinality as t (one, place))
         from batch where d.workspace_id = $1 and d.webhook_id = batch.webhook_id and d.event_id = batch.event_id",
        workspace,
        AT_ONCE
    )
    .execute(&mut **tx)
    .await?;
    Ok(took.rows_affected() as i64)
}

/// Of one day, which is one partition.
async fn logged(tx: &mut Tx<'_>, ids: Range<i64>) -> Result<i64> {
    let workspace = tx.workspace().0;
    let took = sqlx::query!(
        "with batch as (
             select webhook_id, state, kind, id, event_id from delivery_log
             where workspace_id = $1 and id >= $2 and id < $3 and tries @? '$[*].answer' limit $4)
         update delivery_log d set tries = (
             select coalesce(jsonb_agg(one - 'answer' order by place), '[]')
             from jsonb_array_elements(tries) with ordinality as t (one, place))
         from batch
         where d.workspace_id = $1 and d.webhook_id = batch.webhook_id and d.state = batch.state and d.kind = batch.kind
           and d.id = batch.id and d.event_id = batch.event_id and d.id >= $2 and d.id < $3",
        workspace,
        ids.start,
        ids.end,
        AT_ONCE
    )
    .execute(&mut **tx)
    .await?;
    Ok(took.rows_affected() as i64)
}
