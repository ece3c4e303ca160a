//! The words of a draft that will be a secure message stand sealed in its row and in the copies beside it, from the first
//! save on. A letter that no text has tells sealed words from plain ones, because a draft becomes secure while it is written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{DraftId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::store::db::Tx;
use rookery_core::conversations::secure::vault::{SealedKind, Vault};
use rookery_reading::text;

/// Control characters are taken out of everything that is typed.
const MARK: char = '\u{1}';
/// Not bound to a draft: when its writer leaves, its words move beside another one.
const ANY: &str = "draft";

/// The body as its row has it.
pub(super) async fn body(tx: &mut Tx<'_>, words: &str, secure: bool) -> Result<String> {
    let body = text::lines(words);
    if secure { seal(tx, body).await } else { Ok(body) }
}

/// A draft became secure: so do the words that are kept beside it, also those of pages that did not know of it.
pub(super) async fn copies(tx: &mut Tx<'_>, draft: DraftId) -> Result<()> {
    let workspace = tx.workspace().0;
    let plain = sqlx::query!(
        "select page, body from written_draft_copies
         where workspace_id = $1 and draft_id = $2 and not starts_with(body, $3)",
        workspace,
        draft.0,
        MARK.to_string()
    )
    .fetch_all(&mut **tx)
    .await?;
    for copy in plain {
        let sealed = seal(tx, copy.body).await?;
        sqlx::query!(
            "update written_draft_copies set body = $4 where workspace_id = $1 and draft_id = $2 and page = $3",
            workspace,
            draft.0,
            copy.page,
            sealed
        )
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

async fn seal(tx: &mut Tx<'_>, body: String) -> Result<String> {
    if body.trim().is_empty() {
        return Ok(body);
    }
    let vault = Vault::ready(tx).await?;
    let sealed = vault.seal(&tx.frame().random, SealedKind::Draft, ANY, body.as_bytes())?;
    Ok(format!("{MARK}{}", STANDARD.encode(sealed)))
}

/// The words of these bodies.
pub(super) async fn open(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    workspace: WorkspaceId,
    bodies: Vec<&mut String>,
) -> Result<()> {
    let mut vault = None;
    for body in bodies {
        let Some(sealed) = body.strip_prefix(MARK) else { continue };
        if vault.is_none() {
            vault = Some(Vault::must(conn, keys.ok_or_else(KeyRing::missing)?, workspace).await?);
        }
        let sealed = STANDARD.decode(sealed).map_err(Error::internal)?;
        if let Some(vault) = &vault {
            *body = vault.open_text(SealedKind::Draft, ANY, &sealed)?;
        }
    }
    Ok(())
}
