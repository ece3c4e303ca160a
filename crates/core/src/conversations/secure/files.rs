//! Files of secure messages: sealed piece by piece on their way into the blob store, so that no plain byte is ever written
//! and memory does not grow with a file. Every piece is bound to its file and its place, and the last one says that it is:
//! pieces cannot be swapped, and a file that was cut off does not open.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::conversations::secure::vault::{SealedKind, Vault};
use crate::conversations::timeline::Attachment;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, Id, MessageId, SecureFileId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::store::blobs::Blob;
use rookery_base::store::db::Tx;
use rookery_base::store::held_blobs::held_blobs;

/// Plain bytes of a piece.
const PIECE: usize = 256 * 1024;
/// In front of a sealed piece: its length.
const LENGTH: usize = 4;
/// What sealing may add to a piece: mark, key id, nonce and tag.
const AROUND: usize = 256;

/// A file that is sealed in the blob store and named by no row yet.
#[derive(Clone, Debug)]
pub struct SealedFile {
    pub id: SecureFileId,
    pub blob: String,
    /// Of its plain bytes.
    pub size: i64,
    head: Vec<u8>,
}

/// A file as a row has it, opened.
#[derive(Clone, Debug)]
pub struct SecureFile {
    pub id: SecureFileId,
    pub message: MessageId,
    pub filename: String,
    pub content_type: String,
    pub size: i64,
    pub blob: String,
}

