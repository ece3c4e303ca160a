//! The ways to hold a connection: `Reading` (single statements), `Snapshot` (several reads of one instant),
//! `Tx` (one change of one workspace), `Across` (a claim of due rows) and `NoConnection` (none: the verb opens its own
//! when it is ready).
//!
//! A `Tx` begins by taking the workspace's shared lock and checking the move fence; nothing is written
//! without one. Those of a request carry one `now`, so everything it does happens at the same instant.

use std::collections::BTreeSet;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Database, PgConnection, PgPool, Postgres, Row, SqlSafeStr, SqlStr};
use sqlx_core::transaction::TransactionManager;
use url::Url;

use crate::clock::Clock;
use crate::error::{Error, Result, Uncertain};
use crate::ids::{Id, WorkspaceId};
use crate::live::feed::Feed;
use crate::live::topic::{LiveTopic, TopicChange};
use crate::random::Random;
use crate::secrets::key_ring::KeyRing;
use crate::store::answered::Keyed;
use crate::store::calls::Writing;
use crate::store::connection::DatabaseConnection;

/// Whose data, at which instant, where chance comes from, what the outside calls us, who is told of changes, and what
/// secrets are sealed with.
#[derive(Clone)]
pub struct Frame {
    pub workspace: WorkspaceId,
    pub now: DateTime<Utc>,
    pub clock: Clock,
    pub random: Random,
    pub public_url: Arc<Url>,
    pub feed: Feed,
    pub keys: Option<Arc<KeyRing>>,
    /// An agent changes something, which is refused when agents are stopped.
    pub by_agent: bool,
    pub ending: Ending,
    /// A call of an agent that changes something, which is written down with it.
    pub writing: Option<Arc<Writing>>,
}

/// What becomes of what a transaction did.
#[derive(Clone)]
pub enum Ending {
    Kept,
    /// Kept with its answer. It is done once, however often it is asked for: the first transaction that begins finds out
    /// whether it was done, and none ends without its answer.
    Answered(Arc<Keyed>),
    /// A dry run: it is done to its end, and then nothing of it was.
    TakenBack,
}

impl Frame {
    /// For what is done once. A dry run is not done, so it has no answer to be kept or found.
    pub fn once(self, keyed: Option<Arc<Keyed>>) -> Self {
        let ending = match (self.ending, keyed) {
            (Ending::Kept, Some(keyed)) => Ending::Answered(keyed),
            (ending, _) => ending,
        };
        Self { ending, ..self }
    }

    pub fn keyed(&self) -> Option<&Arc<Keyed>> {
        match &self.ending {
            Ending::Answered(keyed) => Some(keyed),
            Ending::Kept | Ending::TakenBack => None,
        }
    }

    /// For what an agent does.
    pub fn of_agent(self) -> Self {
        Self { by_agent: true, ..self }
    }

    /// What stored secrets are sealed with.
    pub fn needs_keys(&self) -> Result<&Arc<KeyRing>> {
        self.keys.as_ref().ok_or_else(KeyRing::missing)
    }
}

/// What an operation holds while it runs.
pub trait Handle: Sized + Send {
    fn begin(conn: DatabaseConnection, frame: Frame) -> impl Future<Output = Result<Self>> + Send;
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
pub struct NoConnection(Frame);

/// Reads whose statements need not agree with each other. With a key they are those of a transaction, which writes down what
/// was answered and nothing else.
pub struct Reading {
    conn: Plain,
    frame: Frame,
}

/// A connection as it is, or with the transaction that remembers the answer.
enum Plain {
    Bare(DatabaseConnection),
    Remembering(Open<'static>),
}

/// Reads that all see the same instant of the database.
pub struct Snapshot {
    tx: Open<'static>,
    frame: Frame,
}

/// One change of one workspace: state, timeline, event and timer in one commit.
pub struct Tx<'c> {
    tx: Open<'c>,
    frame: Frame,
    changes: BTreeSet<TopicChange>,
}

/// One change of several workspaces, none of which it has entered: for claims, whose statements pass over the
/// workspaces that they cannot enter at once.
pub struct Across<'c>(Open<'c>);

