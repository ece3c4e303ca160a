//! Rows that are due, worked off under leases: taken in batches, acted on several at once, and what came of each
//! written down under its claim. One that errs counts its try, comes later and later, and ends; no other waits for it.
//!
//! What is acted on fits into the rest of its lease, or is not begun and given back: so nobody else begins while we are
//! still at it. Whoever comes back after all finds a newer claim, and nothing is written.

use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, stream};
use sqlx::PgConnection;
use tokio::sync::SemaphorePermit;

use crate::app::App;
use crate::due::backoff::caught;
use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::store::db::Tx;

/// Waits after tries in vain (D131), a day in all; after the last of them nobody tries again.
pub const PAUSES: [TimeDelta; 7] = [
    TimeDelta::minutes(1),
    TimeDelta::minutes(5),
    TimeDelta::minutes(15),
    TimeDelta::hours(1),
    TimeDelta::hours(3),
    TimeDelta::hours(6),
    LONGEST_PAUSE,
];
/// Waits between tries to write down what was done.
const REWRITES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];
pub const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(12);

/// How long something waits for what is away.
const AWAY: TimeDelta = TimeDelta::minutes(1);

/// What was claimed so recently was claimed from a workspace without a fence.
const FRESH: TimeDelta = TimeDelta::seconds(1);

/// How long a node may hold what it has claimed.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    pub began: DateTime<Utc>,
    pub ends: DateTime<Utc>,
    /// The longest that acting on a row may take.
    act: TimeDelta,
    /// What is left after that, to write down what came of it.
    write: TimeDelta,
}

impl Lease {
    /// Room to act, to write, and before that as much as writing takes: for the claim itself, and for the turns of
    /// others.
    pub fn covering(began: DateTime<Utc>, act: TimeDelta, write: TimeDelta) -> Self {
        Self { began, ends: began + write + act + write, act, write }
    }

    /// As long as the settings say: a third for the turns of others, a third to act, a third to write.
    fn of_the_settings(app: &App) -> Self {
        Self::covering(app.clock.now(), app.config.handover(), app.config.handover())
    }

    /// Whether what begins now is done and written down before the lease ends.
    pub fn has_room(&self, now: DateTime<Utc>) -> bool {
        now + self.act + self.write <= self.ends
    }

    /// How long it may wait and is still done in time.
    fn patience(&self, now: DateTime<Utc>) -> Duration {
        (self.ends - self.act - self.write - now).to_std().unwrap_or_default()
    }
}

/// What every claimed row has.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub workspace: WorkspaceId,
    /// Only the newest is heard.
    pub number: i32,
    /// Tries in vain so far.
    pub tries: i16,
}

/// What came of acting on a row.
pub enum TriedRow<T> {
    Done(T),
    /// Not now. Whoever says so has told the log why.
    Later,
    /// Not now, and it was no try: something of ours that it needs is away. The log has been told.
    Waits,
    /// Somebody else has it, or has decided about it: nothing is to be written.
    Gone,
}

/// Work of one kind. What writes takes the row's claim and gives false when it is not the newest any more.
pub trait Work: Sync {
    /// What the log calls one.
    const WHAT: &'static str;
    /// The worker's loop, which counts what fails.
    fn worked_by(&self) -> &'static str;
    type Row: Send + Sync;
    type Outcome: Clone + Send;

    /// Takes some of what is due, until the lease ends.
    fn claim(
        &self,
        conn: &mut PgConnection,
        lease: &Lease,
    ) -> impl Future<Output = Result<Vec<Self::Row>>> + Send;

    fn claim_of(&self, row: &Self::Row) -> Claim;

