//! Bytes that do not belong in a database: raw mail and files, in a folder or an object store.
//!
//! A blob is stored before the row that names it commits, under a random key, so a row never names a
//! missing blob and a file name from outside is never a path. It is written and read in parts, so memory does not grow
//! with its size, and nobody sees it before it is whole. A folder is for the service alone: other users of the machine
//! can neither look into it nor read a file.

use std::fs::Permissions;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::NaiveDate;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, MultipartUpload, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::Handle;
use url::Url;

use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::random::Random;
use crate::secrets::hashes::Sha256;

/// A store that does not answer makes a sender try again later; it must hear that soon.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is written at once to a folder, and to S3, which takes no less but for the last part of a file.
const FOLDER_PART: usize = 256 * 1024;
const S3_PART: usize = 5 * 1024 * 1024;
/// S3 takes ten thousand parts of a file, and some stores only parts of one size: enough for 320 GB.
const S3_HUGE_PART: usize = 32 * 1024 * 1024;
/// What is read at once.
const PIECE: u64 = 1024 * 1024;

#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// Where the files are, unless they are on S3.
    folder: Option<PathBuf>,
    /// False: what is written is measured and let go.
    keeps: bool,
    random: Random,
    clock: Clock,
}

/// A blob that is stored, whole and for good.
#[derive(Clone, Debug)]
pub struct StoredBlob {
    /// What it can be read by.
    pub key: String,
    pub length: u64,
    /// SHA-256 of its bytes.
    pub hash: [u8; 32],
}

