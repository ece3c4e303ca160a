//! Asking for an erasure: by an owner or admin who typed the address, and never against a hold. The row is the promise;
//! work.rs keeps it. The address stands in the row sealed, and only until the work is done.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, ErasureId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed;
use rookery_base::store::db::Tx;
use rookery_core::conversations::keeping::holds;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::erased_addresses::{Hasher, name_of};
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::{Person, an_address};
use rookery_mail::incoming::listen::recipients::candidates;
use rookery_reading::text;

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
    if is_teammate {
        Err(Error::problem("address", "is somebody of your team. Remove them in Settings, People first"))
    } else {
        Ok(address)
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
            "A hold prevents this: {name}. End the hold first, in Settings, Data and erasure."
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
pub struct ListedErasure {
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
    let row = sqlx::query!(
        r#"select address, part_of as "part_of: ConversationId" from erasures
           where workspace_id = $1 and id = $2 and done_at is null and not replayed
             and exists (select from holds where holds.workspace_id = $1 and ended_at is null)"#,
        workspace.0,
        id.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(Vec::new()) };
    let Some(sealed) = row.address else { return Ok(Vec::new()) };
    let address = sealed::open(keys, PURPOSE, &sealed::place(workspace, id), &sealed)?;
    let address = String::from_utf8(address).map_err(Error::internal)?;
    let mut names = holds::against(conn, workspace, &address).await?;
    // Nothing may name the contact any more in what is left of it.
    if let Some(long) = row.part_of {
        let on_it = holds::on(conn, workspace, long).await?;
        names.extend(on_it.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    Ok(names)
}

/// Newest first. How much went is told of the whole: private inboxes are in it.
pub async fn listed(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    most: i64,
) -> Result<Vec<ListedErasure>> {
    Ok(sqlx::query_as!(
        ListedErasure,
        r#"select id as "id: ErasureId", address_hash as hash, asked_by, reason, created_at, done_at, conversations, messages,
               documents
           from erasures where workspace_id = $1 order by id desc limit $2"#,
        workspace.0,
        most
    )
    .fetch_all(conn)
    .await?)
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: ErasureId) -> Result<ListedErasure> {
    let all = listed(conn, workspace, i64::MAX).await?;
    all.into_iter().find(|erasure| erasure.id == id).ok_or(Error::Missing("No such erasure."))
}
