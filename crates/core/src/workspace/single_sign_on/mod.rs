//! Single sign-on: a workspace's people come in by the provider they already have (OpenID Connect). Owners connect it,
//! because whoever names the provider says who is who. With "only by SSO" nothing else opens the door but a link that an
//! operator makes on the server.

pub mod accounts;
pub mod attempts;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;
use url::Url;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::notices::{self, NoticeWords};
use crate::workspace::people;
use crate::workspace::sessions::Session;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, SessionId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::net::openid::OpenIdTrouble;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;
use rookery_reading::text;

const PURPOSE: &str = "sso client secret";
const PLACE: &str = "sso";
const LONGEST: usize = 500;

/// A provider that is connected.
#[derive(Debug)]
pub struct SsoConnection {
    pub workspace: WorkspaceId,
    pub issuer: String,
    pub client_id: String,
    /// Only by SSO.
    pub required: bool,
    pub changed_at: DateTime<Utc>,
    client_secret: Vec<u8>,
}

impl SsoConnection {
    pub fn secret(&self, keys: &KeyRing) -> Result<String> {
        let secret = sealed::open(keys, PURPOSE, &sealed::place(self.workspace, PLACE), &self.client_secret)?;
        String::from_utf8(secret).map_err(Error::internal)
    }

    /// What people know the provider by.
    pub fn host(&self) -> String {
        host_of(&self.issuer)
    }
}

fn host_of(issuer: &str) -> String {
    let host = Url::parse(issuer).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| issuer.to_owned())
}

/// Where the provider sends the browser back to. A workspace has one of its own, so that one workspace's provider cannot
/// have another's answers sent to it.
pub fn redirect_of(public_url: &Url, workspace: WorkspaceId) -> Result<Url> {
    public_url.join(&format!("sign-in/sso/{workspace}/callback")).map_err(Error::internal)
}

/// Where a workspace's people begin.
pub fn door_of(public_url: &Url, workspace: WorkspaceId) -> Result<Url> {
    public_url.join(&format!("sign-in/sso/{workspace}")).map_err(Error::internal)
}

pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<SsoConnection>> {
    Ok(sqlx::query_as!(
        SsoConnection,
        r#"select workspace_id as "workspace: WorkspaceId", issuer, client_id, client_secret, required, changed_at
           from sso_connections where workspace_id = $1"#,
        workspace.0
    )
    .fetch_optional(conn)
    .await?)
}

