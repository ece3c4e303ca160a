//! Whether agents read the words of secure messages. They do not, unless an owner says so; who says it is in the audit log.
//! Files are never shown to them.

use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Tx;

pub async fn may_read(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<bool> {
    let allowed = sqlx::query_scalar!("select agents_read_secure from workspaces where id = $1", workspace.0);
    Ok(allowed.fetch_optional(conn).await?.unwrap_or_default())
}

/// False when it was so already.
pub async fn allow(tx: &mut Tx<'_>, owner: &Person, allowed: bool) -> Result<bool> {
    let workspace = tx.workspace();
    let name = sqlx::query_scalar!(
        "update workspaces set agents_read_secure = $2 where id = $1 and agents_read_secure <> $2 returning name",
        workspace.0,
        allowed
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(name) = name else { return Ok(false) };
    let did = if allowed { Did::SecureWordsAllowed } else { Did::SecureWordsKept };
    audit::record(tx, &owner.by(), did, Subject { id: &workspace, name: &name }, json!({})).await?;
    Ok(true)
}
