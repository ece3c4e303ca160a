//! The directory: which workspace a key or an address belongs to. It may live in a database of its own.
//!
//! Its rows never change, so the workspace of a key is cached. Whether the key is still valid is checked in the
//! workspace on every request. Lookups of keys that are not cached are batched, one statement at a time: any
//! number of made-up keys takes one connection and locks nobody out.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;

const REMEMBERED: usize = 100_000;
/// Keys looked up in one statement.
const TOGETHER: usize = 500;
/// How long a key that was refused is not looked up again. A refused key never becomes valid later.
const REFUSED: Duration = Duration::from_secs(1);
const MOST_REFUSED: usize = 10_000;

type Hash = [u8; 32];
/// The workspace, if there is one; an error when the lookup failed.
type Answer = Result<Option<WorkspaceId>, ()>;

pub struct Directory {
    pub(super) pool: PgPool,
    keys: Mutex<Keys>,
    /// Pending lookups in order of arrival, and the lock for running one batch of them.
    waiting: Mutex<Vec<(Hash, oneshot::Sender<Answer>)>>,
    turn: AsyncMutex<()>,
}

#[derive(Default)]
struct Keys {
    known: HashMap<Hash, WorkspaceId>,
    refused: HashMap<Hash, Instant>,
}

impl Directory {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, keys: Mutex::default(), waiting: Mutex::default(), turn: AsyncMutex::default() }
    }

    pub async fn workspace_of_key(&self, hash: Hash) -> Result<Option<WorkspaceId>> {
        if let Some(remembered) = self.keys().recall(hash) {
            return Ok(remembered);
        }
        let mut answer = self.ask(hash);
        loop {
            let _turn = tokio::select! {
                biased;
                answered = &mut answer => match answered {
                    Ok(found) => return found.map_err(|()| Error::internal("the directory does not answer")),
                    Err(_) => {
                        // The task that ran our batch was cancelled before it answered.
                        answer = self.ask(hash);
                        continue;
                    }
                },
                turn = self.turn.lock() => turn,
            };
            self.answer_those_who_wait().await;
        }
    }

    /// Caches for a while that a key is not valid.
    pub fn refuse(&self, hash: Hash) {
        self.keys().refuse(hash);
    }

    fn ask(&self, hash: Hash) -> oneshot::Receiver<Answer> {
        let (teller, answer) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((hash, teller));
        answer
    }

    async fn answer_those_who_wait(&self) {
        let asked: Vec<_> = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let count = waiting.len().min(TOGETHER);
            waiting.drain(..count).collect()
        };
        if asked.is_empty() {
            return;
        }
        let hashes: Vec<Vec<u8>> = asked.iter().map(|(hash, _)| hash.to_vec()).collect();
        let found = sqlx::query!(
            r#"select key_hash, workspace_id as "workspace: WorkspaceId" from directory.api_keys
               where key_hash = any($1)"#,
            &hashes
        )
        .fetch_all(&self.pool)
        .await;
        let found = found.map_err(|error| tracing::warn!(%error, "keys could not be looked up"));
        let found: Result<HashMap<Vec<u8>, WorkspaceId>, ()> =
            found.map(|rows| rows.into_iter().map(|row| (row.key_hash, row.workspace)).collect());
        let mut keys = self.keys();
        for (hash, teller) in asked {
            let answer = match &found {
                Ok(found) => Ok(found.get(hash.as_slice()).copied()),
                Err(()) => Err(()),
            };
            match answer {
                Ok(Some(workspace)) => keys.remember(hash, workspace),
                Ok(None) => keys.refuse(hash),
                Err(()) => {}
            }
            // The caller may be gone.
            let _ = teller.send(answer);
        }
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn workspace_of_address(&self, address: &str) -> Result<Option<WorkspaceId>> {
        Ok(sqlx::query_scalar!(
            r#"select workspace_id as "id: WorkspaceId" from directory.addresses where address = $1"#,
            address
        )
        .fetch_optional(&self.pool)
        .await?)
    }

    /// By the name in addresses of its public pages.
    pub async fn workspace_of_slug(&self, slug: &str) -> Result<Option<WorkspaceId>> {
        Ok(sqlx::query_scalar!(
            r#"select id as "id: WorkspaceId" from directory.workspaces where slug = $1"#,
            slug
        )
        .fetch_optional(&self.pool)
        .await?)
    }

    /// False when another workspace has that name already.
    pub async fn add_workspace(&self, workspace: WorkspaceId, slug: &str, cell: &str) -> Result<bool> {
        let added = sqlx::query!(
            "insert into directory.workspaces (id, slug, cell) values ($1, $2, $3) on conflict (slug) do nothing",
            workspace.0,
            slug,
            cell
        )
        .execute(&self.pool)
        .await?;
        Ok(added.rows_affected() == 1)
    }

    /// How many of these workspaces it does not know.
    pub async fn missing(&self, workspaces: &[i64]) -> Result<i64> {
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "n!" from unnest($1::bigint[]) as t (id)
               where not exists (select from directory.workspaces known where known.id = t.id)"#,
            workspaces
        )
        .fetch_one(&self.pool)
        .await?)
    }

    /// Whether there is no workspace at all.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(sqlx::query_scalar!(r#"select not exists (select from directory.workspaces) as "is_empty!""#)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Keeps the one link for the first owner, instead of the one before. False when there is a workspace.
    pub async fn keep_first_run_link(&self, hash: Hash, ends_at: DateTime<Utc>) -> Result<bool> {
        let kept = sqlx::query!(
            "insert into directory.first_run_links (token_hash, ends_at)
             select $1, $2 where not exists (select from directory.workspaces)
             on conflict (is_it) do update set token_hash = excluded.token_hash, ends_at = excluded.ends_at",
            &hash,
            ends_at
        )
        .execute(&self.pool)
        .await?;
        Ok(kept.rows_affected() == 1)
    }

    pub async fn has_first_run_link(&self, hash: Hash, now: DateTime<Utc>) -> Result<bool> {
        Ok(sqlx::query_scalar!(
            r#"select exists (select from directory.first_run_links where token_hash = $1 and ends_at > $2)
                  and not exists (select from directory.workspaces) as "is_there!""#,
            &hash,
            now
        )
        .fetch_one(&self.pool)
        .await?)
    }

    /// Uses the link up and enters the first workspace, in one statement: of two who come with it one gets it. False when
    /// the link is not good, or there is a workspace.
    pub async fn add_first_workspace(
        &self,
        (hash, now): (Hash, DateTime<Utc>),
        (workspace, cell): (WorkspaceId, &str),
        slug: &str,
    ) -> Result<bool> {
        let added = sqlx::query!(
            "with taken as (
                 delete from directory.first_run_links
                 where token_hash = $1 and ends_at > $2 and not exists (select from directory.workspaces)
                 returning is_it)
             insert into directory.workspaces (id, slug, cell) select $3, $4, $5 from taken",
            &hash,
            now,
            workspace.0,
            slug,
            cell
        )
        .execute(&self.pool)
        .await?;
        Ok(added.rows_affected() == 1)
    }

    /// A workspace that could not be made after all.
    pub async fn remove_workspace(&self, workspace: WorkspaceId) -> Result<()> {
        sqlx::query!("delete from directory.workspaces where id = $1", workspace.0)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub async fn add_key(&self, workspace: WorkspaceId, hash: Hash) -> Result<()> {
        sqlx::query!(
            "insert into directory.api_keys (key_hash, workspace_id) values ($1, $2)",
            &hash,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// False when another workspace has the address. Safe to repeat, because creating an inbox may be interrupted
    /// after this step and tried again.
    pub async fn reserve_address(&self, workspace: WorkspaceId, address: &str) -> Result<bool> {
        let reserved = sqlx::query!(
            "insert into directory.addresses as known (address, workspace_id) values ($1, $2)
             on conflict (address) do update set workspace_id = known.workspace_id
             where known.workspace_id = excluded.workspace_id",
            address,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        Ok(reserved.rows_affected() == 1)
    }
}

impl Keys {
    /// The cached answer: a workspace, or that there is none. `None` when nothing is cached.
    fn recall(&self, hash: Hash) -> Option<Option<WorkspaceId>> {
        let known = self.known.get(&hash).copied();
        let refused = || self.refused.get(&hash).is_some_and(|since| since.elapsed() < REFUSED);
        match known {
            _ if !self.refused.is_empty() && refused() => Some(None),
            Some(workspace) => Some(Some(workspace)),
            None => None,
        }
    }

    fn remember(&mut self, hash: Hash, workspace: WorkspaceId) {
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(hash, workspace);
    }

    fn refuse(&mut self, hash: Hash) {
        if self.refused.len() >= MOST_REFUSED {
            self.refused.clear();
        }
        self.refused.insert(hash, Instant::now());
    }
}
