//! One of the two databases of a move: a connection of a role that may copy by replication, the tables of a workspace
//! there, and what has to be so before anything is begun.

use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row};

use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::secret::Secret;

/// The first half of the lock that keeps a second command from the same move.
const MOVING: i32 = 0x6d6f_7665;
/// How long a command waits for another to end.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(200);
/// Long statements are the rule, and both sides write times and bytes alike, because they are compared as text.
const SETTINGS: &str = "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set timezone = 'UTC';
    set extra_float_digits = 1; set bytea_output = 'hex'; set datestyle = 'ISO'; set intervalstyle = 'postgres';
    set jit = off";

/// A table that has rows of workspaces, `workspaces` itself apart.
#[derive(Clone, Debug)]
pub struct Table {
    /// As it is written in a statement.
    pub name: String,
    /// Is not in the log that replication reads.
    pub unlogged: bool,
    /// Its rows have an id, and so an order in time.
    pub has_id: bool,
}

pub struct Side {
    pub cell: String,
    pub url: Secret,
    pool: PgPool,
    conn: PoolConnection<Postgres>,
}

impl Side {
    pub async fn connect(cell: &str, url: &Secret) -> Result<Self> {
        let unusable = |error: sqlx::Error| {
            Error::internal(format!(
                "The database of the cell {cell} cannot be used ({error}). Check ROOKERY_CELL_OWNERS."
            ))
        };
        let options = PgPoolOptions::new().max_connections(3).after_connect(|conn, _| {
            Box::pin(async move {
                sqlx::raw_sql(SETTINGS).execute(conn).await?;
                Ok(())
            })
        });
        let pool = options.connect(&url.0).await.map_err(unusable)?;
        let conn = pool.acquire().await.map_err(unusable)?;
        Ok(Self { cell: cell.to_owned(), url: url.clone(), pool, conn })
    }

    /// The connection that everything goes through but what is looked at beside.
    pub fn conn(&mut self) -> &mut PgConnection {
        &mut self.conn
    }

    pub async fn another(&self) -> Result<PoolConnection<Postgres>> {
        Ok(self.pool.acquire().await?)
    }

    pub async fn run(&mut self, statement: impl Into<String>) -> Result<u64> {
        let done = sqlx::raw_sql(AssertSqlSafe(statement.into())).execute(&mut *self.conn).await?;
        Ok(done.rows_affected())
    }

    pub async fn number(&mut self, question: impl Into<String>) -> Result<i64> {
        let row = sqlx::raw_sql(AssertSqlSafe(question.into())).fetch_one(&mut *self.conn).await?;
        Ok(row.try_get(0)?)
    }

    pub async fn is_so(&mut self, question: &str) -> Result<bool> {
        Ok(self.number(format!("select ({question})::int::bigint")).await? == 1)
    }

    /// The lock lasts as long as the connection that everything goes through, so whoever loses it changes nothing more here.
    /// PostgreSQL may take a moment to see that a command was killed.
    pub async fn is_nobody_elses(&mut self, workspace: WorkspaceId) -> Result<()> {
        let lock = format!("pg_try_advisory_lock({MOVING}, hashint8({}))", workspace.0);
        let began = Instant::now();
        while !self.is_so(&lock).await? {
            if began.elapsed() > PATIENCE {
                return Err(Error::internal("Another command is moving this workspace. Wait for it to end."));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Whether a workspace can move from here to there.
    pub async fn is_like(&mut self, other: &mut Self) -> Result<()> {
        let schema = "select max(version) from _sqlx_migrations where success";
        if self.number(schema).await? != other.number(schema).await? {
            return Err(Error::internal("The two cells have different schemas. Run: rookery migrate"));
        }
        if !self.is_so("current_setting('wal_level') = 'logical'").await? {
            return Err(Error::internal(format!(
                "The cell {} cannot copy while it is used: its PostgreSQL needs wal_level = logical. Set it and restart \
                 PostgreSQL: alter system set wal_level = logical",
                self.cell
            )));
        }
        for side in [self, other] {
            let may = "(select rolsuper from pg_roles where rolname = current_user)";
            if !side.is_so(may).await? {
                return Err(Error::internal(format!(
                    "A move makes a subscription, for which PostgreSQL asks for a superuser. Name one for the cell {} in \
                     ROOKERY_CELL_OWNERS.",
                    side.cell
                )));
            }
        }
        Ok(())
    }

    pub async fn tables(&mut self) -> Result<Vec<Table>> {
        tables(&mut self.conn).await
    }
}

/// Every table with rows of workspaces. They are found, not listed, so that none is forgotten.
pub async fn tables(conn: &mut PgConnection) -> Result<Vec<Table>> {
    let rows = sqlx::query(
        "select format('%I', relname), relpersistence = 'u',
                exists (select from pg_attribute where attrelid = c.oid and attname = 'id' and atttypid = 'bigint'::regtype)
         from pg_class c
         where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
           and exists (select from pg_attribute where attrelid = c.oid and attname = 'workspace_id')
         order by relname",
    )
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| Ok(Table { name: row.try_get(0)?, unlogged: row.try_get(1)?, has_id: row.try_get(2)? }))
        .collect()
}
