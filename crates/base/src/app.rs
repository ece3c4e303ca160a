//! `App` holds all shared state: database pools, blob store, clock, randomness and limits. There are no other
//! globals, so a test can run a whole service of its own.
//!
//! `App::dry` is the same service for a request that must leave nothing: whoever has it can begin no transaction that is
//! committed and store no file that is kept. `App::for_requests` is the same for the doors: there a workspace has a share of
//! the connections to the database.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use sqlx::PgPool;
use tokio::sync::Semaphore;
use url::Url;

use crate::breaking_changes::{self, BreakingChange};
use crate::clock::Clock;
use crate::config::Config;
use crate::confined::run::Confined;
use crate::due::backoff::Loops;
use crate::due::mark::PassMark;
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::ids::WorkspaceId;
use crate::limits::customers::Customers;
use crate::limits::daily_quota::Counts;
use crate::limits::fair_seats::{Asker, FairSeats, Sitter};
use crate::limits::hooks::HookLimit;
use crate::limits::key_uses::KeyUses;
use crate::limits::places::Places;
use crate::limits::rate::RateLimit;
use crate::limits::sign_in::SignInLimit;
use crate::limits::uploads::Uploads;
use crate::live::feed::Feed;
use crate::live::streams::Streams;
use crate::net::models::Models;
use crate::net::openid::Openid;
use crate::net::outside::Outside;
use crate::net::pictures::{self, Pictures};
use crate::net::sns::Sns;
use crate::random::Random;
use crate::relay::Relay;
use crate::relay::kept_here::KeepsTestMail;
use crate::relay::logged::LogsMail;
use crate::relay::mailer::{Mailer, NoRelay};
use crate::secrets::key_ring::KeyRing;
use crate::secrets::password_hashes::PasswordHashes;
use crate::shutdown::Stop;
use crate::store::blobs::Blobs;
use crate::store::calls::AgentCalls;
use crate::store::connection::DatabaseConnection;
use crate::store::db::{self, Ending, Frame, Handle, Tx};
use crate::store::directory::Directory;

/// Kilobytes that mail with files may take while it is written and handed over.
pub const MAIL_MEMORY: u32 = 64 * 1024;
/// The port on which domains publish their MTA-STS policy.
const HTTPS: u16 = 443;
/// How long a request waits for a seat at the database, and how many of one workspace wait, shared by those who ask.
const SEAT_TIME: Duration = Duration::from_secs(5);
const MOST_WAITING: usize = 100;

pub struct App {
    shared: Arc<Shared>,
    pub blobs: Blobs,
    /// Seats at the database, for requests.
    seats: Option<Arc<FairSeats>>,
    /// Who takes them.
    asker: Asker,
    /// Nothing that is done by it stays.
    dry: bool,
}

/// What an app and its dry runs have in common.
pub struct Shared {
    pub config: Config,
    pub clock: Clock,
    pub random: Random,
    pub pool: PgPool,
    pub directory: Directory,
    /// Of the node: a workspace that moves to another of its cells is counted on.
    pub rate: Arc<RateLimit>,
    pub sign_in_limit: SignInLimit,
    pub hook_limit: HookLimit,
    pub password_hashes: PasswordHashes,
    pub uploads: Arc<Uploads>,
    /// Calls that wait for something to happen.
    pub waiting_calls: Arc<Places<WorkspaceId>>,
    /// Those of workspaces that have their share of the former: they wait for a moment only.
    pub crowded_calls: Arc<Places<WorkspaceId>>,
    /// How often customers come.
    pub customers: Customers,
    /// Memory for mail with files that is about to leave, by kilobytes.
    pub mail_memory: Semaphore,
    /// What the worker's loops could not do here.
    pub loops: Loops,
    /// What is counted and measured here.
    pub figures: Arc<Figures>,
    pub loop_lags: OnceLock<LoopLags>,
    /// Mail that this node has taken today, by sender, network and conversation.
    pub received: Counts,
    /// When keys were used here, until it is written down.
    pub key_uses: KeyUses,
    pub agent_calls: AgentCalls,
    /// Where this node begins to read the outbox.
    pub outbox: PassMark,
    /// Carries live mail.
    pub mailer: Arc<dyn Mailer>,
    pub outside: Arc<Outside>,
    /// What providers of OpenID Connect say of themselves.
    pub openid: Openid,
    /// Who signs for Amazon SNS.
    pub sns: Sns,
    /// What open pages hear of, and the streams that carry it.
    pub feed: Feed,
    pub streams: Streams,
    /// Ways to models: the operator's, and those that workspaces name.
    pub models: Models,
    /// Pictures that mail names on the web.
    pub pictures: Pictures,
    /// Domains whose mail leaves without a DKIM signature, so that each is logged only once.
    pub unsigned: Mutex<BTreeSet<String>>,
    pub breaking_changes: &'static [BreakingChange],
    /// The OpenAPI document, once it was asked for.
    pub openapi: OnceLock<Box<RawValue>>,
    /// The node is about to stop: balancers are told, and everything goes on.
    pub leaving: Stop,
    pub stop: Stop,
    /// Reads strangers' files in a process of their own.
    pub confined: Confined,
    public_url: Arc<Url>,
    keys: Option<Arc<KeyRing>>,
}