    /// What it takes of the node while it is done, memory for example. Waiting for that is no try.
    fn room<'a>(
        &'a self,
        _app: &'a App,
        _row: &'a Self::Row,
    ) -> impl Future<Output = Option<SemaphorePermit<'a>>> + Send {
        async { None }
    }

    /// Does it. May be cut off at any moment, and is done again then.
    fn act(&self, app: &App, row: &Self::Row)
    -> impl Future<Output = Result<TriedRow<Self::Outcome>>> + Send;

    fn finish(
        &self,
        tx: &mut Tx<'_>,
        row: &Self::Row,
        outcome: Self::Outcome,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Gives it back until then; `tried` counts as a try in vain.
    fn again(
        &self,
        tx: &mut Tx<'_>,
        row: &Self::Row,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Nobody will try any more.
    fn give_up(&self, tx: &mut Tx<'_>, row: &Self::Row) -> impl Future<Output = Result<bool>> + Send;

    /// How long it waits after one more try in vain; nothing when that was the last.
    fn pause(&self, row: &Self::Row, _now: DateTime<Utc>) -> Option<TimeDelta> {
        PAUSES.get(usize::try_from(self.claim_of(row).tries).unwrap_or_default()).copied()
    }
}

/// Works off everything that is due now, so many at once.
pub async fn work_off<W: Work>(app: &App, work: &W, at_once: usize) -> Result<()> {
    while !app.stop.is_told() {
        let lease = Lease::of_the_settings(app);
        let rows = work.claim(&mut *app.connection().await?, &lease).await?;
        if rows.is_empty() {
            break;
        }
        stream::iter(rows)
            .for_each_concurrent(at_once, async |row: W::Row| {
                if let Err(error) = take_up(app, work, &lease, &row).await {
                    app.loops.backoff_of(work.worked_by()).count(&error);
                    let Claim { workspace, .. } = work.claim_of(&row);
                    tracing::error!(%error, %workspace, what = W::WHAT, "it stays as it is until its lease ends");
                }
            })
            .await;
    }
    Ok(())
}

/// What is written of a row.
enum RowEnd<T> {
    Done(T),
    Later(TimeDelta),
    Waits,
    GivenUp,
    GivenBack,
}

async fn take_up<W: Work>(app: &App, work: &W, lease: &Lease, row: &W::Row) -> Result<()> {
    let waited = tokio::time::timeout(lease.patience(app.clock.now()), work.room(app, row)).await;
    let (Ok(_room), false, true) = (waited, app.stop.is_told(), lease.has_room(app.clock.now())) else {
        return write(app, work, row, RowEnd::GivenBack).await;
    };
    // A move waits for what is in hand, so nothing more of the workspace is begun.
    if app.clock.now() - lease.began > FRESH && is_fenced(app, work.claim_of(row).workspace).await? {
        return write(app, work, row, RowEnd::GivenBack).await;
    }
    // All its tries are used up, and giving it up has failed: it is not done once more for that.
    if usize::try_from(work.claim_of(row).tries).is_ok_and(|tries| tries > PAUSES.len())
        && work.pause(row, app.clock.now()).is_none()
    {
        return give_up(app, work, row).await;
    }
    let longest = lease.act.to_std().map_err(Error::internal)?;
    let error = match caught(in_time(longest, work.act(app, row))).await {
        Ok(TriedRow::Done(outcome)) => match caught(write_done(app, work, row, outcome)).await {
            Ok(()) => return Ok(()),
            Err(error) => Some(error),
        },
        Ok(TriedRow::Later) => None,
        Ok(TriedRow::Waits) => return write(app, work, row, RowEnd::Waits).await,
        Ok(TriedRow::Gone) => return Ok(()),
        Err(error) => Some(error),
    };
    let Claim { workspace, tries, .. } = work.claim_of(row);
    let pause = work.pause(row, app.clock.now());
    if let Some(error) = error {
        app.loops.backoff_of(work.worked_by()).count(&error);
        tracing::warn!(%error, %workspace, tries, again = pause.is_some(), what = W::WHAT, "a try failed");
    }
    match pause {
        Some(pause) => write(app, work, row, RowEnd::Later(pause)).await,
        None => give_up(app, work, row).await,
    }
}

async fn is_fenced(app: &App, workspace: WorkspaceId) -> Result<bool> {
    let fenced = sqlx::query_scalar!(
        r#"select exists (select from workspaces where id = $1 and fenced_at is not null) as "fenced!""#,
        workspace.0
    );
    Ok(fenced.fetch_one(&mut *app.connection().await?).await?)
}

async fn give_up<W: Work>(app: &App, work: &W, row: &W::Row) -> Result<()> {
    let Err(error) = caught(write(app, work, row, RowEnd::GivenUp)).await else { return Ok(()) };
    let Claim { workspace, .. } = work.claim_of(row);
    app.loops.backoff_of(work.worked_by()).count(&error);
    tracing::error!(%error, %workspace, what = W::WHAT, "it cannot be given up");
    write(app, work, row, RowEnd::Later(LONGEST_PAUSE)).await
}

/// What was done is done: when the database cannot be had for a moment, or somebody holds the row, writing that down is
/// tried again, within the lease's share for it, before the whole is done once more.
async fn write_done<W: Work>(app: &App, work: &W, row: &W::Row, outcome: W::Outcome) -> Result<()> {
    for wait in REWRITES {
        match write(app, work, row, RowEnd::Done(outcome.clone())).await {
            Err(error) if error.may_pass() => tokio::time::sleep(wait).await,
            ended => return ended,
        }
    }
    write(app, work, row, RowEnd::Done(outcome)).await
}

/// Writes under the row's claim.
async fn write<W: Work>(app: &App, work: &W, row: &W::Row, what: RowEnd<W::Outcome>) -> Result<()> {
    let Claim { workspace, number, .. } = work.claim_of(row);
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    let ours = match what {
        RowEnd::Done(outcome) => work.finish(&mut tx, row, outcome).await?,
        RowEnd::Later(pause) => work.again(&mut tx, row, now + pause, true).await?,
        RowEnd::Waits => work.again(&mut tx, row, now + AWAY, false).await?,
        RowEnd::GivenUp => work.give_up(&mut tx, row).await?,
        RowEnd::GivenBack => work.again(&mut tx, row, now, false).await?,
    };
    if !ours {
        // It may have been done twice; what the other node wrote stands.
        tracing::warn!(%workspace, claim = number, what = W::WHAT, "a lease was lost: another node has it, or nobody");
        return Ok(());
    }
    tx.commit().await
}

async fn in_time<T>(longest: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::internal("it took longer than its lease has room for");
    tokio::time::timeout(longest, work).await.map_err(late)?
}
