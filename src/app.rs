//! Everything the program is made of, handed in once: databases, blob store, clock, chance and limits.
//! Nothing else is global, so a test has a whole service of its own.

use sqlx::PgPool;
use sqlx::pool::PoolConnection;
use sqlx::postgres::Postgres;

use crate::blobs::Blobs;
use crate::clock::Clock;
use crate::config::Config;
use crate::db::{self, Frame, Handle, Tx};
use crate::directory::Directory;
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::random::Random;
use crate::rate::RateLimit;

pub struct App {
    pub config: Config,
    pub clock: Clock,
    pub random: Random,
    pub pool: PgPool,
    pub directory: Directory,
    pub blobs: Blobs,
    pub rate: RateLimit,
}

impl App {
    pub fn new(config: Config, clock: Clock, random: Random) -> Result<Self> {
        let pool = db::pool(&config.database_url.0, config.database_connections)?;
        let directory = match &config.directory_url {
            Some(url) => db::pool(&url.0, config.database_connections)?,
            None => pool.clone(),
        };
        Ok(Self {
            blobs: Blobs::open(&config.blobs, random.clone())?,
            directory: Directory::new(directory),
            rate: RateLimit::new(&random),
            config,
            clock,
            random,
            pool,
        })
    }

    pub fn frame(&self, workspace: WorkspaceId) -> Frame {
        Frame { workspace, now: self.clock.now(), random: self.random.clone() }
    }

    pub async fn connection(&self) -> Result<PoolConnection<Postgres>> {
        Ok(self.pool.acquire().await?)
    }

    /// Begins one change of one workspace.
    pub async fn begin(&self, workspace: WorkspaceId) -> Result<Tx<'static>> {
        Tx::begin(self.connection().await?, self.frame(workspace)).await
    }
}