/// How far each loop of the worker is behind, in seconds. The worker knows its loops; who asks stands below it.
pub type LoopLags = for<'a> fn(&'a App) -> BoxFuture<'a, Vec<(&'static str, f64)>>;

/// The relay of the settings, with what its name demands.
pub fn relay_of(config: &Config, outside: &Arc<Outside>) -> Result<Option<Relay>> {
    let Some(relay) = &config.relay else { return Ok(None) };
    let trusted = config.trust_ca_file.as_deref();
    let relay = Relay::new(relay, config.mail_name(), trusted, config.handover())?;
    Ok(Some(relay.with_tls_policy(&config.dns, outside.clone(), HTTPS)?))
}

impl App {
    pub fn new(config: Config, clock: Clock, random: Random) -> Result<Self> {
        let pool = db::pool(&config.database_url.0, config.database_connections)?;
        let directory = match &config.directory_url {
            Some(url) => db::pool(&url.0, config.database_connections)?,
            None => pool.clone(),
        };
        let outside = Arc::new(Outside::new(
            config.webhook_allow.clone(),
            &config.dns,
            config.trust_ca_file.as_deref(),
            config.webhook_time(),
        )?);
        let pictures = Pictures::new(Outside::new(
            config.picture_allow.clone(),
            &config.dns,
            config.trust_ca_file.as_deref(),
            pictures::PATIENCE,
        )?);
        let whole_addresses = config.log_addresses;
        let mailer: Arc<dyn Mailer> = match relay_of(&config, &outside)? {
            Some(relay) => Arc::new(LogsMail { mailer: KeepsTestMail(relay), whole_addresses }),
            None => Arc::new(LogsMail { mailer: KeepsTestMail(NoRelay), whole_addresses }),
        };
        let connections = config.http_connections as usize;
        let blobs = Blobs::open(&config, random.clone(), clock.clone())?;
        let shared = Shared {
            directory: Directory::new(directory),
            rate: Arc::new(RateLimit::new(&random)),
            sign_in_limit: SignInLimit::default(),
            password_hashes: PasswordHashes::new(random.clone()),
            uploads: Arc::default(),
            waiting_calls: Places::new(connections / 8, connections / 16),
            crowded_calls: Places::new(connections / 8, connections / 16),
            customers: Customers::default(),
            mail_memory: Semaphore::new(MAIL_MEMORY as usize),
            loops: Loops::default(),
            figures: Arc::new(Figures::new(clock.clone())),
            loop_lags: OnceLock::new(),
            received: Counts::default(),
            key_uses: KeyUses::default(),
            agent_calls: AgentCalls::default(),
            outbox: PassMark::default(),
            mailer,
            unsigned: Mutex::default(),
            feed: Feed::default(),
            streams: Streams::new(config.live_streams()),
            outside,
            openid: Openid::default(),
            models: Models::new(&config)?,
            sns: Sns::default(),
            hook_limit: HookLimit::default(),
            pictures,
            breaking_changes: breaking_changes::LIST,
            openapi: OnceLock::new(),
            leaving: Stop::not_yet(),
            stop: Stop::not_yet(),
            confined: Confined::default(),
            public_url: Arc::new(config.public_url.clone()),
            keys: config.secret_key.clone().map(Arc::new),
            config,
            clock,
            random,
            pool,
        };
        Ok(Self { shared: Arc::new(shared), blobs, seats: None, asker: Asker::Anyone, dry: false })
    }