impl Handle for NoConnection {
    async fn begin(mut conn: DatabaseConnection, frame: Frame) -> Result<Self> {
        // Whoever comes at the same moment waits in the verb's own transaction, which looks again.
        if let Some(keyed) = frame.keyed() {
            keyed.refuse_repeat(&mut conn, frame.keys.as_deref(), frame.now).await?;
        }
        Ok(Self(frame))
    }

    async fn finish(self) -> Result<()> {
        match self.0.keyed() {
            Some(keyed) if !keyed.is_remembered() => {
                Err(Error::internal("a request with a key was carried out by a transaction without it"))
            }
            _ => Ok(()),
        }
    }

    fn frame(&self) -> &Frame {
        &self.0
    }
}

impl Handle for Reading {
    async fn begin(conn: DatabaseConnection, frame: Frame) -> Result<Self> {
        let conn = match frame.keyed() {
            None => Plain::Bare(conn),
            Some(_) => Plain::Remembering(Open::entered(conn, &frame).await?),
        };
        Ok(Self { conn, frame })
    }

    async fn finish(self) -> Result<()> {
        match self.conn {
            Plain::Bare(_) => Ok(()),
            Plain::Remembering(tx) => tx.commit_with(&self.frame).await,
        }
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Handle for Snapshot {
    async fn begin(conn: DatabaseConnection, frame: Frame) -> Result<Self> {
        let statement = "begin isolation level repeatable read read only";
        Ok(Self { tx: Open::begin(Held::Owned(conn), Some(statement.into_sql_str())).await?, frame })
    }

    async fn finish(self) -> Result<()> {
        self.tx.commit().await
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Handle for Tx<'static> {
    async fn begin(conn: DatabaseConnection, frame: Frame) -> Result<Self> {
        let tx = Open::entered(conn, &frame).await?;
        Ok(Self { tx, frame, changes: BTreeSet::new() })
    }

    async fn finish(self) -> Result<()> {
        self.commit().await
    }

    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Reading {
    /// A change on the connection that is held already, none of whose statements takes longer, waiting for others
    /// included.
    pub async fn change_within(&mut self, patience: Duration) -> Result<Tx<'_>> {
        let (milliseconds, workspace) = (patience.as_millis(), self.frame.workspace.number());
        let begin = format!(
            "begin; set local statement_timeout = {milliseconds}; select enter_workspace({workspace})"
        );
        let Plain::Bare(conn) = &mut self.conn else {
            return Err(Error::internal("a transaction has no other one in it"));
        };
        let tx = Open::begin(Held::Lent(conn), Some(AssertSqlSafe(begin).into_sql_str())).await?;
        Ok(Tx { tx, frame: self.frame.clone(), changes: BTreeSet::new() })
    }
}

impl Tx<'static> {
    /// The one transaction that cannot enter its workspace: the one that founds it.
    pub async fn creating(conn: DatabaseConnection, frame: Frame) -> Result<Self> {
        Ok(Self { tx: Open::begin(Held::Owned(conn), None).await?, frame, changes: BTreeSet::new() })
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

    /// Open pages that show it and may hear of it are told after the commit, and never before.
    pub fn touch(&mut self, audience: i64, topic: LiveTopic) {
        let change = TopicChange { audience, topic };
        if change.is_for_people() {
            self.changes.insert(change);
        }
    }

    /// From here on something may fail without the rest being lost. One at a time.
    pub async fn savepoint(&mut self) -> Result<()> {
        sqlx::raw_sql("savepoint before").execute(&mut *self.tx).await?;
        Ok(())
    }

    pub async fn keep_savepoint(&mut self) -> Result<()> {
        sqlx::raw_sql("release savepoint before").execute(&mut *self.tx).await?;
        Ok(())
    }

    /// Everything since the savepoint was never done.
    pub async fn back_to_savepoint(&mut self) -> Result<()> {
        sqlx::raw_sql("rollback to savepoint before").execute(&mut *self.tx).await?;
        self.keep_savepoint().await
    }

    /// Takes back all that was done, at once. A drop does so too, but a moment later, and its locks are held until then.
    pub async fn roll_back(mut self) -> Result<()> {
        Manager::rollback(self.tx.held.connection()).await?;
        self.tx.state = TxState::Ended;
        Ok(())
    }

    /// Commits what was done, or takes it back when it failed. Whoever then tries a part of it finds nothing locked, and does
    /// not pass over what is to blame.
    pub async fn end<T>(self, done: Result<T>) -> Result<T> {
        match done {
            Ok(done) => self.commit().await.map(|()| done),
            Err(error) => {
                self.roll_back().await.ok();
                Err(error)
            }
        }
    }

    /// Makes what was done last, and tells of it; or takes it back, when the frame says so.
    pub async fn commit(self) -> Result<()> {
        let Self { tx, frame, changes } = self;
        if let Ending::TakenBack = frame.ending {
            return tx.take_back().await;
        }
        let ended = tx.commit_with(&frame).await;
        // When nobody knows, pages look.
        if ended.as_ref().map_or_else(Error::is_uncertain, |()| true) {
            frame.feed.tell(frame.workspace, &changes);
        }
        ended
    }
}

impl<'c> Across<'c> {
    pub async fn begin(conn: &'c mut DatabaseConnection) -> Result<Self> {
        Ok(Self(Open::begin(Held::Lent(conn), None).await?))
    }

    pub async fn commit(self) -> Result<()> {
        self.0.commit().await
    }
}

type Manager = <Postgres as Database>::TransactionManager;

/// A connection that goes back to its pool, or to whoever lent it.
enum Held<'c> {
    Owned(DatabaseConnection),
    Lent(&'c mut DatabaseConnection),
}

impl Held<'_> {
    fn connection(&mut self) -> &mut DatabaseConnection {
        match self {
            Self::Owned(conn) => conn,
            Self::Lent(conn) => conn,
        }
    }
}

/// An open transaction; one that is dropped is rolled back. sqlx's own counts a transaction only when BEGIN was
/// answered: cut off before that, or refused by what travels with BEGIN, it would go back to the pool open, and
/// everything the next borrower did would happen inside it. Here such a connection is put right or closed.
struct Open<'c> {
    held: Held<'c>,
    state: TxState,
}

#[derive(PartialEq)]
enum TxState {
    /// Nobody knows what the database made of BEGIN.
    Beginning,
    Open,
    Ended,
}

impl<'c> Open<'c> {
    async fn begin(held: Held<'c>, statement: Option<SqlStr>) -> Result<Self> {
        let mut opening = Self { held, state: TxState::Beginning };
        let conn = opening.held.connection();
        if let Err(error) = Manager::begin(conn, statement).await {
            // The database may have begun and refused the rest.
            if sqlx::raw_sql("rollback").execute(&mut **conn).await.is_ok() {
                opening.state = TxState::Ended;
            }
            return Err(error.into());
        }
        opening.state = TxState::Open;
        Ok(opening)
    }

