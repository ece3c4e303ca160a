//! Whose account at the provider is whose here. The first time it is found by an address that the provider has confirmed;
//! then the account is bound, and addresses do not matter any more: whoever gets one later gets nothing by it.
//! Only people of the team and those who are invited come in.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::notices::{self, Notice};
use crate::workspace::people::{self, an_address, invitations};
use crate::workspace::sessions::{self, SignedInWith};
use crate::workspace::single_sign_on::host_of;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, SessionId, WorkspaceId};
use rookery_base::links::without_links;
use rookery_base::secrets::id_tokens::Identity;
use rookery_base::store::db::Tx;
use rookery_reading::text;

const LONGEST_NAME: usize = 100;

rookery_base::text_enum! {
    /// Why somebody whom the provider knows does not come in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NotHere {
        /// The provider has not confirmed an address.
        Unconfirmed = "address not confirmed",
        /// Nobody here has that address, and nobody was invited by it.
        Stranger = "not on the team",
        /// Whoever has that address comes in by another account.
        OtherAccount = "bound to another account",
    }
}

/// Who it is here.
pub async fn recognize(
    tx: &mut Tx<'_>,
    issuer: &str,
    identity: &Identity,
) -> Result<std::result::Result<PersonId, NotHere>> {
    let workspace = tx.workspace().0;
    let bound = sqlx::query_scalar!(
        r#"select person_id as "person: PersonId" from sso_accounts
           join people on people.workspace_id = $1 and people.id = person_id and removed_at is null
           where sso_accounts.workspace_id = $1 and issuer = $2 and subject = $3"#,
        workspace,
        issuer,
        identity.subject
    )
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(person) = bound {
        return held(tx, person).await;
    }
    let email = identity.email.as_deref().filter(|_| identity.email_verified);
    let Some(email) = email.and_then(|email| an_address("email", email).ok()) else {
        return Ok(Err(NotHere::Unconfirmed));
    };
    let known = sqlx::query_scalar!(
        r#"select id as "id: PersonId" from people where workspace_id = $1 and email = $2 and removed_at is null"#,
        workspace,
        email
    )
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(person) = known {
        return match held(tx, person).await? {
            Ok(person) => {
                let bound = bind(tx, issuer, &identity.subject, person).await?;
                if bound.is_ok() {
                    tell(tx, issuer, person).await?;
                }
                Ok(bound)
            }
            Err(why) => Ok(Err(why)),
        };
    }
    match invitations::accept_address(tx, &email, &name_of(identity, &email)).await? {
        Some(person) => bind(tx, issuer, &identity.subject, person).await,
        None => Ok(Err(NotHere::Stranger)),
    }
}

/// The person before anything of theirs, as whoever removes them does.
async fn held(tx: &mut Tx<'_>, person: PersonId) -> Result<std::result::Result<PersonId, NotHere>> {
    match people::hold(tx, person).await {
        Ok(_) => Ok(Ok(person)),
        Err(Error::Missing(_)) => Ok(Err(NotHere::Stranger)),
        Err(error) => Err(error),
    }
}

/// Somebody who was on the team already has a new way in: whoever runs the provider can say that it is they.
async fn tell(tx: &mut Tx<'_>, issuer: &str, person: PersonId) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let host = host_of(issuer);
    let body = format!(
        "Somebody, hopefully you, has signed in to your account by single sign-on with {host}. From now on that account of \
         {host} opens yours here. If it was not you, tell an owner of your workspace at once: they can forget the account \
         under Settings, Single sign-on, which also signs it out.\n"
    );
    let notice =
        Notice { to: person, kind: "sso", subject: "You now sign in by single sign-on", body: &body };
    notices::write(tx, workspace, now, &random, notice).await
}

async fn bind(
    tx: &mut Tx<'_>,
    issuer: &str,
    subject: &str,
    person: PersonId,
) -> Result<std::result::Result<PersonId, NotHere>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let made = sqlx::query!(
        "insert into sso_accounts (workspace_id, issuer, subject, person_id, created_at) values ($1, $2, $3, $4, $5)
         on conflict do nothing",
        workspace,
        issuer,
        subject,
        person.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    if made.rows_affected() == 0 {
        return Ok(Err(NotHere::OtherAccount));
    }
    let name = people::name_of(tx, person).await?;
    let by = By::Person { id: person, name: name.clone() };
    let data = json!({ "issuer": issuer, "subject": subject });
    audit::record(tx, &by, Did::SsoAccountBound, Subject { id: &person, name: &name }, data).await?;
    Ok(Ok(person))
}

/// As the provider calls them, else what stands before the @.
fn name_of(identity: &Identity, email: &str) -> String {
    let told = text::line(identity.name.as_deref().unwrap_or_default());
    let name = match told.as_str() {
        "" => email.split('@').next().unwrap_or(email),
        told => told,
    };
    without_links(name).chars().take(LONGEST_NAME).collect()
}

/// An account in the list of those who run the workspace.
#[derive(Debug)]
pub struct Bound {
    pub person: PersonId,
    pub name: String,
    pub email: String,
    pub created_at: DateTime<Utc>,
}

pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Bound>> {
    Ok(sqlx::query_as!(
        Bound,
        r#"select person_id as "person: PersonId", name, email, sso_accounts.created_at from sso_accounts
           join people on people.workspace_id = $1 and people.id = person_id
           where sso_accounts.workspace_id = $1 order by lower(name), person_id limit 1000"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

/// Forgets an account, so that the next one with the person's address is theirs: they got a new one at the provider, or it
/// was never theirs. What it opened is closed.
pub async fn unbind(tx: &mut Tx<'_>, by: &By, person: PersonId) -> Result<()> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "delete from sso_accounts where workspace_id = $1 and person_id = $2",
        workspace,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    if gone.rows_affected() == 0 {
        return Ok(());
    }
    sessions::end_those_with(tx, person, SignedInWith::Sso, SessionId(0)).await?;
    let name = people::name_of(tx, person).await?;
    audit::record(tx, by, Did::SsoAccountForgotten, Subject { id: &person, name: &name }, json!({})).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_new_is_called_as_the_provider_calls_them() {
        let called = |name: Option<&str>| {
            let identity = Identity {
                subject: "1".into(),
                email: None,
                email_verified: true,
                name: name.map(str::to_owned),
                proved_at: None,
            };
            name_of(&identity, "ada@acme.example")
        };
        assert_eq!(called(Some(" Ada\r\nOkonkwo ")), "Ada Okonkwo");
        assert_eq!(
            [called(None), called(Some(" ")), called(Some(&"x".repeat(300)))].map(|name| name.len()),
            [3, 3, 100]
        );
    }
}
