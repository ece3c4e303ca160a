//! Invitations to the team: for one address, for seven days, used once, by a POST. Like a sign-in link, one is made at the
//! moment its mail leaves, so its text stands nowhere but in that mail; sending it again ends the one before.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::notices::{self, ClaimedNotice, NoticeWords};
use crate::workspace::people::{Person, Role, a_mailed_name, an_address, roles};
use crate::workspace::{domains, mailboxes};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{InvitationId, PersonId, WorkspaceId};
use rookery_base::limits::stranger_mail::{self, StrangerMail, TooMuch, Whose};
use rookery_base::links::without_links;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

/// The kind of the notices that carry one.
pub const NOTICE: &str = "invitation";
/// Where the link stands in such a notice until it is sent.
const PLACE: &str = "{link}";
const LASTS: TimeDelta = TimeDelta::days(7);
/// How long one that has ended is shown, so that it can be sent again.
const KEPT: TimeDelta = TimeDelta::days(30);
/// More would be mail to strangers.
const MOST: i64 = 200;
const LONGEST_SUBJECT: usize = 200;

const OF_AN_INBOX: &str = "is the address of an inbox. Anyone who reads it could join in their place. Invite them at an address of their own";

const NONE: Error = Error::Missing("No such invitation.");

/// One that waits, or has ended in vain.
#[derive(Debug)]
pub struct WaitingInvitation {
    pub id: InvitationId,
    pub email: String,
    pub role: Role,
    pub invited_by: String,
    pub created_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
}

/// What its link's page tells.
#[derive(Debug)]
pub struct Invited {
    pub email: String,
    pub role: Role,
    pub workspace_name: String,
    pub invited_by: String,
    /// They join by single sign-on, and not by this link.
    pub by_sso: bool,
}

/// Invites addresses, all or none. One that was invited already gets another mail, for the role that is wanted now.
/// Every row is written before the audit log is: two who invite the same people wait for each other in one order only.
/// Each mail counts, whatever becomes of the invitation: who withdraws some cannot write to as many others.
pub async fn invite(tx: &mut Tx<'_>, by: &Person, emails: &[String], role: Role) -> Result<()> {
    roles::may_make(by.role, role)?;
    let mut invited = Vec::new();
    for email in emails {
        let email = an_address("email", email)?;
        invited.push((insert(tx, by, &email, role).await?, email));
    }
    for (_, address) in &invited {
        let counted = stranger_mail::count(tx, StrangerMail::Invitation { address }).await?;
        counted.map_err(|too_much| enough(too_much, tx.now()))?;
    }
    for (id, email) in &invited {
        let data = json!({ "role": role.as_str() });
        audit::record(tx, &by.by(), Did::PersonInvited, Subject { id, name: email }, data).await?;
    }
    Ok(())
}

fn enough(too_much: TooMuch, now: DateTime<Utc>) -> Error {
    let sentence = match too_much.whose {
        Whose::Address => {
            "That address has had enough invitations for today. Ask its owner to check their email, including the spam folder."
        }
        _ => {
            "That is more invitations than your team can send in a day. Nobody of this list was invited. Invite the rest \
             tomorrow."
        }
    };
    too_much.error(sentence, now)
}

async fn insert(tx: &mut Tx<'_>, by: &Person, email: &str, role: Role) -> Result<InvitationId> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let known = sqlx::query!(
        r#"select exists (select from people where workspace_id = $1 and email = $2 and removed_at is null) as "person!",
                  (select count(*) from invitations where workspace_id = $1 and email <> $2) as "waiting!",
                  (select role from invitations where workspace_id = $1 and email = $2) as "role: Role""#,
        workspace,
        email
    )
    .fetch_one(&mut **tx)
    .await?;
    if known.person {
        return Err(Error::problem("email", format!("{email} is on the team already")));
    }
    if is_read_here(tx, by.workspace, email).await? {
        return Err(Error::problem("email", format!("{email} {OF_AN_INBOX}")));
    }
    // It would end the one that waits.
    if let Some(waiting) = known.role {
        roles::may_make(by.role, waiting)?;
    }
    if known.waiting >= MOST {
        return Err(Error::problem("email", format!("{MOST} invitations wait already. Withdraw some first")));
    }
    let id: InvitationId = tx.mint();
    let id = sqlx::query_scalar!(
        r#"insert into invitations (workspace_id, id, email, role, invited_by, created_at, ends_at)
           values ($1, $2, $3, $4, $5, $6, $7)
           on conflict (workspace_id, email) do update
               set role = excluded.role, invited_by = excluded.invited_by, created_at = excluded.created_at,
                   ends_at = excluded.ends_at, token_hash = null
           returning id as "id: InvitationId""#,
        workspace,
        id.0,
        email,
        role.as_str(),
        by.id.0,
        now,
        now + LASTS
    )
    .fetch_one(&mut **tx)
    .await?;
    write(tx, by, email, role).await?;
    Ok(id)
}

