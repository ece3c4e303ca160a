//! Asking for an erasure: by an owner or admin who typed the address, and never against a hold. The row is the promise;
//! work.rs keeps it. The address stands in the row sealed, and only until the work is done.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::conversations::keeping::holds;
use crate::error::{Error, Result};
use crate::ids::{ErasureId, WorkspaceId};
use crate::incoming::listen::recipients::candidates;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::sealed;
use crate::store::db::Tx;
use crate::text;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::erased_addresses::{Hasher, name_of};
use crate::workspace::mailboxes;
use crate::workspace::people::{Person, an_address};

pub(super) const PURPOSE: &str = "erasure";
const LONGEST_REASON: usize = 200;

/// The address of a contact, as typed. One of our own is none: all mail of an inbox has it, and the team's people are
/// removed from the team.
pub(super) async fn a_contact(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    typed: &str,
) -> Result<String> {
    let address = an_address("address", typed)?;
    if mailboxes::is_any(conn, workspace, &candidates(&address)).await? {
        return Err(Error::problem(
            "address",
            "is one of your own inboxes, not a contact, so it cannot be erased",
        ));
    }
    let is_teammate = sqlx::query_scalar!(
        r#"select exists (select from people
                          where workspace_id = $1 and email = $2 and removed_at is null) as "is_teammate!""#,
        workspace.0,
        address
    )
    .fetch_one(conn)
    .await?;
    match is_teammate {
        true => {
            Err(Error::problem("address", "is somebody of your team. Remove them in Settings, People first"))
        }
        false => Ok(address),
    }
}

/// Begins to erase a contact. A second one of the same address while the first is under way is that first one.
pub async fn erase(tx: &mut Tx<'_>, person: &Person, address: &str, reason: &str) -> Result<ErasureId> {
    if !person.role.administers() {
        return Err(Error::Forbidden("Only owners and admins erase contacts.".to_owned()));
    }
    let (workspace, now) = (tx.workspace(), tx.now());
    // The reason stays for good.
    let reason: String = text::without_addresses(&text::line(reason)).chars().take(LONGEST_REASON).collect();
    holds::alone(tx).await?;
    let address = a_contact(tx, workspace, address).await?;
    if let Some(name) = holds::against(tx, workspace, &address).await?.first() {
        return Err(Error::Conflict(format!(
            "A hold stands against it: {name}. End the hold first, in Settings, Data and erasure."
        )));
    }
    let keys = tx.frame().needs_keys()?.clone();
    // Its first entry makes the key that addresses are hashed with.
    audit::make_key(tx).await?;
    let hash = Hasher::must(tx, &keys, workspace).await?.hash(&address);
    let under_way = sqlx::query_scalar!(
        r#"select id as "id: ErasureId" from erasures where workspace_id = $1 and address_hash = $2 and done_at is null"#,
        workspace.0,
        hash.as_slice()
    )
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(id) = under_way {
        return Ok(id);
    }
    let id: ErasureId = tx.mint();
    let (random, by) = (tx.frame().random.clone(), person.by());
    let sealed = sealed::seal(&keys, &random, PURPOSE, &sealed::place(workspace, id), address.as_bytes())?;
    sqlx::query!(
        "insert into erasures (workspace_id, id, address_hash, address, asked_by, reason, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace.0,
        id.0,
        hash.as_slice(),
        sealed,
        by.name(),
        reason,
        now
    )
    .execute(&mut **tx)
    .await?;
    let subject = Subject { id: &id, name: &name_of(&hash) };
    audit::record(tx, &by, Did::ErasureAsked, subject, json!({ "reason": reason })).await?;
    Ok(id)
}

/// An erasure as the page lists it.
#[derive(Debug)]
pub struct Listed {
    pub id: ErasureId,
    pub hash: Vec<u8>,
    pub asked_by: String,
    pub reason: String,
    pub created_at: DateTime<Utc>,
    pub done_at: Option<DateTime<Utc>>,
    pub conversations: i32,
    pub messages: i32,
    pub documents: i32,
}

/// The names of the holds that an erasure waits for, which were placed after it began.
pub async fn waits_for(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    id: ErasureId,
) -> Result<Vec<String>> {
    let sealed = sqlx::query_scalar!(
        "select address from erasures
         where workspace_id = $1 and id = $2 and done_at is null and not replayed
           and exists (select from holds where holds.workspace_id = $1 and ended_at is null)",
        workspace.0,
        id.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(sealed) = sealed.flatten() else { return Ok(Vec::new()) };
    let address = sealed::open(keys, PURPOSE, &sealed::place(workspace, id), &sealed)?;
    holds::against(conn, workspace, &String::from_utf8(address).map_err(Error::internal)?).await
}

/// Newest first. How much went is told of the whole: private inboxes are in it.
pub async fn listed(conn: &mut PgConnection, workspace: WorkspaceId, most: i64) -> Result<Vec<Listed>> {
    Ok(sqlx::query_as!(
        Listed,
        r#"select id as "id: ErasureId", address_hash as hash, asked_by, reason, created_at, done_at, conversations, messages,
               documents
           from erasures where workspace_id = $1 order by id desc limit $2"#,
        workspace.0,
        most
    )
    .fetch_all(conn)
    .await?)
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: ErasureId) -> Result<Listed> {
    let all = listed(conn, workspace, i64::MAX).await?;
    all.into_iter().find(|erasure| erasure.id == id).ok_or(Error::Missing("No such erasure."))
}
