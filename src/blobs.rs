//! Bytes that do not belong in a database: raw mail and files, in a folder or an object store.
//!
//! A blob is stored before the row that names it commits, under a random key, so a row never names a
//! missing blob and a file name from outside is never a path. A folder is for the service alone: other users of
//! the machine can neither look into it nor read a file.

use std::fs::Permissions;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::NaiveDate;
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use url::Url;

use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::random::Random;

/// A store that does not answer makes a sender try again later; it must hear that soon.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// Where the files are, unless they are on S3.
    folder: Option<PathBuf>,
    random: Random,
    clock: Clock,
}

impl Blobs {
    /// `file:///some/folder`, which is made when it is not there, or
    /// `s3://bucket/folder?endpoint=https://s3.example&region=eu-central-1` with the keys of the settings.
    pub fn open(config: &Config, random: Random, clock: Clock) -> Result<Self> {
        let (store, folder): (Arc<dyn ObjectStore>, _) = match config.blobs.scheme() {
            "file" => {
                let path = path_of(&config.blobs)?;
                (Arc::new(folder(&path)?), Some(path))
            }
            "s3" => (bucket(config)?, None),
            _ => return Err(Error::internal("ROOKERY_BLOBS must be a file:/// or s3:// address")),
        };
        Ok(Self { store, folder, random, clock })
    }

    /// Stores the bytes and gives the key they can be read by. It begins with the day, so that what was left
    /// behind on a day can be found.
    pub async fn put(
        &self,
        workspace: WorkspaceId,
        what: &str,
        bytes: impl IntoIterator<Item = Bytes>,
    ) -> Result<String> {
        let name = self.random.hex(32);
        let key = format!("{}/{what}/{name}", folder_of(workspace, self.clock.now().date_naive()));
        self.store.put(&Path::from(key.as_str()), PutPayload::from_iter(bytes)).await?;
        if let Some(folder) = &self.folder {
            tokio::fs::set_permissions(folder.join(&key), Permissions::from_mode(0o600)).await?;
        }
        Ok(key)
    }

    pub async fn get(&self, key: &str) -> Result<Vec<u8>> {
        Ok(self.store.get(&Path::from(key)).await?.bytes().await?.into())
    }

    /// Everything that was stored for a workspace on a day.
    pub async fn of_day(&self, workspace: WorkspaceId, day: NaiveDate) -> Result<Vec<String>> {
        let folder = Path::from(folder_of(workspace, day));
        let stored: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        Ok(stored.into_iter().map(|blob| blob.location.to_string()).collect())
    }

    /// For bytes that have served. What is gone already is no error.
    pub async fn remove(&self, keys: impl IntoIterator<Item = &String>) -> Result<()> {
        for key in keys {
            match self.store.delete(&Path::from(key.as_str())).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Removes what a node was still writing on a day when it died, and tells how many that were. They have a `#` in
    /// their name, and no listing of the store shows them. S3 shows and keeps only what is whole.
    pub async fn discard_unfinished(&self, workspace: WorkspaceId, day: NaiveDate) -> Result<usize> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let mut open = vec![folder.join(folder_of(workspace, day))];
        let mut discarded = 0;
        while let Some(folder) = open.pop() {
            let Ok(mut entries) = tokio::fs::read_dir(folder).await else { continue };
            while let Some(entry) = entries.next_entry().await? {
                if entry.file_type().await?.is_dir() {
                    open.push(entry.path());
                } else if entry.file_name().to_string_lossy().contains('#') {
                    tokio::fs::remove_file(entry.path()).await?;
                    discarded += 1;
                }
            }
        }
        Ok(discarded)
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

/// Everything stands below this folder.
const OURS: &str = "ws";

fn folder_of(workspace: WorkspaceId, day: NaiveDate) -> String {
    format!("{OURS}/{workspace}/{day}")
}

fn path_of(address: &Url) -> Result<PathBuf> {
    let nameless = |()| Error::internal("ROOKERY_BLOBS must name a folder: file:///var/lib/rookery/blobs");
    address.to_file_path().map_err(nameless)
}

fn folder(folder: &std::path::Path) -> Result<LocalFileSystem> {
    // The folder itself may be shared with others; what is below this name is ours alone.
    let ours = folder.join(OURS);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&ours)?;
    let open = std::fs::metadata(&ours)?.permissions().mode() & 0o077 != 0;
    if open && let Err(error) = std::fs::set_permissions(&ours, Permissions::from_mode(0o700)) {
        tracing::warn!(%error, "other users of this machine can look into the blob folder: chmod 700 it");
    }
    Ok(LocalFileSystem::new_with_prefix(folder)?.with_fsync(true))
}

fn bucket(config: &Config) -> Result<Arc<dyn ObjectStore>> {
    let (Some(access), Some(secret)) = (&config.blobs_access_key, &config.blobs_secret_key) else {
        let missing = "An s3:// address needs ROOKERY_BLOBS_ACCESS_KEY and ROOKERY_BLOBS_SECRET_KEY";
        return Err(Error::internal(missing));
    };
    let address = &config.blobs;
    let mut options = ClientOptions::new().with_timeout(PATIENCE).with_connect_timeout(PATIENCE / 4);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(address.host_str().unwrap_or_default())
        .with_access_key_id(&access.0)
        .with_secret_access_key(&secret.0)
        .with_region("us-east-1")
        .with_retry(RetryConfig { max_retries: 2, retry_timeout: PATIENCE, ..RetryConfig::default() });
    for (name, value) in address.query_pairs() {
        builder = match &*name {
            "endpoint" => {
                // Only who writes http:// gets it: mail would travel in the clear.
                options = options.with_allow_http(value.starts_with("http://"));
                builder.with_endpoint(value)
            }
            "region" => builder.with_region(value),
            _ => {
                let other = "An s3:// address may have ?endpoint= and &region=, nothing else";
                return Err(Error::internal(other));
            }
        };
    }
    let builder = builder.with_client_options(options);
    let store = builder.build()?;
    Ok(match address.path().trim_matches('/') {
        "" => Arc::new(store),
        folder => Arc::new(PrefixStore::new(store, folder)),
    })
}