async fn write(tx: &mut Tx<'_>, by: &Person, email: &str, role: Role) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let name = sqlx::query_scalar!("select name from workspaces where id = $1", workspace.0)
        .fetch_one(&mut **tx)
        .await?;
    // Names that were there before they could hold no link.
    let (inviter, name) = (without_links(&by.name), without_links(&name));
    let subject: String = format!("{inviter} invites you to {name}").chars().take(LONGEST_SUBJECT).collect();
    let what = match role {
        Role::Owner => "an owner",
        Role::Admin => "an admin",
        Role::Member => "a member",
    };
    let body = format!(
        "{inviter} invites you to join {name} on Rookery as {what}. This link works once, for seven days:\n\n{PLACE}\n\n\
         If you did not expect this, there is nothing to do: nobody joins without this mail.\n"
    );
    let words = NoticeWords { kind: NOTICE, subject: &subject, body: &body };
    notices::write_to(tx, workspace, now, &random, &[email.to_owned()], words).await
}

/// The words of a notice that carries an invitation, with a link made for this try; nothing when it was used, withdrawn or
/// has ended meanwhile.
pub async fn words(app: &App, notice: &ClaimedNotice) -> Result<Option<String>> {
    let mut tx = app.begin(notice.workspace).await?;
    let (token, text) = Token::mint(notice.workspace, &app.random);
    let now = tx.now();
    let made = sqlx::query!(
        "update invitations set token_hash = $3 where workspace_id = $1 and email = $2 and ends_at > $4",
        notice.workspace.0,
        notice.recipient,
        token.hash.as_slice(),
        now
    )
    .execute(&mut *tx)
    .await?;
    if made.rows_affected() == 0 {
        return Ok(None);
    }
    let link = tx.frame().public_url.join(&format!("join/{text}")).map_err(Error::internal)?;
    tx.commit().await?;
    Ok(Some(notice.body.replace(PLACE, link.as_str())))
}

/// Those that wait or have ended, the newest first.
pub async fn waiting(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<WaitingInvitation>> {
    Ok(sqlx::query_as!(
        WaitingInvitation,
        r#"select invitations.id as "id: InvitationId", invitations.email, invitations.role as "role: Role",
               people.name as invited_by, invitations.created_at, ends_at
           from invitations
           join people on people.workspace_id = invitations.workspace_id and people.id = invited_by
           where invitations.workspace_id = $1 order by invitations.created_at desc, invitations.id desc limit $2"#,
        workspace.0,
        MOST
    )
    .fetch_all(conn)
    .await?)
}

/// The link in the mail opens nothing any more.
pub async fn withdraw(tx: &mut Tx<'_>, by: &Person, id: InvitationId) -> Result<()> {
    let found = find_by_id(tx, id).await?;
    roles::may_make(by.role, found.role)?;
    delete(tx, id).await?;
    let subject = Subject { id: &id, name: &found.email };
    audit::record(tx, &by.by(), Did::InvitationWithdrawn, subject, json!({})).await
}

/// Withdraws what somebody who leaves has sent. Gives the addresses.
pub async fn withdraw_all_of(tx: &mut Tx<'_>, person: PersonId) -> Result<Vec<String>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        "delete from invitations where workspace_id = $1 and invited_by = $2 returning email",
        workspace,
        person.0
    )
    .fetch_all(&mut **tx)
    .await?)
}

pub struct FoundInvitation {
    pub email: String,
    pub role: Role,
}

/// One that waits, locked.
pub async fn find_by_id(tx: &mut Tx<'_>, id: InvitationId) -> Result<FoundInvitation> {
    let workspace = tx.workspace().0;
    sqlx::query_as!(
        FoundInvitation,
        r#"select email, role as "role: Role" from invitations where workspace_id = $1 and id = $2 for update"#,
        workspace,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NONE)
}