impl SecureFile {
    /// As the team's page shows files.
    pub fn attachment(&self) -> Attachment {
        Attachment {
            filename: self.filename.clone(),
            content_type: self.content_type.clone(),
            size: self.size,
            blob: self.blob.clone(),
            content_id: None,
            borrowed: false,
            content_hash: None,
            document: None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Head {
    filename: String,
    content_type: String,
}

/// Stores what comes, sealed, but no more than `at_most` plain bytes.
pub async fn store(
    app: &App,
    vault: &Vault,
    filename: &str,
    content_type: &str,
    bytes: impl Stream<Item = Result<Bytes>> + Send,
    at_most: u64,
) -> Result<SealedFile> {
    let id = SecureFileId::mint(app.clock.now(), &app.random);
    let head = Head { filename: filename.to_owned(), content_type: content_type.to_owned() };
    let head = vault.seal(
        &app.random,
        SealedKind::FileHead,
        id,
        &serde_json::to_vec(&head).map_err(Error::internal)?,
    )?;
    let mut size = 0_u64;
    let counted = bytes.map(|piece| {
        let piece = piece?;
        size += piece.len() as u64;
        if size > at_most { Err(Error::TooLarge) } else { Ok(piece) }
    });
    let sealed = sealing(vault.clone(), app.random.clone(), id, counted);
    let written = app.blobs.write(vault.workspace, "secure", sealed, u64::MAX).await?;
    Ok(SealedFile { id, blob: written.key, size: size as i64, head })
}

/// Names files in a message, in the transaction that writes it.
pub async fn name(tx: &mut Tx<'_>, message: MessageId, files: &[SealedFile]) -> Result<()> {
    let workspace = tx.workspace().0;
    for file in files {
        sqlx::query!(
            "insert into secure_files (workspace_id, id, message_id, blob, size, sealed) values ($1, $2, $3, $4, $5, $6)",
            workspace,
            file.id.0,
            message.0,
            file.blob,
            file.size,
            file.head
        )
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// Of these messages, in the order they were added.
pub async fn load(conn: &mut PgConnection, vault: &Vault, messages: &[MessageId]) -> Result<Vec<SecureFile>> {
    let rows = sqlx::query!(
        r#"select id as "id: SecureFileId", message_id as "message: MessageId", blob, size, sealed from secure_files
           where workspace_id = $1 and message_id = any($2) order by message_id, id"#,
        vault.workspace.0,
        messages as &[MessageId]
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let head = vault.open(SealedKind::FileHead, row.id, &row.sealed)?;
            let head: Head = serde_json::from_slice(&head).map_err(Error::internal)?;
            Ok(SecureFile {
                id: row.id,
                message: row.message,
                filename: head.filename,
                content_type: head.content_type,
                size: row.size,
                blob: row.blob,
            })
        })
        .collect()
}

/// The plain bytes, as they are asked for.
pub async fn read(app: &App, vault: &Vault, file: &SecureFile) -> Result<Blob> {
    plain(app, vault, file.id, &file.blob, file.size).await
}

/// The same, or nothing when the store does not have it any more.
pub async fn find(app: &App, vault: &Vault, file: &SecureFile) -> Result<Option<Blob>> {
    match app.blobs.find(&file.blob).await? {
        Some(_) => read(app, vault, file).await.map(Some),
        None => Ok(None),
    }
}

/// The same of one that no row names yet.
pub async fn read_sealed(app: &App, vault: &Vault, file: &SealedFile) -> Result<Blob> {
    plain(app, vault, file.id, &file.blob, file.size).await
}

async fn plain(app: &App, vault: &Vault, id: SecureFileId, blob: &str, size: i64) -> Result<Blob> {
    let sealed = app.blobs.read(blob).await?;
    let bytes = opening(vault.clone(), id, sealed.bytes);
    Ok(Blob { length: u64::try_from(size).unwrap_or_default(), bytes: bytes.boxed() })
}

/// The blobs that go with messages which are about to be deleted.
pub async fn blobs_of(tx: &mut Tx<'_>, messages: &[i64]) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        "select blob from secure_files where workspace_id = $1 and message_id = any($2)",
        workspace,
        messages
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// The same of whole conversations.
pub async fn blobs_in(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        "select blob from secure_files f join messages m on m.workspace_id = $1 and m.id = f.message_id
         where f.workspace_id = $1 and m.conversation_id = any($2)",
        workspace,
        conversations as &[ConversationId]
    )
    .fetch_all(&mut **tx)
    .await?)
}

pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    ids: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    held_blobs!(conn, "secure_files", workspace, ids, blobs)
}

/// Which piece of which file, and whether it is the last.
fn place(file: SecureFileId, n: u64, last: bool) -> String {
    format!("{file} {n}{}", if last { " end" } else { "" })
}

/// What is sealed so far of a stream.
struct Sealing<S> {
    bytes: S,
    waiting: BytesMut,
    n: u64,
    over: bool,
}

fn sealing(
    vault: Vault,
    random: Random,
    file: SecureFileId,
    bytes: impl Stream<Item = Result<Bytes>> + Send,
) -> impl Stream<Item = Result<Bytes>> + Send {
    let state = Sealing { bytes: Box::pin(bytes), waiting: BytesMut::new(), n: 0, over: false };
    stream::try_unfold(state, move |mut state| {
        let (vault, random) = (vault.clone(), random.clone());
        async move {
            if state.over {
                return Ok(None);
            }
            // One byte more than a piece tells that this one is not the last.
            while state.waiting.len() <= PIECE {
                match state.bytes.try_next().await? {
                    Some(more) => state.waiting.extend_from_slice(&more),
                    None => {
                        state.over = true;
                        break;
                    }
                }
            }
            let plain = if state.over { state.waiting.split() } else { state.waiting.split_to(PIECE) };
            let sealed =
                vault.seal(&random, SealedKind::FilePiece, place(file, state.n, state.over), &plain)?;
            state.n += 1;
            let length = u32::try_from(sealed.len()).map_err(Error::internal)?.to_be_bytes();
            Ok(Some((Bytes::from([&length[..], &sealed].concat()), state)))
        }
    })
}

fn opening(
    vault: Vault,
    file: SecureFileId,
    sealed: impl Stream<Item = Result<Bytes>> + Send,
) -> impl Stream<Item = Result<Bytes>> + Send {
    let state = Sealing { bytes: Box::pin(sealed), waiting: BytesMut::new(), n: 0, over: false };
    stream::try_unfold(state, move |mut state| {
        let vault = vault.clone();
        async move {
            if state.over {
                return Ok(None);
            }
            let broken = || Error::internal("a sealed file is cut off or was changed");
            fill(&mut state, LENGTH).await?.then_some(()).ok_or_else(broken)?;
            let length = state.waiting.get_u32() as usize;
            if length > PIECE + AROUND || !fill(&mut state, length).await? {
                return Err(broken());
            }
            let piece = state.waiting.split_to(length);
            state.over = !fill(&mut state, 1).await?;
            let plain = vault.open(SealedKind::FilePiece, place(file, state.n, state.over), &piece)?;
            state.n += 1;
            Ok(Some((Bytes::from(plain), state)))
        }
    })
}

/// Until so many bytes wait. False when there are not so many.
async fn fill<S: Stream<Item = Result<Bytes>> + Unpin>(state: &mut Sealing<S>, most: usize) -> Result<bool> {
    while state.waiting.len() < most {
        match state.bytes.try_next().await? {
            Some(more) => state.waiting.extend_from_slice(&more),
            None => return Ok(false),
        }
    }
    Ok(true)
}
