//! Inboxes: of the whole team, of one person, or the sandbox (specification 2.5, 5.7, 5.8). An inbox that the
//! caller cannot see gives the same answer as one that does not exist.

use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::access::{Actor, By, SANDBOX};
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::domains::{self, AddressClaim};
use crate::workspace::people::{a_mailed_name, an_address, role_of, sign_in_addresses};
use rookery_base::app::App;
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::{MailboxId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;

#[derive(Clone, Debug)]
pub struct Mailbox {
    pub id: MailboxId,
    pub audience: i64,
    pub address: String,
    pub name: String,
}

impl Mailbox {
    pub fn livemode(&self) -> bool {
        self.audience != SANDBOX
    }
}

/// Makes an inbox for the team, or for one person alone.
pub async fn create(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    address: &str,
    name: &str,
    private_to: Option<PersonId>,
) -> Result<MailboxId> {
    let address = an_address("address", address)?;
    let name = a_mailed_name("name", name, 100)?;
    // The directory has a connection of its own, so nothing is held while it is asked. It keeps what it reserved, so
    // what would be refused is not reserved.
    may_be_made(&mut app.begin(workspace).await?, by, &address, private_to).await?;
    let claimed = domains::claim(app, workspace, by, "address", &address).await?;
    let mut tx = app.begin(workspace).await?;
    may_be_made(&mut tx, by, &address, private_to).await?;
    let kind = if private_to.is_some() { "private" } else { "team" };
    let id = insert(&mut tx, kind, private_to, &address, &name).await?;
    if claimed == AddressClaim::Unproven {
        unproven(&mut tx, id).await?;
    }
    let data = json!({ "address": address, "privateTo": private_to });
    audit::record(&mut tx, by, Did::InboxMade, Subject { id: &id, name: &name }, data).await?;
    tx.commit().await?;
    Ok(id)
}

async fn may_be_made(tx: &mut Tx<'_>, by: &By, address: &str, private_to: Option<PersonId>) -> Result<()> {
    let workspace = tx.workspace();
    if let Some(owner) = private_to {
        role_of(tx, workspace, owner).await?;
    }
    if sign_in_addresses::is_of_another(tx, by, address).await? {
        return Err(Error::problem("address", sign_in_addresses::OF_A_PERSON));
    }
    if is_there(tx, address).await? { Err(taken()) } else { Ok(()) }
}

/// Whether an inbox of the workspace has the address: as it is, with another spelling of its domain, or without its tag. Mail with
/// a tag is the inbox's that has the address before it.
pub async fn is_there(tx: &mut Tx<'_>, address: &str) -> Result<bool> {
    let workspace = tx.workspace();
    is_any(tx, workspace, &domains::same_as(address)).await
}

/// It neither receives nor sends until its domain is proven.
async fn unproven(tx: &mut Tx<'_>, id: MailboxId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update mailboxes set unproven_at = $3 where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Refuses what is to leave from an inbox whose domain is not proven.
pub async fn must_send(tx: &mut Tx<'_>, id: MailboxId, field: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    let unproven = sqlx::query_scalar!(
        r#"select unproven_at is not null as "unproven!" from mailboxes where workspace_id = $1 and id = $2"#,
        workspace,
        id.0
    )
    .fetch_one(&mut **tx)
    .await?;
    if unproven { Err(Error::problem(field, domains::UNPROVEN)) } else { Ok(()) }
}

fn taken() -> Error {
    Error::problem("address", "is taken already")
}

/// The one sandbox inbox of a new workspace.
pub async fn create_sandbox(tx: &mut Tx<'_>, slug: &str) -> Result<String> {
    let address = format!("sandbox@{slug}.test");
    insert(tx, "sandbox", None, &address, "Sandbox").await?;
    Ok(address)
}

async fn insert(
    tx: &mut Tx<'_>,
    kind: &str,
    owner: Option<PersonId>,
    address: &str,
    name: &str,
) -> Result<MailboxId> {
    let id: MailboxId = tx.mint();
    let (workspace, now) = (tx.workspace().0, tx.now());
    let inserted = sqlx::query!(
        "insert into mailboxes (workspace_id, id, kind, owner_id, address, name, created_at)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (workspace_id, address) do nothing",
        workspace,
        id.0,
        kind,
        owner.map(|owner| owner.0),
        address,
        name,
        now
    )
    .execute(&mut **tx)
    .await?;
    if inserted.rows_affected() == 0 { Err(taken()) } else { Ok(id) }
}

/// An inbox someone can see; any other does not exist for them.
pub async fn find_visible(conn: &mut PgConnection, who: &Actor, id: &str) -> Result<Mailbox> {
    let id: MailboxId = id.parse().map_err(|_| NO_MAILBOX)?;
    sqlx::query_as!(
        Mailbox,
        r#"select id as "id: MailboxId", audience as "audience!", address, name from mailboxes
           where workspace_id = $1 and id = $2 and audience = any($3)"#,
        who.workspace.0,
        id.0,
        &who.audiences()
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_MAILBOX)
}

/// The sandbox inbox of a workspace.
pub async fn sandbox(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Mailbox> {
    Ok(sqlx::query_as!(
        Mailbox,
        r#"select id as "id: MailboxId", audience as "audience!", address, name from mailboxes
           where workspace_id = $1 and kind = 'sandbox'"#,
        workspace.0
    )
    .fetch_one(conn)
    .await?)
}

/// A live inbox, for an operator who acts on behalf of all.
pub async fn live(conn: &mut PgConnection, workspace: WorkspaceId, id: MailboxId) -> Result<Mailbox> {
    sqlx::query_as!(
        Mailbox,
        r#"select id as "id: MailboxId", audience as "audience!", address, name from mailboxes
           where workspace_id = $1 and id = $2 and kind <> 'sandbox'"#,
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_MAILBOX)
}

/// The live inbox with the first of these addresses, as its own or as an alias, and that address; one that is closed takes no
/// mail.
pub async fn at(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    addresses: &[String],
) -> Result<Option<(Mailbox, String)>> {
    let row = sqlx::query!(
        r#"with hits as (
               select w.n, w.address, m.id, 0 as by_alias from unnest($2::text[]) with ordinality as w (address, n)
               join mailboxes m on m.workspace_id = $1 and m.address = w.address
               union all
               select w.n, w.address, a.mailbox_id, 1 from unnest($2::text[]) with ordinality as w (address, n)
               join mailbox_aliases a on a.workspace_id = $1 and a.address = w.address)
           select m.id as "id: MailboxId", m.audience as "audience!", m.address, m.name, hits.address as "spelled!"
           from hits join mailboxes m on m.workspace_id = $1 and m.id = hits.id
           where m.kind <> 'sandbox' and m.closed_at is null order by hits.n, hits.by_alias limit 1"#,
        workspace.0,
        addresses
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let mailbox = Mailbox { id: row.id, audience: row.audience, address: row.address, name: row.name };
        (mailbox, row.spelled)
    }))
}

