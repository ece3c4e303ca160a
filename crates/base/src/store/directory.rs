//! The directory: which workspace a key or an address belongs to. It may live in a database of its own.
//!
//! Rows of keys never change, so the workspace of a key is cached. Whether the key is still valid is checked in the
//! workspace on every request. What strangers can make up is looked up in batches.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use tokio::time::Instant;

use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::store::lookups::Lookups;
use crate::store::senders::Senders;

const REMEMBERED: usize = 100_000;
/// How long a key that was refused is not looked up again. A refused key never becomes valid later.
const REFUSED: Duration = Duration::from_secs(1);
const MOST_REFUSED: usize = 10_000;

type Hash = [u8; 32];

pub struct Directory {
    pub(super) pool: PgPool,
    pub(super) senders: Senders,
    keys: Mutex<Keys>,
    slugs: Mutex<HashMap<String, WorkspaceId>>,
    by_key: Lookups<PgPool, Hash, WorkspaceId>,
    by_slug: Lookups<PgPool, String, WorkspaceId>,
}

#[derive(Default)]
struct Keys {
    known: HashMap<Hash, WorkspaceId>,
    refused: HashMap<Hash, Instant>,
}

impl Directory {
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool,
            senders: Senders::default(),
            keys: Mutex::default(),
            slugs: Mutex::default(),
            by_key: Lookups::new(|pool, hashes| Box::pin(by_key(pool, hashes))),
            by_slug: Lookups::new(|pool, slugs| Box::pin(by_slug(pool, slugs))),
        }
    }

    pub async fn workspace_of_key(&self, hash: Hash) -> Result<Option<WorkspaceId>> {
        if let Some(remembered) = self.keys().recall(hash) {
            return Ok(remembered);
        }
        let found = self.by_key.ask(&self.pool, hash).await?;
        match found {
            Some(workspace) => self.keys().remember(hash, workspace),
            None => self.keys().refuse(hash),
        }
        Ok(found)
    }

    /// Caches for a while that a key is not valid.
    pub fn refuse(&self, hash: Hash) {
        self.keys().refuse(hash);
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By the name in addresses of its public pages. One that was found before is known while the database is away.
    pub async fn workspace_of_slug(&self, slug: &str) -> Result<Option<WorkspaceId>> {
        let found = self.by_slug.ask(&self.pool, slug.to_owned()).await;
        let mut known = self.slugs.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(Some(workspace)) => {
                if known.len() >= REMEMBERED {
                    known.clear();
                }
                known.insert(slug.to_owned(), workspace);
                Ok(Some(workspace))
            }
            Ok(None) => Ok(None),
            Err(error) => known.get(slug).copied().map(Some).ok_or(error),
        }
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
        hash: Hash,
        now: DateTime<Utc>,
        workspace: WorkspaceId,
        slug: &str,
        cell: &str,
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
}

async fn by_key(pool: PgPool, hashes: Vec<Hash>) -> Result<HashMap<Hash, WorkspaceId>> {
    let hashes: Vec<Vec<u8>> = hashes.iter().map(|hash| hash.to_vec()).collect();
    let rows = sqlx::query!(
        r#"select key_hash, workspace_id as "workspace: WorkspaceId" from directory.api_keys
           where key_hash = any($1)"#,
        &hashes
    )
    .fetch_all(&pool)
    .await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.key_hash.try_into().ok()?, row.workspace))).collect())
}

async fn by_slug(pool: PgPool, slugs: Vec<String>) -> Result<HashMap<String, WorkspaceId>> {
    let rows = sqlx::query!(
        r#"select slug, id as "id: WorkspaceId" from directory.workspaces where slug = any($1)"#,
        &slugs
    )
    .fetch_all(&pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.slug, row.id)).collect())
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
