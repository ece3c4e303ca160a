//! How an address that was erased is still known: by a hash under a key of the workspace, which is stored sealed. Whoever
//! has the address can tell that it is the one; nobody else can, not even with the database in hand.

use sqlx::PgConnection;

use crate::workspace::audit;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::hashes::{hex, hmac};
use rookery_base::secrets::key_ring::KeyRing;

/// What stands in front of the hash where an address stood. No address has a colon in front of its first @.
pub const MARK: &str = "erased:";

/// Makes the hashes of one workspace.
pub struct Hasher(Vec<u8>);

impl Hasher {
    /// A workspace whose audit log has no entry yet has no key, and has erased nothing.
    pub async fn read(
        conn: &mut PgConnection,
        keys: &KeyRing,
        workspace: WorkspaceId,
    ) -> Result<Option<Self>> {
        let sealed = audit::sealed_key(conn, workspace).await?;
        sealed.map(|sealed| Self::open(keys, workspace, &sealed)).transpose()
    }

    /// With the sealed key at hand.
    pub fn open(keys: &KeyRing, workspace: WorkspaceId, sealed: &[u8]) -> Result<Self> {
        let key = audit::open_key(keys, workspace, sealed)?;
        Ok(Self(hmac(&key, &[b"erased addresses"]).as_ref().to_vec()))
    }

    pub async fn must(conn: &mut PgConnection, keys: &KeyRing, workspace: WorkspaceId) -> Result<Self> {
        let found = Self::read(conn, keys, workspace).await?;
        found.ok_or_else(|| Error::internal("the workspace has no key for hashes yet"))
    }

    pub fn hash(&self, address: &str) -> [u8; 32] {
        let mac = hmac(&self.0, &[address.to_lowercase().as_bytes()]);
        mac.as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
    }

    /// As it stands in the place of the address.
    pub fn mark(&self, address: &str) -> String {
        format!("{MARK}{}", hex(&self.hash(address)))
    }
}

/// `contact 4f3a…`, for lists and the audit log.
pub fn name_of(hash: &[u8]) -> String {
    format!("contact {}…", hex(hash.get(..4).unwrap_or_default()))
}