/// Whether a live inbox of any workspace has one of these addresses, as its own or as a further one.
pub async fn is_there_anywhere(conn: &mut PgConnection, addresses: &[String]) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from mailboxes
                          where address = any($1) and kind <> 'sandbox' and closed_at is null)
               or exists (select from mailbox_aliases a
                          join mailboxes m on m.workspace_id = a.workspace_id and m.id = a.mailbox_id
                          where a.address = any($1) and m.closed_at is null) as "there!""#,
        addresses
    )
    .fetch_one(conn)
    .await?)
}

/// Whether one of these is an address of an inbox, of any kind, also of one that is closed.
pub async fn is_any(conn: &mut PgConnection, workspace: WorkspaceId, addresses: &[String]) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from mailboxes where workspace_id = $1 and address = any($2))
               or exists (select from mailbox_aliases where workspace_id = $1 and address = any($2)) as "is_any!""#,
        workspace.0,
        addresses
    )
    .fetch_one(conn)
    .await?)
}

/// The private inboxes of somebody who leaves: another person's from now on, or closed. Gives their names.
pub async fn hand_over(tx: &mut Tx<'_>, from: PersonId, to: Option<PersonId>) -> Result<Vec<String>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // Nobody goes on answering in the words of who left.
    sqlx::query!(
        "update auto_replies set is_on = false, dated_at = null
         where workspace_id = $1 and (is_on or dated_at is not null) and mailbox_id in (
             select id from mailboxes where workspace_id = $1 and owner_id = $2 and closed_at is null)",
        workspace,
        from.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(sqlx::query_scalar!(
        "update mailboxes
         set owner_id = coalesce($3, owner_id), closed_at = case when $3::bigint is null then $4::timestamptz end
         where workspace_id = $1 and owner_id = $2 and closed_at is null returning name",
        workspace,
        from.0,
        to.map(|to| to.0),
        now
    )
    .fetch_all(&mut **tx)
    .await?)
}
