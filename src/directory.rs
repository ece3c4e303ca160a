//! The directory: which workspace a key or an address belongs to. It may live in a database of its own.
//!
//! Its rows never change once written, so a key's workspace is remembered. Whether the key still opens
//! anything is the workspace's to say, on every request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sqlx::PgPool;

use crate::error::Result;
use crate::ids::WorkspaceId;

const REMEMBERED: usize = 100_000;

pub struct Directory {
    pool: PgPool,
    keys: Mutex<HashMap<[u8; 32], WorkspaceId>>,
}

impl Directory {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, keys: Mutex::default() }
    }

    pub async fn workspace_of_key(&self, hash: [u8; 32]) -> Result<Option<WorkspaceId>> {
        if let Some(known) = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(&hash) {
            return Ok(Some(*known));
        }
        let found = sqlx::query_scalar!(
            r#"select workspace_id as "id: WorkspaceId" from directory.api_keys where key_hash = $1"#,
            &hash
        )
        .fetch_optional(&self.pool)
        .await?;
        if let Some(workspace) = found {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            if keys.len() >= REMEMBERED {
                keys.clear();
            }
            keys.insert(hash, workspace);
        }
        Ok(found)
    }

    pub async fn workspace_of_address(&self, address: &str) -> Result<Option<WorkspaceId>> {
        Ok(sqlx::query_scalar!(
            r#"select workspace_id as "id: WorkspaceId" from directory.addresses where address = $1"#,
            address
        )
        .fetch_optional(&self.pool)
        .await?)
    }

    /// False when another workspace has that name already.
    pub async fn add_workspace(&self, workspace: WorkspaceId, slug: &str) -> Result<bool> {
        let added = sqlx::query!(
            "insert into directory.workspaces (id, slug) values ($1, $2) on conflict (slug) do nothing",
            workspace.0,
            slug
        )
        .execute(&self.pool)
        .await?;
        Ok(added.rows_affected() == 1)
    }

    pub async fn add_key(&self, workspace: WorkspaceId, hash: [u8; 32]) -> Result<()> {
        sqlx::query!(
            "insert into directory.api_keys (key_hash, workspace_id) values ($1, $2)",
            &hash,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// False when another workspace has the address. Taking it again is harmless: whoever was cut off between
    /// this and making the inbox makes it again.
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
