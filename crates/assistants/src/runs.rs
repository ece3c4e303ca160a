//! Calls of models, kept for 30 days without a word of mail: which engine and prompt, a hash of what was asked, tokens,
//! cost, time and outcome. What rules did is counted by day.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::model::Usage;
use rookery_base::error::Result;
use rookery_base::ids::{Id, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

pub const KEPT: TimeDelta = TimeDelta::days(30);
const AT_ONCE: i64 = 1_000;
/// Runs that a page shows.
const SHOWN: i64 = 50;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Assistant {
        Sort = "sort",
        Draft = "draft",
        Read = "read",
        /// A question of somebody who sets a model up.
        Test = "test",
    }
}

pub struct Run<'a> {
    pub assistant: Assistant,
    pub engine: &'a str,
    pub prompt: &'a str,
    pub input_hash: [u8; 32],
    pub usage: Usage,
    pub cost: i64,
    pub milliseconds: i32,
    pub outcome: &'a str,
}

pub async fn write(tx: &mut Tx<'_>, run: &Run<'_>) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // A number of its own; it names nothing.
    let id = tx.mint::<MessageId>().number();
    let tokens = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
    sqlx::query!(
        "insert into assistant_runs
             (workspace_id, at, id, assistant, engine, prompt, input_hash, tokens_in, tokens_out, cost, milliseconds, outcome)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        workspace,
        now,
        id,
        run.assistant.as_str(),
        run.engine,
        run.prompt,
        &run.input_hash[..],
        tokens(run.usage.tokens_in),
        tokens(run.usage.tokens_out),
        run.cost,
        run.milliseconds,
        run.outcome
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What an engine without a model did with a batch of mail.
pub async fn count(
    tx: &mut Tx<'_>,
    day: NaiveDate,
    engine: &str,
    mails: usize,
    claimed: usize,
) -> Result<()> {
    let workspace = tx.workspace().0;
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    sqlx::query!(
        "insert into assistant_days as kept (workspace_id, day, engine, mails, claimed) values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, day, engine)
             do update set mails = kept.mails + excluded.mails, claimed = kept.claimed + excluded.claimed",
        workspace,
        day,
        engine,
        number(mails),
        number(claimed)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A run as a page shows it.
#[derive(Debug)]
pub struct ListedRun {
    pub at: DateTime<Utc>,
    pub assistant: String,
    pub engine: String,
    pub tokens_in: i32,
    pub tokens_out: i32,
    pub cost: i64,
    pub milliseconds: i32,
    pub outcome: String,
}

pub async fn newest(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<ListedRun>> {
    Ok(sqlx::query_as!(
        ListedRun,
        "select at, assistant, engine, tokens_in, tokens_out, cost, milliseconds, outcome from assistant_runs
         where workspace_id = $1 order by at desc, id desc limit $2",
        workspace.0,
        SHOWN
    )
    .fetch_all(conn)
    .await?)
}

/// Mails that were sorted in the last 30 days, and how many of them got a topic.
pub async fn sorted(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
) -> Result<(i64, i64)> {
    let row = sqlx::query!(
        r#"select coalesce(sum(mails), 0) as "mails!", coalesce(sum(claimed), 0) as "claimed!" from assistant_days
           where workspace_id = $1 and day > $2"#,
        workspace.0,
        (now - KEPT).date_naive()
    )
    .fetch_one(conn)
    .await?;
    Ok((row.mails, row.claimed))
}

pub async fn forget_runs(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "assistant_runs", "at", now - KEPT, AT_ONCE)
}

pub async fn forget_days(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "assistant_days", "day", (now - KEPT).date_naive(), AT_ONCE)
}
