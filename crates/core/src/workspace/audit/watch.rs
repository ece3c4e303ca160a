//! Looks after every audit log once a day: checks its chain, writes its newest head to the log of the server, where nobody
//! who can only change the database can reach it, and takes away what is older than a year, behind a signed anchor.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::workspace::audit::{ChainVerdict, Head, end, list, signed, verify};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::{Handle, Snapshot, Tx};

/// The worker's loop.
pub const LOOP: &str = "look after audit logs";

const EVERY: TimeDelta = TimeDelta::days(1);
const KEPT: TimeDelta = TimeDelta::days(366);
/// Entries that are taken away in one transaction.
const AT_ONCE: i64 = 5_000;

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = due(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for workspace in due {
            let looking = async {
                if let ChainVerdict::Sound(_) = check_now(app, workspace).await? {
                    while trim_some(app, workspace).await? {}
                }
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Workspace(workspace), looking).await?;
        }
    }
}

/// When the next one is to be looked at.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    let oldest = sqlx::query_scalar!("select min(checked_at) from audit_heads").fetch_one(conn).await?;
    Ok(oldest.map(|oldest| oldest + EVERY))
}

async fn due(conn: &mut PgConnection, now: DateTime<Utc>, aside: &Aside) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"select workspace_id as "workspace: WorkspaceId" from audit_heads
           where (checked_at is null or checked_at <= $1) and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by checked_at nulls first limit 100"#,
        now - EVERY,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// Checks a chain now and keeps what was found.
pub async fn check_now(app: &App, workspace: WorkspaceId) -> Result<ChainVerdict> {
    let mut instant = Snapshot::begin(app.connection().await?, app.frame(workspace)).await?;
    let keys = instant.frame().needs_keys()?.clone();
    let newest = list::chain(&mut instant, workspace).await?.map(|chain| chain.newest);
    let verdict = verify(&mut instant, &keys, workspace, None).await?;
    instant.finish().await?;
    match (&verdict, newest) {
        (ChainVerdict::Sound(_), Some(head)) => {
            tracing::info!(%workspace, %head, "the audit log is whole");
        }
        (verdict, _) => tracing::error!(%workspace, ?verdict, "the audit log is not as it was written"),
    }
    let mut tx = app.begin(workspace).await?;
    keep(&mut tx, &verdict).await?;
    tx.commit().await?;
    Ok(verdict)
}

async fn keep(tx: &mut Tx<'_>, verdict: &ChainVerdict) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let (sound_to, broken) = match verdict {
        ChainVerdict::Sound(n) => (*n, None),
        ChainVerdict::Broken { n, why } => (n - 1, Some((*n, *why))),
    };
    sqlx::query!(
        "update audit_heads set checked_at = $2, checked_n = $3, broken_n = $4, broken_why = $5 where workspace_id = $1",
        workspace,
        now,
        sound_to,
        broken.map(|(n, _)| n),
        broken.map(|(_, why)| why)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn trim_some(app: &App, workspace: WorkspaceId) -> Result<bool> {
    let mut tx = app.begin(workspace).await?;
    let more = trim(&mut tx).await?;
    tx.commit().await?;
    Ok(more)
}

/// Takes away the oldest entries that have had their year. True when there may be more. Only of a chain that was found
/// whole just now: what is taken away cannot be checked any more.
pub async fn trim(tx: &mut Tx<'_>) -> Result<bool> {
    let (workspace, cutoff) = (tx.workspace(), tx.now() - KEPT);
    let end = end(tx).await?;
    let newest = sqlx::query!(
        "select n, mac from (
             select n, mac, at from audit_entries where workspace_id = $1 order by n limit $3) oldest
         where n < coalesce((select min(n) from audit_entries where workspace_id = $1 and at >= $2), 9223372036854775807)
         order by n desc limit 1",
        workspace.0,
        cutoff,
        AT_ONCE
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(newest) = newest else { return Ok(false) };
    let anchor = Head { n: newest.n, mac: newest.mac };
    let signed = signed(&end.key, "anchor", workspace, anchor.n, &anchor.mac);
    let gone = sqlx::query!(
        "with gone as (delete from audit_entries where workspace_id = $1 and n <= $2 returning n),
         anchored as (
             update audit_heads set trimmed_n = $2, trimmed_mac = $3, anchor = $4 where workspace_id = $1)
         select n from gone",
        workspace.0,
        anchor.n,
        &anchor.mac,
        signed.as_slice()
    )
    .fetch_all(&mut **tx)
    .await?;
    tracing::info!(%workspace, head = %anchor, entries = gone.len(), "entries of the audit log have had their year");
    Ok(gone.len() as i64 == AT_ONCE)
}
