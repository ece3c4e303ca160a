//! The ways to hold a connection: `Reading` (single statements), `Snapshot` (several reads of one instant),
//! `Tx` (one change of one workspace) and `Released` (none: the verb opens its own when it is ready).
//!
//! A `Tx` begins by taking the workspace's shared lock and checking the move fence; nothing is written
//! without one. All carry one `now`, so everything a request does happens at the same instant.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, SqlSafeStr, SqlStr, Transaction};
use url::Url;

use crate::clock::Clock;
use crate::error::Result;
use crate::ids::{Id, WorkspaceId};
use crate::random::Random;

/// Whose data, at which instant, where chance comes from, and what the outside calls us.
#[derive(Clone)]
pub struct Frame {
    pub workspace: WorkspaceId,
    pub now: DateTime<Utc>,
    pub clock: Clock,
    pub random: Random,
    pub public_url: Arc<Url>,
}

/// What an operation holds while it runs.
pub trait Handle: Sized + Send {
    fn begin(conn: PoolConnection<Postgres>, frame: Frame) -> impl Future<Output = Result<Self>> + Send;
    /// Makes what was done last. A handle that is dropped instead has done nothing.
    fn finish(self) -> impl Future<Output = Result<()>> + Send;
    fn frame(&self) -> &Frame;
    fn now(&self) -> DateTime<Utc> {
        self.frame().now
    }
}

/// A handle with a connection in it.
pub trait Connected: Handle + DerefMut<Target = PgConnection> {}
impl<T: Handle + DerefMut<Target = PgConnection>> Connected for T {}

/// Nothing: for a verb that works with the outside (blobs, DNS) before it opens its transaction.
pub struct Released(Frame);

/// Reads whose statements need not agree with each other.
pub struct Reading {
    conn: PoolConnection<Postgres>,
    frame: Frame,
}

/// Reads that all see the same instant of the database.
pub struct Snapshot {
    tx: Transaction<'static, Postgres>,
    frame: Frame,
}

/// One change of one workspace: state, timeline, event and timer in one commit.
pub struct Tx<'c> {
    tx: Transaction<'c, Postgres>,
    frame: Frame,
}

impl Handle for Released {
    async fn begin(_: PoolConnection<Postgres>, frame: Frame) -> Result<Self> {
        Ok(Self(frame))
    }

    async fn finish(self) -> Result<()> {
        Ok(())
    }

    fn frame(&self) -> &Frame {
        &self.0
    }
}

impl Handle for Reading {
    async fn begin(conn: PoolConnection<Postgres>, frame: Frame) -> Result<Self> {
        Ok(Self { conn, frame })
    }

    async fn finish(self) -> Result<()> {
        Ok(())
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Handle for Snapshot {
    async fn begin(conn: PoolConnection<Postgres>, frame: Frame) -> Result<Self> {
        let statement = "begin isolation level repeatable read read only";
        Ok(Self { tx: Transaction::begin(conn, Some(statement.into_sql_str())).await?, frame })
    }

    async fn finish(self) -> Result<()> {
        Ok(self.tx.commit().await?)
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Handle for Tx<'static> {
    async fn begin(conn: PoolConnection<Postgres>, frame: Frame) -> Result<Self> {
        let tx = Transaction::begin(conn, Some(entering(frame.workspace))).await?;
        Ok(Self { tx, frame })
    }

    async fn finish(self) -> Result<()> {
        self.commit().await
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Reading {
    /// A change on the connection that is held already.
    pub async fn change(&mut self) -> Result<Tx<'_>> {
        let tx = Transaction::begin(&mut *self.conn, Some(entering(self.frame.workspace))).await?;
        Ok(Tx { tx, frame: self.frame.clone() })
    }

    /// The same, none of whose statements takes longer, waiting for others included.
    pub async fn change_within(&mut self, patience: Duration) -> Result<Tx<'_>> {
        let (milliseconds, workspace) = (patience.as_millis(), self.frame.workspace.number());
        let begin = format!(
            "begin; set local statement_timeout = {milliseconds}; select enter_workspace({workspace})"
        );
        let tx = Transaction::begin(&mut *self.conn, Some(AssertSqlSafe(begin).into_sql_str())).await?;
        Ok(Tx { tx, frame: self.frame.clone() })
    }
}

impl Tx<'static> {
    /// The one transaction that cannot enter its workspace: the one that founds it.
    pub async fn founding(conn: PoolConnection<Postgres>, frame: Frame) -> Result<Self> {
        Ok(Self { tx: Transaction::begin(conn, None).await?, frame })
    }
}

impl Tx<'_> {
    /// A new id of this workspace.
    pub fn mint<I: Id>(&self) -> I {
        I::mint(self.frame.now, &self.frame.random)
    }

    pub fn workspace(&self) -> WorkspaceId {
        self.frame.workspace
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.frame.now
    }

    /// Takes the time anew, after a wait for a lock: a change that came later than another is dated later,
    /// whatever the clock of the node that made the other, so that what is sorted by time tells things in
    /// the order they happened.
    pub fn waited(&mut self, newest: DateTime<Utc>) {
        self.frame.now = self.frame.clock.now().max(newest);
    }

    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    pub async fn commit(self) -> Result<()> {
        Ok(self.tx.commit().await?)
    }
}

/// Both statements travel together: entering costs no round trip of its own.
fn entering(workspace: WorkspaceId) -> SqlStr {
    AssertSqlSafe(format!("begin; select enter_workspace({})", workspace.number())).into_sql_str()
}

macro_rules! connected {
    ($($handle:ty, $field:ident;)*) => {$(
        impl Deref for $handle {
            type Target = PgConnection;
            fn deref(&self) -> &PgConnection { &self.$field }
        }
        impl DerefMut for $handle {
            fn deref_mut(&mut self) -> &mut PgConnection { &mut self.$field }
        }
    )*};
}

connected! { Reading, conn; Snapshot, tx; Tx<'_>, tx; }

/// The schema, embedded in the binary.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!();

/// A pool that gives up on a stuck database instead of hanging with it.
pub fn pool(url: &str, connections: u32) -> Result<PgPool> {
    let options: PgConnectOptions = url.parse()?;
    let options = options.application_name("rookery").options([
        // A search that would take longer is given up, and so is anything that waits for a lock that long.
        ("statement_timeout", "5s"),
        ("idle_in_transaction_session_timeout", "30s"),
        // The hot statements are written so that one plan fits all values; planning each call would
        // cost more than running it.
        ("plan_cache_mode", "force_generic_plan"),
        ("jit", "off"),
    ]);
    Ok(PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(5))
        // A connection is tested when it is given back; testing it again when it is taken doubles the cost.
        .test_before_acquire(false)
        .connect_lazy_with(options))
}

/// Whether the database has been brought to this binary's schema, or a newer one.
pub async fn schema_is_current(pool: &PgPool) -> Result<bool> {
    let newest = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default();
    let applied: Option<i64> =
        sqlx::query_scalar("select max(version) from _sqlx_migrations where success").fetch_one(pool).await?;
    Ok(applied.is_some_and(|applied| applied >= newest))
}
