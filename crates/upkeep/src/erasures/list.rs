//! The list of erasures in the blob store, which a backup of the database does not take back: ids and keyed hashes. It is
//! written before anything is erased, so whatever backup comes back, what has to be erased again is known.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::ready;
use futures::{Stream, TryStreamExt};
use serde::{Deserialize, Serialize};

use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ErasureId, WorkspaceId};
use rookery_base::store::blobs::Blobs;
use rookery_core::workspace::audit;

const FOLDER: &str = "erasures";

/// One erasure, as the blob store keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    at: String,
    /// In hex.
    hash: String,
    /// The workspace's key, sealed: an older backup may be from before it was made.
    key: String,
}

pub struct ErasureEntry {
    pub hash: [u8; 32],
    pub sealed_key: Vec<u8>,
}

/// Writes an erasure down. Safe to repeat.
pub async fn keep(app: &App, workspace: WorkspaceId, id: ErasureId, hash: &[u8]) -> Result<()> {
    let sealed = audit::sealed_key(&mut *app.connection().await?, workspace).await?.unwrap_or_default();
    let kept = Kept {
        at: written(app.clock.now()),
        hash: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        key: STANDARD.encode(sealed),
    };
    app.blobs.keep(&[FOLDER, &workspace.to_string(), &id.to_string()], serde_json::to_vec(&kept)?).await
}

/// Whose they are and which, of all workspaces.
pub fn all(blobs: &Blobs) -> impl Stream<Item = Result<(WorkspaceId, ErasureId)>> + use<> {
    blobs.kept(FOLDER).try_filter_map(async |name| {
        let named = name
            .split_once('/')
            .and_then(|(workspace, id)| Some((workspace.parse().ok()?, id.parse().ok()?)));
        Ok(named)
    })
}

/// Those of one workspace.
pub fn all_of(
    blobs: &Blobs,
    workspace: WorkspaceId,
) -> impl Stream<Item = Result<(WorkspaceId, ErasureId)>> + use<> {
    let named = blobs.kept(&format!("{FOLDER}/{workspace}"));
    named.try_filter_map(move |id| ready(Ok(id.parse().ok().map(|id| (workspace, id)))))
}

pub async fn read(blobs: &Blobs, workspace: WorkspaceId, id: ErasureId) -> Result<ErasureEntry> {
    let bytes = blobs.read_kept(&[FOLDER, &workspace.to_string(), &id.to_string()]).await?;
    let unreadable = || {
        let file = format!("ws/{FOLDER}/{workspace}/{id}");
        Error::internal(format!("the file {file} of the blob store is not as it was written: restore it"))
    };
    let kept: Kept = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
    let byte = |at: usize| kept.hash.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let hash: Option<Vec<u8>> = (0..64).step_by(2).map(byte).collect();
    let hash = hash.and_then(|hash| hash.try_into().ok()).ok_or_else(unreadable)?;
    let sealed_key = STANDARD.decode(&kept.key).map_err(|_| unreadable())?;
    Ok(ErasureEntry { hash, sealed_key })
}