    /// The same for the doors, where requests of workspaces share what the node has.
    pub fn for_requests(&self) -> Self {
        let seats = FairSeats::new(self.config.database_connections as usize, 2, MOST_WAITING);
        Self { seats: Some(seats), ..self.asked_by(self.asker) }
    }

    /// The same, for what one person or program asks for.
    pub fn asked_by(&self, asker: Asker) -> Self {
        let (shared, blobs, seats) = (self.shared.clone(), self.blobs.clone(), self.seats.clone());
        Self { shared, blobs, seats, asker, dry: self.dry }
    }

    /// The same, by which everything is done and nothing stays.
    pub fn dry(&self) -> Self {
        Self { blobs: self.blobs.keeping_nothing(), dry: true, ..self.asked_by(self.asker) }
    }

    pub fn is_dry(&self) -> bool {
        self.dry
    }

    pub fn frame(&self, workspace: WorkspaceId) -> Frame {
        Frame {
            workspace,
            now: self.clock.now(),
            clock: self.clock.clone(),
            random: self.random.clone(),
            public_url: self.public_url.clone(),
            feed: self.feed.clone(),
            keys: self.keys.clone(),
            by_agent: false,
            ending: if self.dry { Ending::TakenBack } else { Ending::Kept },
            writing: None,
        }
    }

    /// A connection for what is of no workspace, or before it is known of which.
    pub async fn connection(&self) -> Result<DatabaseConnection> {
        let asked = Instant::now();
        let conn = self.pool.acquire().await;
        self.figures.waited_for_the_database(asked.elapsed());
        Ok(conn?.into())
    }

    /// A connection for a workspace. Its requests share it with those of others; what the worker does for it does not.
    pub async fn connection_of(&self, workspace: WorkspaceId) -> Result<DatabaseConnection> {
        let Some(seats) = &self.seats else { return self.connection().await };
        let asked = Instant::now();
        let seat = seats.take(Sitter { workspace, asker: self.asker }, SEAT_TIME).await;
        self.figures.waited_for_the_database(asked.elapsed());
        let seat = seat.ok_or_else(too_many)?;
        Ok(self.connection().await?.seated(seat))
    }

    /// A connection that was taken to find out for which workspace it is. It is lent to others while that one has its share.
    pub async fn connection_turns_out_of(
        &self,
        conn: DatabaseConnection,
        workspace: WorkspaceId,
    ) -> Result<DatabaseConnection> {
        let Some(seats) = &self.seats else { return Ok(conn) };
        match seats.try_take(Sitter { workspace, asker: self.asker }) {
            Some(seat) => Ok(conn.seated(seat)),
            None => {
                drop(conn);
                self.connection_of(workspace).await
            }
        }
    }

    /// Sets the clock by the database's, which all nodes share.
    pub async fn follow_the_databases_clock(&self) -> Result<()> {
        let mut conn = self.connection().await?;
        let (mut quickest, mut back) = (Duration::MAX, TimeDelta::zero());
        // The answer with the shortest round trip is the most accurate.
        for _ in 0..4 {
            let asked = Instant::now();
            let time =
                sqlx::query_scalar!(r#"select clock_timestamp() as "time!""#).fetch_one(&mut *conn).await?;
            if asked.elapsed() < quickest {
                quickest = asked.elapsed();
                back = back.max(self.clock.follow(time));
            }
        }
        if back > TimeDelta::seconds(1) {
            let seconds = back.num_seconds();
            tracing::warn!(
                seconds,
                "the database's clock went back: this node's runs at half speed until it has caught up"
            );
        }
        Ok(())
    }

    /// Begins what an agent changes: refused when agents are stopped (docs/decisions/stop-agents.md).
    pub async fn begin_as_agent(&self, workspace: WorkspaceId) -> Result<Tx<'static>> {
        Tx::begin(self.connection_of(workspace).await?, self.frame(workspace).of_agent()).await
    }

    /// Begins a write transaction in one workspace.
    pub async fn begin(&self, workspace: WorkspaceId) -> Result<Tx<'static>> {
        Tx::begin(self.connection_of(workspace).await?, self.frame(workspace)).await
    }
}

fn too_many() -> Error {
    let sentence = "Too many requests came at once. Try again in a moment.".to_owned();
    Error::SlowDown { sentence, retry_after: Duration::from_secs(1) }
}

impl Deref for App {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl DerefMut for App {
    fn deref_mut(&mut self) -> &mut Shared {
        Arc::get_mut(&mut self.shared).expect("an app is set up before it is shared")
    }
}
