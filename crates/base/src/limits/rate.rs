//! The rate limit: never more than the limit within any window, over all nodes together (specification 8).
//!
//! A limit is twelve blocks. A node must hold a block to use its share, and holds it in a row until a time;
//! it stops using a block one window before that time, so that whoever takes it next starts with a clean
//! count. One node alone ends up holding all blocks and counts exactly; several share without asking each
//! other on every request. An idle node's blocks come free within two windows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use tokio::sync::Mutex as AsyncMutex;

use crate::error::{Error, Result};
use crate::ids::{AgentId, SendingServiceId, WorkspaceId};
use crate::random::Random;

const BLOCKS: u32 = 12;
/// Nodes' clocks may differ by this much without two of them using one block.
const SKEW: TimeDelta = TimeDelta::seconds(1);
/// Windows remembered before idle ones are dropped.
const CROWDED: usize = 10_000;

/// Long after anybody could still use a block: the limits' windows are minutes.
const FORGOTTEN_AFTER: TimeDelta = TimeDelta::hours(1);
const WALKED_AT_ONCE: i64 = 10_000;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RateKey {
    /// The requests of one key, over REST and MCP.
    Requests(WorkspaceId, AgentId),
    /// The simulated mails of all test keys of a workspace.
    SandboxMail(WorkspaceId),
    /// The mails that one connected service tells of.
    ToldMail(WorkspaceId, SendingServiceId),
}

/// How many, within how long.
#[derive(Clone, Copy, Debug)]
pub struct WindowLimit {
    pub most: u32,
    pub window: TimeDelta,
}

/// What is left after a request was counted, for the answer's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLeft {
    pub remaining: u32,
    pub reset: Duration,
}

pub struct RateLimit {
    node: i64,
    windows: Mutex<HashMap<RateKey, Arc<AsyncMutex<Window>>>>,
}

#[derive(Default)]
struct Window {
    accepted: VecDeque<DateTime<Utc>>,
    /// Block number → the time until which this node holds it.
    held: HashMap<i16, DateTime<Utc>>,
}

impl RateLimit {
    pub fn new(random: &Random) -> Self {
        Self { node: random.number() as i64, windows: Mutex::default() }
    }

    /// Counts one, or says after which time to come back.
    pub async fn take(
        &self,
        conn: &mut PgConnection,
        subject: RateKey,
        limit: WindowLimit,
        now: DateTime<Utc>,
    ) -> Result<Result<RateLeft, Duration>> {
        let window = self.window(subject, limit, now);
        let mut window = window.lock().await;
        window.forget(limit, now);
        while window.room(limit, now) == 0 {
            if !self.grow(conn, subject, limit, now, &mut window).await? {
                return Ok(Err(window.reset(limit, now)));
            }
        }
        window.accepted.push_back(now);
        let used = window.accepted.len() as u32;
        Ok(Ok(RateLeft { remaining: limit.most.saturating_sub(used), reset: window.reset(limit, now) }))
    }

    /// Takes back a count whose request came to nothing.
    pub async fn give_back(&self, subject: RateKey, limit: WindowLimit, at: DateTime<Utc>) {
        let window = self.window(subject, limit, at);
        let mut window = window.lock().await;
        if let Some(place) = window.accepted.iter().rposition(|accepted| *accepted == at) {
            window.accepted.remove(place);
        }
    }

    fn window(&self, subject: RateKey, limit: WindowLimit, now: DateTime<Utc>) -> Arc<AsyncMutex<Window>> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= CROWDED && !windows.contains_key(&subject) {
            let recently = now - limit.window * 2;
            windows.retain(|_, window| match window.try_lock() {
                Ok(window) => window.accepted.back().is_some_and(|last| *last > recently),
                Err(_) => true,
            });
        }
        windows.entry(subject).or_default().clone()
    }

    /// Renews the blocks this node is losing, or takes one that nobody holds.
    async fn grow(
        &self,
        conn: &mut PgConnection,
        subject: RateKey,
        limit: WindowLimit,
        now: DateTime<Utc>,
        window: &mut Window,
    ) -> Result<bool> {
        let (workspace, subject_id) = subject.key();
        let held_until = now + limit.window * 2;
        let fading: Vec<i16> = window
            .held
            .iter()
            .filter(|(_, until)| !usable(**until, limit, now))
            .map(|(block, _)| *block)
            .collect();
        if !fading.is_empty() {
            window.held.retain(|block, _| !fading.contains(block));
            let renewed = sqlx::query_scalar!(
                "update rate_blocks set held_until = $5
                 where workspace_id = $1 and subject_id = $2 and block = any($3) and node = $4
                 returning block",
                workspace,
                subject_id,
                &fading,
                self.node,
                held_until
            )
            .fetch_all(&mut *conn)
            .await?;
            window.held.extend(renewed.iter().map(|block| (*block, held_until)));
            if !renewed.is_empty() {
                return Ok(true);
            }
        }
        loop {
            // Another node may take the candidate first: then there is one fewer, and the next is tried.
            let taken = sqlx::query!(
                r#"with free as (
                       select block::smallint from generate_series(0, $5::int - 1) block
                       where not exists (select from rate_blocks held
                           where held.workspace_id = $1 and held.subject_id = $2 and held.block = block.block
                             and held.held_until > $6)
                       limit 1),
                   taken as (
                       insert into rate_blocks (workspace_id, subject_id, block, node, held_until)
                       select $1, $2, block, $3, $4 from free
                       on conflict (workspace_id, subject_id, block)
                           do update set node = excluded.node, held_until = excluded.held_until
                           where rate_blocks.held_until <= $6
                       returning block)
                   select (select block from free) as candidate, (select block from taken) as block"#,
                workspace,
                subject_id,
                self.node,
                held_until,
                limit.blocks() as i32,
                now - SKEW
            )
            .fetch_one(&mut *conn)
            .await?;
            match (taken.candidate, taken.block) {
                (_, Some(block)) => {
                    window.held.insert(block, held_until);
                    return Ok(true);
                }
                (None, None) => return Ok(false),
                (Some(_), None) => continue,
            }
        }
    }
}