    /// Enters the workspace. What was done before under the frame's key is refused with its answer.
    async fn entered(conn: DatabaseConnection, frame: &Frame) -> Result<Open<'static>> {
        let mut tx =
            Open::begin(Held::Owned(conn), Some(entering(frame))).await.map_err(Error::or_stopped)?;
        if let Some(keyed) = frame.keyed() {
            keyed.refuse_repeat(&mut tx, frame.keys.as_deref(), frame.now).await?;
        }
        Ok(tx)
    }

    /// What was done, what was answered and that an agent did it are one commit.
    async fn commit_with(mut self, frame: &Frame) -> Result<()> {
        if let Some(keyed) = frame.keyed() {
            keyed.remember(&mut self, frame.keys.as_deref(), frame.now, &frame.random).await?;
        }
        if let Some(writing) = &frame.writing {
            writing.write(&mut self, frame.now, &frame.random).await?;
        }
        self.commit().await
    }

    /// Asks everything that a commit would ask, and does not commit.
    async fn take_back(mut self) -> Result<()> {
        sqlx::raw_sql("set constraints all immediate").execute(&mut *self).await?;
        Manager::rollback(self.held.connection()).await?;
        self.state = TxState::Ended;
        Ok(())
    }

    async fn commit(mut self) -> Result<()> {
        Manager::commit(self.held.connection()).await.map_err(|error| match error {
            // It says no, so it did not.
            sqlx::Error::Database(_) => error.into(),
            lost => Error::internal(Uncertain(lost)),
        })?;
        self.state = TxState::Ended;
        Ok(())
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        match self.state {
            TxState::Beginning => self.held.connection().close_on_drop(),
            TxState::Open => Manager::start_rollback(self.held.connection()),
            TxState::Ended => {}
        }
    }
}