/// A blob to be read.
pub struct Blob {
    pub length: u64,
    /// Piece by piece, each asked for when it is wanted: whoever is slow to take it holds neither memory nor a
    /// connection to the store.
    pub bytes: BoxStream<'static, Result<Bytes>>,
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
        Ok(Self { store, folder, keeps: true, random, clock })
    }

    /// The same to read from. What is written is measured, so that it gets its answer, and kept nowhere.
    pub fn keeping_nothing(&self) -> Self {
        Self { keeps: false, ..self.clone() }
    }

    /// Stores what comes, but no more than `at_most` bytes: beyond that it is [`Error::TooLarge`]. A write that fails
    /// or is dropped leaves nothing behind; should it be cut off at its very end, the sweep finds the blob.
    pub async fn write<E: Into<Error>>(
        &self,
        workspace: WorkspaceId,
        what: &str,
        bytes: impl Stream<Item = Result<Bytes, E>>,
        at_most: u64,
    ) -> Result<StoredBlob> {
        self.write_in_parts(workspace, what, bytes, at_most, S3_PART).await
    }

    /// Stores what may be hundreds of gigabytes, such as an export.
    pub async fn write_huge<E: Into<Error>>(
        &self,
        workspace: WorkspaceId,
        what: &str,
        bytes: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<StoredBlob> {
        self.write_in_parts(workspace, what, bytes, u64::MAX, S3_HUGE_PART).await
    }

    async fn write_in_parts<E: Into<Error>>(
        &self,
        workspace: WorkspaceId,
        what: &str,
        bytes: impl Stream<Item = Result<Bytes, E>>,
        at_most: u64,
        s3_part: usize,
    ) -> Result<StoredBlob> {
        // The day comes first, so that what was left behind on a day can be found.
        let day = folder_of(workspace, self.clock.now().date_naive());
        let key = format!("{day}/{what}/{}", self.random.hex(32));
        let mut upload = Upload::new(self, &key, s3_part);
        if let Err(error) = upload.take(bytes, at_most).await {
            upload.abort().await;
            return Err(error);
        }
        if let Some(folder) = self.folder.as_ref().filter(|_| self.keeps) {
            tokio::fs::set_permissions(folder.join(&key), Permissions::from_mode(0o600)).await?;
        }
        Ok(upload.written(key))
    }

    /// Stores bytes that are here already.
    pub async fn put(
        &self,
        workspace: WorkspaceId,
        what: &str,
        bytes: impl IntoIterator<Item = Bytes>,
    ) -> Result<StoredBlob> {
        let bytes = stream::iter(bytes.into_iter().map(Ok::<_, Error>));
        self.write(workspace, what, bytes, u64::MAX).await
    }

    pub async fn read(&self, key: &str) -> Result<Blob> {
        let length = self.store.head(&Path::from(key)).await?.size;
        Ok(self.pieces(key, length))
    }

    /// As `read`, and nothing when it is gone. A store that does not answer is an error.
    pub async fn find(&self, key: &str) -> Result<Option<Blob>> {
        match self.store.head(&Path::from(key)).await {
            Ok(found) => Ok(Some(self.pieces(key, found.size))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn pieces(&self, key: &str, length: u64) -> Blob {
        let (store, path) = (self.store.clone(), Path::from(key));
        let bytes = stream::try_unfold(0, move |from| {
            let (store, path) = (store.clone(), path.clone());
            async move {
                let to = length.min(from + PIECE);
                if from == to {
                    return Ok(None);
                }
                Ok(Some((store.get_range(&path, from..to).await?, to)))
            }
        });
        Blob { length, bytes: bytes.boxed() }
    }

    /// All of it at once, for what can only be understood as a whole.
    pub async fn get(&self, key: &str) -> Result<Vec<u8>> {
        let Blob { length, mut bytes } = self.read(key).await?;
        let mut whole = Vec::with_capacity(length as usize);
        while let Some(piece) = bytes.try_next().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }

    /// Keeps something under a name of its own, beside the workspaces: what no day ends and no row names. It replaces what
    /// was there.
    pub async fn keep(&self, name: &[&str], bytes: Vec<u8>) -> Result<()> {
        let key = kept_key(name);
        self.store.put(&Path::from(key.as_str()), bytes.into()).await?;
        if let Some(folder) = &self.folder {
            tokio::fs::set_permissions(folder.join(&key), Permissions::from_mode(0o600)).await?;
        }
        Ok(())
    }

    pub async fn read_kept(&self, name: &[&str]) -> Result<Vec<u8>> {
        self.get(&kept_key(name)).await
    }

    /// The names of what is kept in a folder, without it.
    pub fn kept(&self, folder: &str) -> impl Stream<Item = Result<String>> + use<> {
        let folder = kept_key(&[folder]);
        let stored = self.store.list(Some(&Path::from(folder.as_str())));
        stored.err_into().try_filter_map(move |blob| {
            let name = blob.location.as_ref().strip_prefix(&format!("{folder}/")).map(str::to_owned);
            async move { Ok(name) }
        })
    }

    /// The keys of everything there is, with their lengths: for backups.
    pub fn all(&self) -> impl Stream<Item = Result<(String, u64)>> + use<> {
        let stored = self.store.list(Some(&Path::from(OURS)));
        stored.map_ok(|blob| (blob.location.to_string(), blob.size)).err_into()
    }

    /// Stores something under the key that it had, whole or not at all: for what comes back from a backup.
    pub async fn put_back(&self, key: &str, bytes: impl Stream<Item = Result<Bytes>>) -> Result<()> {
        let mut upload = Upload::new(self, key, S3_HUGE_PART);
        if let Err(error) = upload.take(bytes, u64::MAX).await {
            upload.abort().await;
            return Err(error);
        }
        if let Some(folder) = &self.folder {
            tokio::fs::set_permissions(folder.join(key), Permissions::from_mode(0o600)).await?;
        }
        Ok(())
    }

    /// The folder, unless the files are on S3.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_deref()
    }

    /// The keys of everything that was stored for a workspace on a day.
    pub fn of_day(
        &self,
        workspace: WorkspaceId,
        day: NaiveDate,
    ) -> impl Stream<Item = Result<String>> + use<> {
        let stored = self.store.list(Some(&Path::from(folder_of(workspace, day))));
        stored.map_ok(|blob| blob.location.to_string()).err_into()
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
    /// their name, and no listing of the store shows them. On S3 the bucket's own rule does it (docs/mail.md).
    pub async fn discard_unfinished(&self, workspace: WorkspaceId, day: NaiveDate) -> Result<usize> {
        self.discard_unfinished_in(&folder_of(workspace, day)).await
    }

    /// The same of every day and workspace: for a store that nobody serves.
    pub async fn discard_all_unfinished(&self) -> Result<usize> {
        self.discard_unfinished_in(OURS).await
    }

    /// The same, of one kind only.
    pub async fn discard_unfinished_of(
        &self,
        workspace: WorkspaceId,
        day: NaiveDate,
        what: &str,
    ) -> Result<usize> {
        self.discard_unfinished_in(&format!("{}/{what}", folder_of(workspace, day))).await
    }

    async fn discard_unfinished_in(&self, inside: &str) -> Result<usize> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let mut open = vec![folder.join(inside)];
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
        for key in keys.iter().filter(|_| self.keeps) {
            if let Err(error) = self.store.delete(&Path::from(key.as_str())).await {
                tracing::warn!(%error, key, "a blob without a row was left behind");
            }
        }
    }
}

/// A blob on its way. What fits into one part is stored in one step; of more, the parts are handed over one after the
/// other, and the store makes them one when the last is there. One that is dropped before is taken away again.
struct Upload {
    /// None: it goes nowhere.
    store: Option<Arc<dyn ObjectStore>>,
    path: Path,
    /// What is not handed over yet, up to the size of a part.
    part: Vec<u8>,
    part_size: usize,
    parts: Option<Box<dyn MultipartUpload>>,
    length: u64,
    hash: Sha256,
}

impl Upload {
    fn new(blobs: &Blobs, key: &str, s3_part: usize) -> Self {
        Self {
            store: blobs.keeps.then(|| blobs.store.clone()),
            path: Path::from(key),
            part: Vec::new(),
            part_size: if blobs.folder.is_some() { FOLDER_PART } else { s3_part },
            parts: None,
            length: 0,
            hash: Sha256::new(),
        }
    }

    async fn take<E: Into<Error>>(
        &mut self,
        bytes: impl Stream<Item = Result<Bytes, E>>,
        at_most: u64,
    ) -> Result<()> {
        let mut bytes = pin!(bytes);
        while let Some(piece) = bytes.next().await {
            let piece = piece.map_err(Into::into)?;
            self.length += piece.len() as u64;
            if self.length > at_most {
                return Err(Error::TooLarge);
            }
            self.add(&piece).await?;
        }
        self.finish().await
    }

    /// Copies: a piece can be a few bytes of a large buffer, which would stay as long as the piece does.
    async fn add(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.part.len() == self.part_size {
                self.hand_over().await?;
            }
            let room = self.part_size - self.part.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.hash.update(now);
            self.part.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.part);
        let Some(store) = &self.store else { return Ok(()) };
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(store.put_multipart(&self.path).await?),
        };
        parts.put_part(part.into()).await?;
        Ok(())
    }

    async fn finish(&mut self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        if self.parts.is_none() {
            store.put(&self.path, std::mem::take(&mut self.part).into()).await?;
            return Ok(());
        }
        self.hand_over().await?;
        if let Some(parts) = &mut self.parts {
            parts.complete().await?;
        }
        self.parts = None;
        Ok(())
    }

    async fn abort(&mut self) {
        if let Some(parts) = self.parts.take() {
            abort(parts).await;
        }
    }

    fn written(self, key: String) -> StoredBlob {
        StoredBlob { key, length: self.length, hash: self.hash.clone().finish() }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let (Some(parts), Ok(runtime)) = (self.parts.take(), Handle::try_current()) {
            runtime.spawn(abort(parts));
        }
    }
}

async fn abort(mut parts: Box<dyn MultipartUpload>) {
    if let Err(error) = parts.abort().await {
        tracing::warn!(%error, "parts of a file that was not finished are left behind");
    }
}

/// Everything stands below this folder.
const OURS: &str = "ws";

/// No workspace has such a name.
fn kept_key(name: &[&str]) -> String {
    format!("{OURS}/{}", name.join("/"))
}

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
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&ours).map_err(|error| {
        let (path, say) = (folder.display(), "Name one that this user may write in ROOKERY_BLOBS");
        Error::internal(format!(
            "The folder for files {path} cannot be made ({error}). {say}: file:///some/folder"
        ))
    })?;
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
