//! The people of a workspace and their roles.
//! Owners and admins make keys and inboxes; members work on mail.

pub mod away;
pub mod invitations;
pub mod list;
pub mod roles;
pub mod sign_in_addresses;

use std::ops::Deref;
use std::str::FromStr;

use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::access::{Actor, By, MemberId, Scope};
use crate::workspace::audit::{self, Did, Subject};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::links::{NO_LINKS, has_link};
use rookery_base::store::db::Tx;
use rookery_reading::text;

const NO_PERSON: Error = Error::Missing("No such person in this workspace.");

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type, clap::ValueEnum)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Role {
        Owner = "owner",
        Admin = "admin",
        Member = "member",
    }
}

impl Role {
    /// Owners and admins make keys, inboxes and webhooks; members work on mail.
    pub fn administers(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }

    /// As people read it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Owner => "Owner",
            Self::Admin => "Admin",
            Self::Member => "Member",
        }
    }
}

impl FromStr for Role {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::named(text).ok_or_else(|| Error::problem("role", "must be owner, admin or member"))
    }
}

pub async fn add(tx: &mut Tx<'_>, by: &By, email: &str, name: &str, role: Role) -> Result<PersonId> {
    let email = an_address("email", email)?;
    let name = a_mailed_name("name", name, 100)?;
    let id: PersonId = tx.mint();
    let (workspace, now) = (tx.workspace().0, tx.now());
    let added = sqlx::query!(
        "insert into people (workspace_id, id, email, name, role, created_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (workspace_id, email) where removed_at is null do nothing",
        workspace,
        id.0,
        email,
        name,
        role.as_str(),
        now
    )
    .execute(&mut **tx)
    .await?;
    if added.rows_affected() == 0 {
        return Err(Error::problem("email", "is on the team already"));
    }
    let data = json!({ "email": email, "role": role.as_str() });
    audit::record(tx, by, Did::PersonAdded, Subject { id: &id, name: &name }, data).await?;
    Ok(id)
}

/// A person at work, who is on the team now. Verbs that only people may do (approving, releasing) take one; for all
/// others a person is an [`Actor`], who sees the team's inboxes and their own.
#[derive(Clone, Debug)]
pub struct Person {
    actor: Actor,
    pub id: PersonId,
    pub role: Role,
}

impl Deref for Person {
    type Target = Actor;
    fn deref(&self) -> &Actor {
        &self.actor
    }
}

/// Someone who is on the team now.
pub async fn teammate(conn: &mut PgConnection, workspace: WorkspaceId, id: PersonId) -> Result<Person> {
    let row = sqlx::query!(
        r#"select name, role as "role: Role" from people
           where workspace_id = $1 and id = $2 and removed_at is null"#,
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_PERSON)?;
    Ok(at_work(workspace, id, row.name, row.role))
}

/// Of a row that was read just now, of someone who is on the team.
pub(super) fn at_work(workspace: WorkspaceId, id: PersonId, name: String, role: Role) -> Person {
    let actor = Actor {
        workspace,
        member: MemberId::Person(id),
        name,
        scopes: Scope::OF_PEOPLE.to_vec(),
        livemode: true,
        private_of: id,
    };
    Person { actor, id, role }
}

/// The person who made a test key, in the sandbox: where developers try what people do, and nobody of the team looks.
pub async fn simulated(conn: &mut PgConnection, key: &Actor) -> Result<Person> {
    let maker = teammate(conn, key.workspace, key.private_of).await?;
    Ok(Person { actor: maker.actor.in_sandbox(), ..maker })
}

/// The name of someone who is or was on the team.
pub async fn name_of(tx: &mut Tx<'_>, person: PersonId) -> Result<String> {
    let workspace = tx.workspace().0;
    sqlx::query_scalar!("select name from people where workspace_id = $1 and id = $2", workspace, person.0)
        .fetch_optional(&mut **tx)
        .await?
        .ok_or(NO_PERSON)
}

