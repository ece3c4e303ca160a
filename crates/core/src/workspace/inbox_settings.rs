//! How an inbox is run: its name, further addresses, and whether whoever answers has the conversation from then on.
//! Owners and admins change the inboxes of the team and their own; of anybody else's private inbox they see only that
//! there is one.

pub mod auto_reply;
pub mod hours;
pub mod keep_days;
pub mod period;
pub mod senders;

use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::domains::{self, AddressClaim};
use crate::workspace::mailboxes;
use crate::workspace::people::{Person, an_address, another_mailed_name, sign_in_addresses};
use rookery_base::app::App;
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::MailboxId;
use rookery_base::store::addresses::{domain_spellings, key};
use rookery_base::store::db::Tx;

const MOST_ALIASES: i64 = 20;

/// An inbox as the settings show it.
#[derive(Debug)]
pub struct Inbox {
    pub id: MailboxId,
    pub address: String,
    pub name: String,
    /// Whose it is, when it is private.
    pub owner: Option<String>,
    pub assigns_on_reply: bool,
    pub aliases: Vec<String>,
}

/// The live inboxes that somebody may change, and the owners of the private ones that are not theirs.
pub async fn list(conn: &mut PgConnection, person: &Person) -> Result<(Vec<Inbox>, Vec<String>)> {
    let inboxes = sqlx::query_as!(
        Inbox,
        r#"select m.id as "id: MailboxId", address, m.name, p.name as "owner?", assigns_on_reply,
               array(select a.address from mailbox_aliases a
                     where a.workspace_id = $1 and a.mailbox_id = m.id order by 1) as "aliases!"
           from mailboxes m left join people p on p.workspace_id = $1 and p.id = m.owner_id
           where m.workspace_id = $1 and audience = any($2) and kind <> 'sandbox' order by m.name, m.id"#,
        person.workspace.0,
        &person.audiences()
    )
    .fetch_all(&mut *conn)
    .await?;
    let others = sqlx::query_scalar!(
        "select p.name from mailboxes m join people p on p.workspace_id = $1 and p.id = m.owner_id
         where m.workspace_id = $1 and kind = 'private' and owner_id <> $2 and m.closed_at is null order by 1",
        person.workspace.0,
        person.id.0
    )
    .fetch_all(conn)
    .await?;
    Ok((inboxes, others))
}

pub async fn find(conn: &mut PgConnection, person: &Person, id: MailboxId) -> Result<Inbox> {
    let (inboxes, _) = list(conn, person).await?;
    inboxes.into_iter().find(|inbox| inbox.id == id).ok_or(NO_MAILBOX)
}

/// Changes the name and whether answering assigns.
pub async fn change(
    tx: &mut Tx<'_>,
    person: &Person,
    id: MailboxId,
    name: &str,
    assigns_on_reply: bool,
) -> Result<()> {
    let before = find(tx, person, id).await?;
    let name = another_mailed_name("name", name, 100, &before.name)?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update mailboxes set name = $3, assigns_on_reply = $4 where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        name,
        assigns_on_reply
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({
        "name": [before.name, name],
        "assignsOnReply": [before.assigns_on_reply, assigns_on_reply],
    });
    recorded(tx, &person.by(), id, &name, data).await
}

/// Mail to this address comes to the inbox too.
pub async fn add_alias(app: &App, person: &Person, id: MailboxId, address: &str) -> Result<()> {
    let address = an_address("alias", address)?;
    // The directory has a connection of its own, so nothing is held while it is asked.
    may_be_added(&mut app.begin(person.workspace).await?, person, id, &address).await?;
    let claimed = domains::claim(app, person.workspace, &person.by(), "alias", &address).await?;
    let mut tx = app.begin(person.workspace).await?;
    let inbox = may_be_added(&mut tx, person, id, &address).await?;
    let now = tx.now();
    let added = sqlx::query!(
        "insert into mailbox_aliases (workspace_id, address, mailbox_id, created_at, unproven_at)
         select $1, $2, $3, $4, $5
         where not exists (select from mailboxes where workspace_id = $1 and address = $2)
         on conflict do nothing",
        person.workspace.0,
        address,
        id.0,
        now,
        (claimed == AddressClaim::Unproven).then_some(now)
    )
    .execute(&mut *tx)
    .await?;
    if added.rows_affected() == 0 {
        return Err(taken());
    }
    recorded(&mut tx, &person.by(), id, &inbox.name, json!({ "aliasAdded": address })).await?;
    tx.commit().await?;
    if claimed == AddressClaim::Works {
        // Whoever removed the same address meanwhile may have freed it after it was claimed.
        app.directory.reserve_address(person.workspace, &address).await?;
    }
    Ok(())
}

