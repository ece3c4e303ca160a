//! Asking for an export, the list of them, taking one and ending one. An export shows what the person who asked can see,
//! and is for them alone; it ends after seven days, or when a contact is erased.

use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{ExportId, PersonId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::erased_addresses::{Hasher, name_of};
use rookery_core::workspace::people::{Person, an_address};

const PURPOSE: &str = "export";
/// How long one can be downloaded.
pub const KEPT: TimeDelta = TimeDelta::days(7);
/// Of one person that are waiting or being made.
const MOST_AT_ONCE: i64 = 3;
const NO_EXPORT: Error = Error::Missing("No such export.");

/// Whose data: a contact's, or everybody's.
pub async fn ask(tx: &mut Tx<'_>, person: &Person, contact: Option<&str>) -> Result<ExportId> {
    let contact = contact.map(|address| an_address("address", address)).transpose()?;
    let (workspace, now, id) = (tx.workspace(), tx.now(), tx.mint::<ExportId>());
    let waiting = sqlx::query_scalar!(
        r#"select count(*) as "n!" from exports
           where workspace_id = $1 and person_id = $2 and made_at is null and ended_at is null"#,
        workspace.0,
        person.id.0
    )
    .fetch_one(&mut **tx)
    .await?;
    if waiting >= MOST_AT_ONCE {
        return Err(Error::problem(
            "export",
            "Three exports of yours are being made. Wait for one, or stop it",
        ));
    }
    let (keys, random) = (tx.frame().needs_keys()?.clone(), tx.frame().random.clone());
    let sealed = contact
        .as_ref()
        .map(|address| {
            sealed::seal(&keys, &random, PURPOSE, &sealed::place(workspace, id), address.as_bytes())
        })
        .transpose()?;
    sqlx::query!(
        "insert into exports (workspace_id, id, person_id, address, is_contact, created_at, due_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
        workspace.0,
        id.0,
        person.id.0,
        sealed,
        contact.is_some(),
        now
    )
    .execute(&mut **tx)
    .await?;
    audit::make_key(tx).await?;
    let name = match &contact {
        Some(address) => name_of(&Hasher::must(tx, &keys, workspace).await?.hash(address)),
        None => "the workspace".to_owned(),
    };
    audit::record(tx, &person.by(), Did::ExportAsked, Subject { id: &id, name: &name }, json!({})).await?;
    Ok(id)
}

/// An export as the page lists it.
#[derive(Debug)]
pub struct ListedExport {
    pub id: ExportId,
    pub person: PersonId,
    pub person_name: String,
    pub address: Option<Vec<u8>>,
    pub is_contact: bool,
    pub created_at: DateTime<Utc>,
    pub done: i32,
    pub total: i32,
    pub size: Option<i64>,
    pub ends_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub blob: Option<String>,
    /// It could not be made.
    pub failed: bool,
}

impl ListedExport {
    /// The contact's address, while it is kept.
    pub fn contact(&self, keys: &KeyRing, workspace: WorkspaceId) -> Option<String> {
        let sealed = self.address.as_deref()?;
        let opened = sealed::open(keys, PURPOSE, &sealed::place(workspace, self.id), sealed).ok()?;
        String::from_utf8(opened).ok()
    }

    fn what(&self) -> &'static str {
        what(self.is_contact)
    }
}

/// What the audit log says it is of.
pub(super) fn what(is_contact: bool) -> &'static str {
    if is_contact { "a contact" } else { "the workspace" }
}

/// Newest first.
pub async fn listed(conn: &mut PgConnection, workspace: WorkspaceId, most: i64) -> Result<Vec<ListedExport>> {
    Ok(sqlx::query_as!(
        ListedExport,
        r#"select e.id as "id: ExportId", person_id as "person: PersonId", p.name as person_name, address, is_contact,
               e.created_at, done, total, size, ends_at, ended_at, blob, failed
           from exports e join people p on p.workspace_id = $1 and p.id = person_id
           where e.workspace_id = $1 order by e.id desc limit $2"#,
        workspace.0,
        most
    )
    .fetch_all(conn)
    .await?)
}

