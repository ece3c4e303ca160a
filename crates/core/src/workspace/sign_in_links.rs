//! Links that sign somebody in: used once, by a POST, within half an hour, by whoever reads the mail of that very address.
//! A link is made at the moment its mail leaves, so its text stands nowhere but in that mail.
//!
//! An address may be a person of several workspaces; each gets a mail of its own.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::workspace::notices::{self, ClaimedNotice, Notice};
use crate::workspace::{people, single_sign_on};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::links::without_links;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

/// The kind of the notices that carry one.
pub const NOTICE: &str = "sign_in";
/// The kind of those that say where to begin instead.
const SSO_NOTICE: &str = "sign_in_by_sso";
/// Where the link stands in such a notice until it is sent.
const PLACE: &str = "{link}";
pub const LASTS: TimeDelta = TimeDelta::minutes(30);
/// How many people of one address get a mail.
const MOST_PEOPLE: i64 = 10;

/// Who would be signed in.
pub struct LinkHolder {
    pub name: String,
    pub workspace_name: String,
}

/// Makes a link for somebody on the team and gives its address.
pub async fn make(tx: &mut Tx<'_>, person: PersonId) -> Result<String> {
    let (token, text) = Token::mint(tx.workspace(), &tx.frame().random);
    let (workspace, ends_at) = (tx.workspace().0, tx.now() + LASTS);
    let made = sqlx::query!(
        "insert into sign_in_links (workspace_id, token_hash, person_id, email, ends_at)
         select $1, $2, id, email, $4 from people where workspace_id = $1 and id = $3 and removed_at is null",
        workspace,
        token.hash.as_slice(),
        person.0,
        ends_at
    )
    .execute(&mut **tx)
    .await?;
    match made.rows_affected() {
        0 => Err(Error::Missing("No such person in this workspace.")),
        _ => {
            tx.frame().public_url.join(&format!("sign-in/{text}")).map(String::from).map_err(Error::internal)
        }
    }
}

/// Has a link sent to everybody with this address. Where it leads on to is not in it: whoever asks may not be who gets the mail.
pub async fn send(app: &App, email: &str) -> Result<()> {
    let people = sqlx::query!(
        r#"select people.workspace_id as "workspace: WorkspaceId", people.id as "id: PersonId", workspaces.name,
               required as "sso_required?"
           from people join workspaces on workspaces.id = people.workspace_id
           left join sso_connections on sso_connections.workspace_id = people.workspace_id
           where email = $1 and removed_at is null and fenced_at is null
           order by people.workspace_id limit $2"#,
        email,
        MOST_PEOPLE
    )
    .fetch_all(&mut *app.connection().await?)
    .await?;
    for person in people {
        let name = without_links(&person.name);
        let mut tx = app.begin(person.workspace).await?;
        let (workspace, now) = (tx.workspace(), tx.now());
        let subject = format!("Sign in to {name}");
        let door = single_sign_on::door_of(&app.config.public_url, workspace)?;
        let (kind, body) = match person.sso_required {
            Some(true) => (
                SSO_NOTICE,
                format!(
                    "Somebody, hopefully you, asked for a link that signs in to {name}. It takes single sign-on only. Begin \
                     here:\n\n{door}\n\nIf it was not you, there is nothing to do.\n"
                ),
            ),
            other => {
                let or = other.map(|_| format!("Or use single sign-on: {door}\n\n")).unwrap_or_default();
                let body = format!(
                    "Somebody, hopefully you, asked for a link that signs in to {name}. It works once, for 30 minutes:\n\n{PLACE}\n\n{or}\
                     If it was not you, there is nothing to do: without this mail nobody gets in.\n"
                );
                (NOTICE, body)
            }
        };
        let notice = Notice { to: person.id, kind, subject: &subject, body: &body };
        notices::write(&mut tx, workspace, now, &app.random, notice).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// The words of a notice that carries a link, with a link made for this try; nothing when it comes too late or the
/// address is nobody's any more.
pub async fn words(app: &App, notice: &ClaimedNotice) -> Result<Option<String>> {
    let mut tx = app.begin(notice.workspace).await?;
    if single_sign_on::held(&mut tx).await?.is_some_and(|connection| connection.required) {
        return Ok(None);
    }
    let person = sqlx::query_scalar!(
        r#"select id as "id: PersonId" from people where workspace_id = $1 and email = $2 and removed_at is null"#,
        notice.workspace.0,
        notice.recipient
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(person) = person.filter(|_| notice.created_at + LASTS > tx.now()) else { return Ok(None) };
    let link = make(&mut tx, person).await?;
    tx.commit().await?;
    Ok(Some(notice.body.replace(PLACE, &link)))
}

/// Whom a link would sign in. It stays good: mail programs open links before people do.
pub async fn find(conn: &mut PgConnection, token: &Token, now: DateTime<Utc>) -> Result<Option<LinkHolder>> {
    Ok(sqlx::query_as!(
        LinkHolder,
        "select people.name, workspaces.name as workspace_name from sign_in_links links
         join people on people.workspace_id = $1 and people.id = person_id and people.email = links.email
             and removed_at is null
         join workspaces on workspaces.id = $1
         where links.workspace_id = $1 and token_hash = $2 and ends_at > $3",
        token.workspace.0,
        token.hash.as_slice(),
        now
    )
    .fetch_optional(conn)
    .await?)
}

/// Uses a link up, and with it every other link of that person. Nobody when it is not good.
pub async fn take(tx: &mut Tx<'_>, token: &Token) -> Result<Option<PersonId>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // Who turns to "only by SSO" has deleted the link by then, or waits until whoever uses it is in and can be signed out.
    single_sign_on::held(tx).await?;
    let whose = sqlx::query_scalar!(
        r#"select person_id as "id: PersonId" from sign_in_links where workspace_id = $1 and token_hash = $2"#,
        workspace,
        token.hash.as_slice()
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(whose) = whose else { return Ok(None) };
    // The person before what is theirs, as whoever removes them does.
    match people::hold(tx, whose).await {
        Ok(_) => {}
        Err(Error::Missing(_)) => return Ok(None),
        Err(error) => return Err(error),
    }
    let person = sqlx::query_scalar!(
        r#"delete from sign_in_links links using people
           where links.workspace_id = $1 and token_hash = $2 and ends_at > $3 and people.workspace_id = $1
             and people.id = person_id and people.email = links.email and removed_at is null
           returning person_id as "id: PersonId""#,
        workspace,
        token.hash.as_slice(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(person) = person {
        sqlx::query!(
            "delete from sign_in_links where workspace_id = $1 and person_id = $2",
            workspace,
            person.0
        )
        .execute(&mut **tx)
        .await?;
    }
    Ok(person)
}

/// Deletes links that have ended.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "sign_in_links", "ends_at", now, 1000)
}
