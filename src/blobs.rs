//! Bytes that do not belong in a database: raw mail and files, in a folder or an object store.
//!
//! A blob is stored before the row that names it commits, under a random key, so a row never names a
//! missing blob and a file name from outside is never a path.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use url::Url;

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::random::Random;

#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    random: Random,
}

impl Blobs {
    /// `file:///some/folder`. The folder is made when it is not there.
    pub fn open(address: &Url, random: Random) -> Result<Self> {
        if address.scheme() != "file" {
            return Err(Error::internal("ROOKERY_BLOBS must be a file:/// address"));
        }
        let folder: PathBuf = address.to_file_path().map_err(|()| {
            Error::internal("ROOKERY_BLOBS must name a folder: file:///var/lib/rookery/blobs")
        })?;
        std::fs::create_dir_all(&folder)?;
        let store = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
        Ok(Self { store: Arc::new(store), random })
    }

    /// Stores the bytes and gives the key they can be read by.
    pub async fn put(
        &self,
        workspace: WorkspaceId,
        what: &str,
        bytes: impl IntoIterator<Item = Bytes>,
    ) -> Result<String> {
        let name = self.random.hex(32);
        let key = format!("ws/{workspace}/{what}/{}/{name}", &name[..2]);
        self.store.put(&Path::from(key.as_str()), PutPayload::from_iter(bytes)).await?;
        Ok(key)
    }

    pub async fn get(&self, key: &str) -> Result<Vec<u8>> {
        Ok(self.store.get(&Path::from(key)).await?.bytes().await?.to_vec())
    }

    /// For bytes whose row was never written: the same mail came twice, or the transaction failed.
    pub async fn discard(&self, keys: &[String]) {
        for key in keys {
            if let Err(error) = self.store.delete(&Path::from(key.as_str())).await {
                tracing::warn!(%error, key, "a blob without a row was left behind");
            }
        }
    }
}