/// The same, and it stays as it is until this transaction ends. Every sign-in takes it, before the person: else one that is
/// under way would outlast the turn to another provider or to "only by SSO".
pub async fn held(tx: &mut Tx<'_>) -> Result<Option<SsoConnection>> {
    let workspace = tx.workspace();
    Ok(sqlx::query_as!(
        SsoConnection,
        r#"select workspace_id as "workspace: WorkspaceId", issuer, client_id, client_secret, required, changed_at
           from sso_connections where workspace_id = $1 for share"#,
        workspace.0
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// Whether somebody may come in by a password or a passkey: they are on the team, and the workspace takes more than SSO. Both
/// stay so until this transaction ends.
pub async fn allows_another_way(tx: &mut Tx<'_>, person: PersonId) -> Result<bool> {
    if held(tx).await?.is_some_and(|connection| connection.required) {
        return Ok(false);
    }
    match people::hold(tx, person).await {
        Ok(_) => Ok(true),
        Err(Error::Missing(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The workspace that is meant when nobody says which: the only one of this service that has a provider.
pub async fn the_only_one(conn: &mut PgConnection) -> Result<Option<WorkspaceId>> {
    let found = sqlx::query_scalar!(
        r#"select workspace_id as "workspace: WorkspaceId" from sso_connections order by workspace_id limit 2"#
    )
    .fetch_all(conn)
    .await?;
    Ok(found.first().copied().filter(|_| found.len() == 1))
}

/// A provider as somebody typed it, once it has answered.
pub struct CheckedProvider {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
}

/// Asks the provider what it is. No connection to the database is held meanwhile.
pub async fn check(
    app: &Arc<App>,
    issuer: &str,
    client_id: &str,
    client_secret: &str,
) -> Result<CheckedProvider> {
    let client_id = a_word("client_id", "Client ID", client_id)?;
    let client_secret = match client_secret.trim() {
        "" => None,
        secret => Some(a_word("client_secret", "Client secret", secret)?),
    };
    let issuer = issuer.trim();
    let bare = Url::parse(issuer).is_ok_and(|url| url.query().is_none() && url.fragment().is_none());
    if !bare {
        return Err(Error::problem("issuer", "The issuer must be an https address without ? and #"));
    }
    app.outside.a_public_address("issuer", issuer).await.map_err(|error| match error {
        Error::Problems(problems) => {
            let what: Vec<String> =
                problems.into_iter().map(|problem| format!("The issuer {}", problem.what)).collect();
            Error::problem("issuer", what.join(". "))
        }
        other => other,
    })?;
    app.openid.probe(&app.outside, issuer, app.clock.now()).await.map_err(|trouble| match trouble {
        OpenIdTrouble::OtherName(name) => {
            let name = text::line(&name);
            Error::problem(
                "issuer",
                format!("The provider at this address calls itself {name}. Type that instead"),
            )
        }
        other => Error::problem("issuer", format!("That did not work: {other}. Check the issuer's address")),
    })?;
    Ok(CheckedProvider { issuer: issuer.to_owned(), client_id, client_secret })
}

fn a_word(field: &str, name: &str, given: &str) -> Result<String> {
    let given = given.trim();
    let sound =
        !given.is_empty() && given.len() <= LONGEST && given.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if sound {
        Ok(given.to_owned())
    } else {
        Err(Error::problem(field, format!("{name} must be 1 to {LONGEST} letters and signs")))
    }
}

/// Connects a provider, or changes what it is asked with. Another provider or another client means other accounts: those
/// that are known are forgotten, and whoever came in by one is signed out, but `here`. What was not tried yet closes no
/// other way in: with a new secret, too, they are open until somebody has come in by it. Owners are told.
pub async fn connect(tx: &mut Tx<'_>, by: &By, here: SessionId, checked: &CheckedProvider) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let (keys, random) = (tx.frame().needs_keys()?.clone(), tx.frame().random.clone());
    let before = sqlx::query!(
        "select issuer, client_id, client_secret from sso_connections where workspace_id = $1 for update",
        workspace.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let same = before
        .as_ref()
        .is_some_and(|before| before.issuer == checked.issuer && before.client_id == checked.client_id);
    let secret = match (&checked.client_secret, &before) {
        (Some(secret), _) => {
            sealed::seal(&keys, &random, PURPOSE, &sealed::place(workspace, PLACE), secret.as_bytes())?
        }
        (None, Some(before)) if same => before.client_secret.clone(),
        (None, _) => return Err(Error::problem("client_secret", "Type the client secret, too")),
    };
    if !same {
        sqlx::query!(
            "with attempts as (delete from sso_attempts where workspace_id = $1)
             delete from sso_accounts where workspace_id = $1",
            workspace.0
        )
        .execute(&mut **tx)
        .await?;
        let gone = sqlx::query_scalar!(
            r#"delete from sessions where workspace_id = $1 and signed_in_with = 'sso' and id <> $2
               returning person_id as "person: PersonId""#,
            workspace.0,
            here.0
        )
        .fetch_all(&mut **tx)
        .await?;
        gone.into_iter().for_each(|person| tx.touch(person.0, LiveTopic::Rights));
    }
    let tried = same && checked.client_secret.is_none();
    sqlx::query!(
        "insert into sso_connections (workspace_id, issuer, client_id, client_secret, changed_at)
         values ($1, $2, $3, $4, $5)
         on conflict (workspace_id) do update
             set issuer = excluded.issuer, client_id = excluded.client_id, client_secret = excluded.client_secret,
                 changed_at = case when $6 then sso_connections.changed_at else excluded.changed_at end,
                 required = sso_connections.required and $6",
        workspace.0,
        checked.issuer,
        checked.client_id,
        secret,
        now,
        tried
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({
        "issuer": checked.issuer, "clientId": checked.client_id, "newSecret": checked.client_secret.is_some(),
    });
    if !tried {
        tell_owners(tx, by, &checked.issuer).await?;
    }
    recorded(tx, by, Did::SsoConnected, data).await
}

/// Whoever names the provider says who is who, so every owner hears of it.
async fn tell_owners(tx: &mut Tx<'_>, by: &By, issuer: &str) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let owners = sqlx::query_scalar!(
        "select email from people where workspace_id = $1 and role = 'owner' and removed_at is null",
        workspace.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let body = format!(
        "{} connected {} as the sign-in provider for your team, or changed its settings. The provider decides who is who in \
         your workspace. If you did not expect this, disconnect it under Settings, Single sign-on.\n",
        by.name(),
        host_of(issuer)
    );
    let words = NoticeWords { kind: "sso", subject: "Single sign-on was changed", body: &body };
    notices::write_to(tx, workspace, now, &random, &owners, words).await
}

/// Takes the provider away. Whoever came in by it stays until the session ends.
pub async fn disconnect(tx: &mut Tx<'_>, by: &By) -> Result<()> {
    let workspace = tx.workspace();
    // Before what hangs on it, as sign-ins take it.
    sqlx::query!("select from sso_connections where workspace_id = $1 for update", workspace.0)
        .fetch_optional(&mut **tx)
        .await?;
    let issuer = sqlx::query_scalar!(
        "with attempts as (delete from sso_attempts where workspace_id = $1),
              accounts as (delete from sso_accounts where workspace_id = $1)
         delete from sso_connections where workspace_id = $1 returning issuer",
        workspace.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    match issuer {
        Some(issuer) => recorded(tx, by, Did::SsoDisconnected, json!({ "issuer": issuer })).await,
        None => Ok(()),
    }
}

/// Whether there is another way in. Who closes the others has just come in by this one as it is now, so that it is known to
/// work; then everybody who came by another, also by the provider before, is signed out, and links that wait in mail boxes
/// open nothing.
pub async fn require(tx: &mut Tx<'_>, by: &By, session: &Session, required: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let changed_at = sqlx::query_scalar!(
        "update sso_connections set required = $2 where workspace_id = $1 and required <> $2 returning changed_at",
        workspace.0,
        required
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(changed_at) = changed_at else { return Ok(()) };
    if required {
        if !session.is_fresh_from_sso(changed_at, now) {
            return Err(Error::problem(
                "required",
                "Sign in by SSO first, then turn this on within 60 minutes",
            ));
        }
        // What sign-ins take before they begin a session goes first, in their order.
        sqlx::query!(
            "with links as (delete from sign_in_links where workspace_id = $1)
             delete from half_sign_ins where workspace_id = $1",
            workspace.0
        )
        .execute(&mut **tx)
        .await?;
        let gone = sqlx::query_scalar!(
            r#"delete from sessions where workspace_id = $1 and (signed_in_with <> 'sso' or created_at < $2)
               returning person_id as "person: PersonId""#,
            workspace.0,
            changed_at
        )
        .fetch_all(&mut **tx)
        .await?;
        gone.into_iter().for_each(|person| tx.touch(person.0, LiveTopic::Rights));
    }
    recorded(tx, by, if required { Did::SsoRequired } else { Did::SsoOptional }, json!({})).await
}

/// Whether passwords, links by mail and passkeys open nothing.
pub async fn is_required(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<bool> {
    let required =
        sqlx::query_scalar!("select required from sso_connections where workspace_id = $1", workspace.0)
            .fetch_optional(conn)
            .await?;
    Ok(required == Some(true))
}

async fn recorded(tx: &mut Tx<'_>, by: &By, did: Did, data: serde_json::Value) -> Result<()> {
    let workspace = tx.workspace();
    let name = sqlx::query_scalar!("select name from workspaces where id = $1", workspace.0)
        .fetch_one(&mut **tx)
        .await?;
    audit::record(tx, by, did, Subject { id: &workspace, name: &name }, data).await
}

/// The sealed secrets of these workspaces, for resealing.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<&'static str>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", client_secret from sso_connections
           where workspace_id = any($1)"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, PLACE, PURPOSE, row.client_secret)).collect())
}

pub async fn replace(tx: &mut Tx<'_>, before: &[u8], anew: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update sso_connections set client_secret = $3 where workspace_id = $1 and client_secret = $2",
        workspace,
        before,
        anew
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}