/// Deletes blocks that nobody has held for a while, some at a time, in one walk through the table: an index of the times
/// would cost every renewal more than this walk.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    let mut after = Some((i64::MIN, i64::MIN, i16::MIN));
    while let Some((workspace, subject, block)) = after {
        let last = sqlx::query!(
            "with walked as (
                 select workspace_id, subject_id, block, held_until from rate_blocks
                 where (workspace_id, subject_id, block) > ($1, $2, $3)
                 order by workspace_id, subject_id, block limit $4),
             forgotten as (
                 delete from rate_blocks using walked
                 where rate_blocks.workspace_id = walked.workspace_id and rate_blocks.subject_id = walked.subject_id
                   and rate_blocks.block = walked.block and rate_blocks.held_until <= $5)
             select workspace_id, subject_id, block from walked
             order by workspace_id desc, subject_id desc, block desc limit 1",
            workspace,
            subject,
            block,
            WALKED_AT_ONCE,
            now - FORGOTTEN_AFTER
        )
        .fetch_optional(&mut *conn)
        .await?;
        after = last.map(|last| (last.workspace_id, last.subject_id, last.block));
    }
    Ok(())
}

impl WindowLimit {
    fn blocks(self) -> u32 {
        BLOCKS.min(self.most)
    }

    /// Requests that block `number` stands for: all blocks together make the limit, exactly.
    fn share(self, number: i16) -> u32 {
        let blocks = self.blocks().max(1);
        self.most / blocks + u32::from((number as u32) < self.most % blocks)
    }
}

impl RateKey {
    fn key(self) -> (i64, i64) {
        match self {
            Self::Requests(workspace, agent) => (workspace.0, agent.0),
            Self::SandboxMail(workspace) => (workspace.0, 0),
            Self::ToldMail(workspace, service) => (workspace.0, service.0),
        }
    }
}

impl Window {
    fn forget(&mut self, limit: WindowLimit, now: DateTime<Utc>) {
        while self.accepted.front().is_some_and(|oldest| *oldest <= now - limit.window) {
            self.accepted.pop_front();
        }
    }

    fn room(&self, limit: WindowLimit, now: DateTime<Utc>) -> u32 {
        let share: u32 = self
            .held
            .iter()
            .filter(|(_, until)| usable(**until, limit, now))
            .map(|(block, _)| limit.share(*block))
            .sum();
        share.saturating_sub(self.accepted.len() as u32)
    }

    fn reset(&self, limit: WindowLimit, now: DateTime<Utc>) -> Duration {
        let oldest = self.accepted.front().copied().unwrap_or(now);
        (oldest + limit.window - now).to_std().unwrap_or_default()
    }
}

fn usable(held_until: DateTime<Utc>, limit: WindowLimit, now: DateTime<Utc>) -> bool {
    held_until - limit.window >= now
}

/// The 429 of a key, or a service, that asks too often.
pub fn slow_down(limit: WindowLimit, retry_after: Duration) -> Error {
    let sentence = format!("Too many requests. Slow down to {} a minute.", limit.most);
    Error::SlowDown { sentence, retry_after }
}

/// The 429 of a sandbox that gets too much simulated mail.
pub fn too_much_mail(limit: WindowLimit, retry_after: Duration) -> Error {
    let sentence = format!("Too many simulated emails. The sandbox takes {} a minute.", limit.most);
    Error::SlowDown { sentence, retry_after }
}