impl Deref for Open<'_> {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        match &self.held {
            Held::Owned(conn) => conn,
            Held::Lent(conn) => conn,
        }
    }
}

impl DerefMut for Open<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.held.connection()
    }
}

/// All statements travel together: entering costs no round trip of its own.
fn entering(frame: &Frame) -> SqlStr {
    let enter = if frame.by_agent { "enter_as_agent" } else { "enter_workspace" };
    let entering = format!("begin; select {enter}({})", frame.workspace.number());
    let turns = frame.keyed().map(|keyed| keyed.taking_turns());
    AssertSqlSafe([Some(entering), turns].into_iter().flatten().collect::<Vec<_>>().join("; ")).into_sql_str()
}

macro_rules! connected {
    ($($handle:ty, $field:tt;)*) => {$(
        impl Deref for $handle {
            type Target = PgConnection;
            fn deref(&self) -> &PgConnection { &self.$field }
        }
        impl DerefMut for $handle {
            fn deref_mut(&mut self) -> &mut PgConnection { &mut self.$field }
        }
    )*};
}

impl Deref for Plain {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        match self {
            Self::Bare(conn) => conn,
            Self::Remembering(tx) => tx,
        }
    }
}

impl DerefMut for Plain {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Bare(conn) => conn,
            Self::Remembering(tx) => tx,
        }
    }
}

connected! { Reading, conn; Snapshot, tx; Tx<'_>, tx; Across<'_>, 0; }

/// The schema, embedded in the binary.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// The newest migration of this binary.
pub fn newest_migration() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// The hot statements are written so that one plan fits all values; planning each call would cost more than running it.
const PLANS: (&str, &str) = ("plan_cache_mode", "force_generic_plan");

/// A word that a few thousand conversations have is as many rows all over the disk. Asked for one after the other, as PostgreSQL
/// before 18 does, they take twice as long as when the disk knows what comes next; in memory, telling it would only cost. Where
/// the system cannot be told, or an operator does not want it, it is 0 and stays so.
const READ_AHEAD: &str = "select set_config('effective_io_concurrency', '64', false)
     where current_setting('effective_io_concurrency')::integer between 1 and 63
       and pg_database_size(current_database()) > pg_size_bytes(current_setting('effective_cache_size'))";

/// A pool that gives up on a stuck database instead of hanging with it.
pub fn pool(url: &str, connections: u32) -> Result<PgPool> {
    let options: PgConnectOptions = url.parse()?;
    let options = options.application_name("rookery").options([
        // A search that would take longer is given up, and so is anything that waits for a lock that long.
        ("statement_timeout", "5s"),
        ("idle_in_transaction_session_timeout", "30s"),
        PLANS,
        ("jit", "off"),
    ]);
    Ok(PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(5))
        // A connection is tested when it is given back; testing it again when it is taken doubles the cost.
        .test_before_acquire(false)
        .after_connect(|conn, _| {
            Box::pin(async {
                match sqlx::raw_sql(READ_AHEAD).execute(conn).await {
                    Ok(_) => Ok(()),
                    // Reading ahead is a matter of speed: a database that refuses the question is served without it.
                    Err(sqlx::Error::Database(refused)) if !ends_the_session(&*refused) => Ok(()),
                    Err(error) => Err(error),
                }
            })
        })
        .connect_lazy_with(options))
}

/// The server stops, or somebody ended the session (class 57P).
fn ends_the_session(refused: &dyn DatabaseError) -> bool {
    refused.code().is_some_and(|code| code.starts_with("57P"))
}

/// Whether sessions are as `pool` asks for them. A pooler in between refuses what it does not know or leaves it out, and runs
/// what belongs to one session on several.
pub async fn sessions_are_ours(pool: &PgPool) -> Result<bool> {
    match sqlx::raw_sql("show plan_cache_mode").fetch_one(pool).await {
        Ok(row) => Ok(row.try_get::<String, _>(0)? == PLANS.1),
        Err(sqlx::Error::Database(refused)) if refused.message().contains("startup parameter") => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the database has been brought to this binary's schema, or a newer one.
pub async fn schema_is_current(pool: &PgPool) -> Result<bool> {
    let applied: Option<i64> =
        sqlx::query_scalar("select max(version) from _sqlx_migrations where success").fetch_one(pool).await?;
    Ok(applied.is_some_and(|applied| applied >= newest_migration()))
}