async fn may_be_added(tx: &mut Tx<'_>, person: &Person, id: MailboxId, address: &str) -> Result<Inbox> {
    let inbox = find(tx, person, id).await?;
    if inbox.aliases.len() as i64 >= MOST_ALIASES {
        return Err(Error::problem(
            "alias",
            format!("an inbox has at most {MOST_ALIASES} further addresses"),
        ));
    }
    if sign_in_addresses::is_of_another(tx, &person.by(), address).await? {
        return Err(Error::problem("alias", sign_in_addresses::OF_A_PERSON));
    }
    if mailboxes::is_there(tx, address).await? { Err(taken()) } else { Ok(inbox) }
}

/// The address is free again: an inbox, or another workspace that gets its domain, can have it. What is freed is freed when the row
/// is gone: a crash in between leaves an address that is taken for nobody, and adding and removing it once more frees it.
pub async fn remove_alias(app: &App, person: &Person, id: MailboxId, address: &str) -> Result<()> {
    let inbox = find(&mut *app.connection_of(person.workspace).await?, person, id).await?;
    if !inbox.aliases.iter().any(|alias| alias == address) {
        return Ok(());
    }
    let mut tx = app.begin(person.workspace).await?;
    let removed = sqlx::query!(
        "delete from mailbox_aliases where workspace_id = $1 and mailbox_id = $2 and address = $3",
        person.workspace.0,
        id.0,
        address
    )
    .execute(&mut *tx)
    .await?;
    if removed.rows_affected() == 0 {
        return Ok(());
    }
    recorded(&mut tx, &person.by(), id, &inbox.name, json!({ "aliasRemoved": address })).await?;
    let left = still_used(&mut tx, address).await?;
    tx.commit().await?;
    app.directory.free_address(person.workspace, address, &left).await?;
    if mailboxes::is_any(&mut *app.connection().await?, person.workspace, &[address.to_owned()]).await? {
        // Somebody added it meanwhile.
        app.directory.reserve_address(person.workspace, address).await?;
    }
    Ok(())
}

/// Addresses of the workspace that need one of the rows that this address has in the directory.
async fn still_used(tx: &mut Tx<'_>, address: &str) -> Result<Vec<String>> {
    let (workspace, known_by) = (tx.workspace().0, key(address));
    let (local, domain) = known_by.rsplit_once('@').unwrap_or_default();
    let rows = sqlx::query_scalar!(
        r#"select address as "address!" from (
               select address from mailboxes where workspace_id = $1 union all
               select address from mailbox_aliases where workspace_id = $1) those
           where split_part(split_part(address, '@', 1), '+', 1) = $2 and split_part(address, '@', 2) = any($3)"#,
        workspace,
        local,
        &domain_spellings(domain)
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.iter().flat_map(|address| [address.clone(), key(address)]).collect())
}

pub async fn assigns_on_reply(tx: &mut Tx<'_>, id: MailboxId) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        "select assigns_on_reply from mailboxes where workspace_id = $1 and id = $2",
        workspace,
        id.0
    )
    .fetch_one(&mut **tx)
    .await?)
}

fn taken() -> Error {
    Error::problem("alias", "is the address of an inbox already")
}

async fn recorded(tx: &mut Tx<'_>, by: &By, id: MailboxId, name: &str, data: Value) -> Result<()> {
    audit::record(tx, by, Did::InboxChanged, Subject { id: &id, name }, data).await
}
