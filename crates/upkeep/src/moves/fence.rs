//! The fence: first nobody claims anything of the workspace any more, then nobody writes. A mark that travels the same way
//! as every change says when all before it has arrived.

use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Postgres, Row};

use super::side::Side;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_core::events::outbox;

const LOOK: Duration = Duration::from_millis(10);
/// How long nodes may take to finish what they have claimed. What is not done by then is done again by the new cell when
/// its lease ends, with the same ids.
const FINISHING: Duration = Duration::from_secs(30);
/// What is due later than this is in nobody's hand, however long leases are: it waits for another try.
const LONGEST_LEASE: &str = "interval '15 minutes'";

/// Where nodes note what they have in hand, and until when.
pub struct Claims {
    pub table: &'static str,
    until: &'static str,
    /// A row that was claimed.
    claimed: &'static str,
}

/// Everything that is seen outside or costs money when it is done twice. A test compares this with the schema.
pub const IN_HAND: &[Claims] = &[
    Claims { table: "messages", until: "due_at", claimed: "status = 'sending'" },
    Claims { table: "agent_handovers", until: "until", claimed: "true" },
    Claims { table: "notices", until: "due_at", claimed: "claim > 0" },
    Claims { table: "booking_mail", until: "due_at", claimed: "claim > 0" },
    Claims { table: "webhook_lanes", until: "leased_until", claimed: "true" },
    Claims { table: "assistant_tasks", until: "due_at", claimed: "claim > 0" },
    Claims { table: "app_mail", until: "words_due_at", claimed: "words_claim > 0" },
    Claims { table: "sandbox_answers", until: "due_at", claimed: "claim > 0" },
];
/// Claimed as well, and not waited for: a file or a calendar that is read again, and an export that is made again, is the same.
pub const AGAIN_IS_THE_SAME: &[&str] = &["unread_documents", "busy_sources", "exports"];
/// How long changes may take to follow while writers wait or are refused.
const FOLLOWING: Duration = Duration::from_secs(4);
/// How far behind the new cell may be before the fence closes.
const NEAR: Duration = Duration::from_millis(250);
const MOST_ROUNDS: u32 = 200;

/// From now on nobody claims: mail that is due waits for the new cell. Writers notice nothing, and what nodes have in hand is
/// written down.
pub async fn drain(from: &mut Side, workspace: WorkspaceId) -> Result<()> {
    // Behind the lock every claim has been committed or finds the fence, so none is overlooked below.
    let id = workspace.0;
    let set = format!("update workspaces set fenced_at = 'infinity' where id = {id} and fenced_at is null");
    alone(from, workspace, &set).await?;
    let began = Instant::now();
    let in_hand = IN_HAND.iter().map(|Claims { table, until, claimed }| {
        format!(
            "exists (select from {table} where workspace_id = {id} and {claimed} and {until} > clock_timestamp()
                       and {until} < clock_timestamp() + {LONGEST_LEASE})"
        )
    });
    let in_hand = in_hand.collect::<Vec<_>>().join(" or ");
    while began.elapsed() < FINISHING && from.is_so(&in_hand).await? {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// Runs a statement behind the workspace's lock, which waits for those who write now; those who come wait for it, and see what
/// it did.
async fn alone(side: &mut Side, workspace: WorkspaceId, statement: &str) -> Result<()> {
    let id = workspace.0;
    let all = format!(
        "begin; set local synchronous_commit = on; set local lock_timeout = '4s'; select pg_advisory_xact_lock({id});
         {statement}; commit"
    );
    if let Err(error) = side.run(all).await {
        side.run("rollback").await?;
        return Err(error);
    }
    Ok(())
}

/// Until the new cell is close behind.
pub async fn followed(from: &mut Side, to: &mut Side, workspace: WorkspaceId) -> Result<()> {
    for _ in 0..MOST_ROUNDS {
        let began = Instant::now();
        let mark = mark(from, workspace).await?;
        arrived(to, workspace, mark, Duration::from_secs(60)).await?;
        if began.elapsed() < NEAR {
            return Ok(());
        }
    }
    Err(Error::internal("The new cell does not catch up with what is written. Try when there is less to do."))
}

/// Nobody writes from here on. Gives when that began, after everything that was written has arrived.
pub async fn close(from: &mut Side, to: &mut Side, workspace: WorkspaceId) -> Result<Instant> {
    let id = workspace.0;
    let closed = Instant::now();
    let close = format!(
        "update workspaces set fenced_at = clock_timestamp() where id = {id} and fenced_at = 'infinity'"
    );
    alone(from, workspace, &close).await?;
    let mark = mark(from, workspace).await?;
    arrived(to, workspace, mark, FOLLOWING).await?;
    Ok(closed)
}

/// Behind the lock, so that whoever finds out meanwhile where the workspace lives does not close it again (`strays`).
pub async fn open(side: &mut Side, workspace: WorkspaceId) -> Result<()> {
    let open = format!("update workspaces set fenced_at = null where id = {}", workspace.0);
    // What came by replication is on disk with this.
    alone(side, workspace, &format!("{}; {open}", outbox::written_anew(workspace))).await
}

/// Two snapshots of the same instant, one of each side, to be compared at leisure. Writers wait while they are taken, for
/// as long as changes take to follow.
pub async fn snapshots(
    from: &mut Side,
    to: &mut Side,
    workspace: WorkspaceId,
) -> Result<(PoolConnection<Postgres>, PoolConnection<Postgres>)> {
    followed(from, to, workspace).await?;
    let (mut theirs, mut ours) = (from.another().await?, to.another().await?);
    let id = workspace.0;
    let mut guard = from.another().await?;
    let lock = format!("begin; set local lock_timeout = '2s'; select pg_advisory_xact_lock({id})");
    let taken = async {
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *guard).await?;
        // Made on the other connection, so that it is committed while the lock is held.
        let mark = mark(from, workspace).await?;
        arrived(to, workspace, mark, FOLLOWING).await?;
        for conn in [&mut theirs, &mut ours] {
            // The first question takes the snapshot.
            sqlx::raw_sql("begin isolation level repeatable read read only; select 1")
                .execute(&mut **conn)
                .await?;
        }
        Ok::<_, Error>(())
    };
    let taken = taken.await;
    sqlx::raw_sql("rollback").execute(&mut *guard).await?;
    taken?;
    Ok((theirs, ours))
}

async fn mark(from: &mut Side, workspace: WorkspaceId) -> Result<i64> {
    let id = workspace.0;
    from.number(format!(
        "insert into move_marks as known (workspace_id, mark) values ({id}, 1)
         on conflict (workspace_id) do update set mark = known.mark + 1 returning mark"
    ))
    .await
}

async fn arrived(to: &mut Side, workspace: WorkspaceId, mark: i64, patience: Duration) -> Result<()> {
    let began = Instant::now();
    let question = format!("select mark from move_marks where workspace_id = {}", workspace.0);
    loop {
        let found = sqlx::raw_sql(AssertSqlSafe(question.clone())).fetch_optional(to.conn()).await?;
        if found.map(|row| row.try_get::<i64, _>(0)).transpose()?.is_some_and(|found| found >= mark) {
            return Ok(());
        }
        if began.elapsed() > patience {
            return Err(Error::internal(
                "Changes take too long to follow to the new cell. Nothing was switched; run this again.",
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}
