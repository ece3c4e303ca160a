//! What secure words and files of a workspace are sealed with: a key of its own, made at first use and stored sealed with the
//! server's. Replacing the server's key seals one row anew, whatever the workspace has written.

use std::fmt::Display;

use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::random::Random;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::secrets::secret::SecretKey;
use rookery_base::store::db::Tx;

const PURPOSE: &str = "secure key";

#[derive(Clone)]
pub struct Vault {
    pub workspace: WorkspaceId,
    keys: KeyRing,
}

/// What is sealed. One kind never opens as another.
#[derive(Clone, Copy, Debug)]
pub enum SealedKind {
    Words,
    Draft,
    /// A file's name and type.
    FileHead,
    /// A piece of a file.
    FilePiece,
}

impl SealedKind {
    fn purpose(self) -> &'static str {
        match self {
            Self::Words => "secure words",
            Self::Draft => "secure draft",
            Self::FileHead => "secure file head",
            Self::FilePiece => "secure file piece",
        }
    }
}

impl Vault {
    /// A workspace that never wrote anything secure has none.
    pub async fn find(
        conn: &mut PgConnection,
        keys: &KeyRing,
        workspace: WorkspaceId,
    ) -> Result<Option<Self>> {
        let sealed =
            sqlx::query_scalar!("select sealed from secure_keys where workspace_id = $1", workspace.0)
                .fetch_optional(conn)
                .await?;
        sealed.map(|sealed| Self::opened(keys, workspace, &sealed)).transpose()
    }

    /// For what was sealed before.
    pub async fn must(conn: &mut PgConnection, keys: &KeyRing, workspace: WorkspaceId) -> Result<Self> {
        let found = Self::find(conn, keys, workspace).await?;
        found.ok_or_else(|| Error::internal("the workspace has no key for secure words"))
    }

    /// For what is to be sealed: the first one makes the key.
    pub async fn ready(tx: &mut Tx<'_>) -> Result<Self> {
        let (workspace, keys) = (tx.workspace(), tx.frame().needs_keys()?.clone());
        if let Some(found) = Self::find(tx, &keys, workspace).await? {
            return Ok(found);
        }
        let random = tx.frame().random.clone();
        let key = random.bytes::<32>();
        let sealed = sealed::seal(&keys, &random, PURPOSE, &place(workspace), &key)?;
        sqlx::query!(
            "insert into secure_keys (workspace_id, sealed) values ($1, $2) on conflict do nothing",
            workspace.0,
            sealed
        )
        .execute(&mut **tx)
        .await?;
        // Of two who made one at once, the first one's is there.
        Self::must(tx, &keys, workspace).await
    }

    fn opened(keys: &KeyRing, workspace: WorkspaceId, sealed: &[u8]) -> Result<Self> {
        let key = sealed::open(keys, PURPOSE, &place(workspace), sealed)?;
        let key = key.try_into().map_err(|_| Error::internal("a key for secure words has another length"))?;
        Ok(Self { workspace, keys: SecretKey(key).into() })
    }

    /// `of` is the row it belongs to: in another row's place it does not open.
    pub fn seal(&self, random: &Random, kind: SealedKind, of: impl Display, bytes: &[u8]) -> Result<Vec<u8>> {
        sealed::seal(&self.keys, random, kind.purpose(), &sealed::place(self.workspace, of), bytes)
    }

    pub fn open(&self, kind: SealedKind, of: impl Display, sealed: &[u8]) -> Result<Vec<u8>> {
        sealed::open(&self.keys, kind.purpose(), &sealed::place(self.workspace, of), sealed)
    }

    pub fn open_text(&self, kind: SealedKind, of: impl Display, sealed: &[u8]) -> Result<String> {
        String::from_utf8(self.open(kind, of, sealed)?).map_err(Error::internal)
    }
}

fn place(workspace: WorkspaceId) -> String {
    sealed::place(workspace, "secure")
}

/// For `admin reseal`.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<&'static str>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", sealed from secure_keys where workspace_id = any($1)"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, "secure", PURPOSE, row.sealed)).collect())
}

pub async fn replace(tx: &mut Tx<'_>, before: &[u8], anew: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update secure_keys set sealed = $3 where workspace_id = $1 and sealed = $2",
        workspace,
        before,
        anew
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}