/// One that is not ended.
pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: ExportId) -> Result<ListedExport> {
    let found = sqlx::query_as!(
        ListedExport,
        r#"select e.id as "id: ExportId", person_id as "person: PersonId", p.name as person_name, address, is_contact,
               e.created_at, done, total, size, ends_at, ended_at, blob, failed
           from exports e join people p on p.workspace_id = $1 and p.id = person_id
           where e.workspace_id = $1 and e.id = $2 and ended_at is null"#,
        workspace.0,
        id.0
    );
    found.fetch_optional(conn).await?.ok_or(NO_EXPORT)
}

/// Takes one that is made: its file. Of somebody else's there is nothing to see.
pub async fn take(tx: &mut Tx<'_>, person: &Person, id: ExportId) -> Result<String> {
    let workspace = tx.workspace();
    let found = find(tx, workspace, id).await?;
    let blob = found.blob.clone().filter(|_| found.person == person.id).ok_or(NO_EXPORT)?;
    let data = json!({ "size": found.size });
    audit::record(tx, &person.by(), Did::ExportTaken, Subject { id: &id, name: found.what() }, data).await?;
    Ok(blob)
}

/// Ends one, made or not. Gives its file, which has to go.
pub async fn end(tx: &mut Tx<'_>, person: &Person, id: ExportId) -> Result<Option<String>> {
    let workspace = tx.workspace();
    let found = find(tx, workspace, id).await?;
    if found.person != person.id {
        return Err(NO_EXPORT);
    }
    let blob = close(tx, id, false).await?;
    audit::record(tx, &person.by(), Did::ExportEnded, Subject { id: &id, name: found.what() }, json!({}))
        .await?;
    Ok(blob)
}

/// Its row stays without a word of whom it was about.
pub(super) async fn close(tx: &mut Tx<'_>, id: ExportId, failed: bool) -> Result<Option<String>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let blob = sqlx::query_scalar!(
        "with before as (select blob from exports where workspace_id = $1 and id = $2 for update)
         update exports set ended_at = $3, due_at = null, blob = null, address = null, claim = claim + 1, failed = $4
         from before where workspace_id = $1 and id = $2 and ended_at is null returning before.blob",
        workspace,
        id.0,
        now,
        failed
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(blob.flatten())
}

/// A contact is erased: every export of the workspace may hold them, made or under way. Gives their files.
pub async fn end_all(tx: &mut Tx<'_>) -> Result<Vec<String>> {
    let workspace = tx.workspace();
    let open = sqlx::query!(
        r#"select id as "id: ExportId", is_contact from exports where workspace_id = $1 and ended_at is null order by id"#,
        workspace.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut blobs = Vec::new();
    for one in &open {
        blobs.extend(close(tx, one.id, false).await?);
    }
    for one in &open {
        let subject = Subject { id: &one.id, name: what(one.is_contact) };
        let data = json!({ "because": "a contact is erased" });
        audit::record(tx, &By::System, Did::ExportEnded, subject, data).await?;
    }
    Ok(blobs)
}

/// The sealed addresses of these workspaces, for resealing.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<ExportId>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: ExportId", address as "address!" from exports
           where workspace_id = any($1) and address is not null"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, row.id, PURPOSE, row.address)).collect())
}

pub async fn replace(tx: &mut Tx<'_>, id: ExportId, before: &[u8], anew: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update exports set address = $4 where workspace_id = $1 and id = $2 and address = $3",
        workspace,
        id.0,
        before,
        anew
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

/// Which of these blobs exports with such ids name.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    _: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    // Few rows, and one may be made long after it was asked for: all are looked at.
    let held = sqlx::query_scalar!(
        r#"select blob as "blob!" from exports where workspace_id = $1 and blob in (select unnest($2::text[]))"#,
        workspace.0,
        blobs
    );
    Ok(held.fetch_all(conn).await?)
}