async fn delete(tx: &mut Tx<'_>, id: InvitationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("delete from invitations where workspace_id = $1 and id = $2", workspace, id.0)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Whom a link invites, while whoever invited them could still do so. It stays good: mail programs open links before people
/// do.
pub async fn find(conn: &mut PgConnection, token: &Token, now: DateTime<Utc>) -> Result<Option<Invited>> {
    let found = sqlx::query_as!(
        Invited,
        r#"select invitations.email, invitations.role as "role: Role", workspaces.name as workspace_name,
               people.name as invited_by,
               exists (select from sso_connections where workspace_id = $1 and required) as "by_sso!"
           from invitations
           join people on people.workspace_id = $1 and people.id = invited_by and people.removed_at is null
               and (people.role = 'owner' or (people.role = 'admin' and invitations.role <> 'owner'))
           join workspaces on workspaces.id = $1
           where invitations.workspace_id = $1 and token_hash = $2 and ends_at > $3
             and not exists (select from people there where there.workspace_id = $1 and there.email = invitations.email
                               and there.removed_at is null)"#,
        token.workspace.0,
        token.hash.as_slice(),
        now
    )
    .fetch_optional(&mut *conn)
    .await?;
    match found {
        Some(invited) if is_read_here(conn, token.workspace, &invited.email).await? => Ok(None),
        found => Ok(found),
    }
}

/// Uses an invitation up: whoever has its link is on the team. Nobody when it is not good, or the workspace takes single
/// sign-on only.
pub async fn accept(tx: &mut Tx<'_>, token: &Token, name: &str) -> Result<Option<PersonId>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let email = sqlx::query_scalar!(
        "select email from invitations where workspace_id = $1 and token_hash = $2 and ends_at > $3
           and not exists (select from sso_connections where workspace_id = $1 and required)
         for update",
        workspace,
        token.hash.as_slice(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    match email {
        Some(email) => accept_address(tx, &email, name).await,
        None => Ok(None),
    }
}

/// The same for somebody who has shown that an address is theirs.
pub async fn accept_address(tx: &mut Tx<'_>, email: &str, name: &str) -> Result<Option<PersonId>> {
    let name = a_mailed_name("name", name, 100)?;
    let (workspace, now) = (tx.workspace(), tx.now());
    // An inbox that was made at the moment of the invitation.
    if is_read_here(tx, workspace, email).await? {
        return Ok(None);
    }
    let workspace = workspace.0;
    let taken = sqlx::query!(
        r#"delete from invitations using people
           where invitations.workspace_id = $1 and invitations.email = $2 and ends_at > $3 and people.workspace_id = $1
             and people.id = invited_by and people.removed_at is null
             and (people.role = 'owner' or (people.role = 'admin' and invitations.role <> 'owner'))
           returning invitations.email, invitations.role as "role: Role", invited_by as "invited_by: PersonId""#,
        workspace,
        email,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(taken) = taken else { return Ok(None) };
    let id: PersonId = tx.mint();
    let added = sqlx::query!(
        "insert into people (workspace_id, id, email, name, role, created_at) values ($1, $2, $3, $4, $5, $6)
         on conflict (workspace_id, email) where removed_at is null do nothing",
        workspace,
        id.0,
        taken.email,
        name,
        taken.role.as_str(),
        now
    )
    .execute(&mut **tx)
    .await?;
    if added.rows_affected() == 0 {
        return Ok(None);
    }
    let by = By::Person { id, name: name.clone() };
    let data = json!({ "email": taken.email, "role": taken.role.as_str(), "invitedBy": taken.invited_by });
    audit::record(tx, &by, Did::PersonJoined, Subject { id: &id, name: &name }, data).await?;
    Ok(Some(id))
}

/// Whether mail to an address comes to a live inbox of the workspace.
async fn is_read_here(conn: &mut PgConnection, workspace: WorkspaceId, address: &str) -> Result<bool> {
    Ok(mailboxes::at(conn, workspace, &domains::same_as(address)).await?.is_some())
}

/// Deletes invitations that ended long ago.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "invitations", "ends_at", now - KEPT, 1000)
}