/// The address of someone who is or was on the team.
pub async fn email_of(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<String> {
    sqlx::query_scalar!("select email from people where workspace_id = $1 and id = $2", workspace.0, person.0)
        .fetch_optional(conn)
        .await?
        .ok_or(NO_PERSON)
}

/// An owner who could be the first to sign in, while nobody ever has.
pub async fn first_to_sign_in(conn: &mut PgConnection) -> Result<Option<(WorkspaceId, PersonId)>> {
    let owner = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: PersonId" from people
           where role = 'owner' and removed_at is null
             and not exists (select from people where signed_in_at is not null)
           order by workspace_id, id limit 1"#
    )
    .fetch_optional(conn)
    .await?;
    Ok(owner.map(|owner| (owner.workspace, owner.id)))
}

/// The role of someone who is on the team now.
pub async fn role_of(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<Role> {
    sqlx::query_scalar!(
        r#"select role as "role: Role" from people
           where workspace_id = $1 and id = $2 and removed_at is null"#,
        workspace.0,
        person.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_PERSON)
}

/// The role of someone who is on the team now and stays so until this transaction ends: removing somebody locks the same row.
pub async fn hold(tx: &mut Tx<'_>, person: PersonId) -> Result<Role> {
    let workspace = tx.workspace().0;
    sqlx::query_scalar!(
        r#"select role as "role: Role" from people
           where workspace_id = $1 and id = $2 and removed_at is null for no key update"#,
        workspace,
        person.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_PERSON)
}

/// Somebody is not on the team any more. What they have to sign in with goes with them.
pub async fn remove(tx: &mut Tx<'_>, person: PersonId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "with links as (delete from sign_in_links where workspace_id = $1 and person_id = $2),
              halves as (delete from half_sign_ins where workspace_id = $1 and person_id = $2),
              factors as (delete from second_factors where workspace_id = $1 and person_id = $2),
              codes as (delete from recovery_codes where workspace_id = $1 and person_id = $2),
              accounts as (delete from sso_accounts where workspace_id = $1 and person_id = $2),
              passkeys as (delete from passkeys where workspace_id = $1 and person_id = $2),
              passwords as (delete from passwords where workspace_id = $1 and person_id = $2)
         update people set removed_at = $3, away_from = null, away_until = null, away_text = ''
         where workspace_id = $1 and id = $2 and removed_at is null",
        workspace,
        person.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A mail address as it is stored: lower case, one `@`, nothing that could break a header.
pub fn an_address(field: &str, text: &str) -> Result<String> {
    let address = text.trim().to_lowercase();
    let sound = address.chars().count() <= 254
        && !address.contains(|letter: char| {
            letter.is_whitespace() || letter.is_control() || "<>,;\"".contains(letter)
        })
        && address.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.contains('@') && domain.split('.').all(|label| !label.is_empty())
        });
    if sound { Ok(address) } else { Err(Error::problem(field, "must be a mail address")) }
}

/// A name that stands in mail to strangers, who did not ask for it: no links, whoever chose it.
pub fn a_mailed_name(field: &str, given: &str, most: usize) -> Result<String> {
    let name = a_name(field, given, most)?;
    if has_link(&name) { Err(Error::problem(field, NO_LINKS)) } else { Ok(name) }
}

/// The same when it has a name already. One from before this was asked stays as it is, and is without links where it is mailed.
pub fn another_mailed_name(field: &str, given: &str, most: usize, before: &str) -> Result<String> {
    let name = a_name(field, given, most)?;
    if name == before { Ok(name) } else { a_mailed_name(field, given, most) }
}

/// A name as it is stored: one line, trimmed, neither empty nor too long.
pub fn a_name(field: &str, given: &str, most: usize) -> Result<String> {
    let name = text::line(given);
    match name.chars().count() {
        0 => Err(Error::problem(field, "is required")),
        length if length > most => Err(Error::problem(field, format!("must be at most {most} characters"))),
        _ => Ok(name),
    }
}
