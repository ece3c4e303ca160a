//! Connects an email-sending service (specification 4.13.4, D191), on behalf of an owner or admin. The service
//! gets a URL to report sent mail to and a secret to sign the reports with. It gives us a URL to fetch message
//! bodies from and a token for that.
//!
//! Both secrets are stored encrypted, bound to the connection, and deleted when it is disconnected.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::app::App;
use crate::error::{Error, Result};
use crate::ids::{PersonId, SendingServiceId, WorkspaceId};
use crate::secrets::key_ring::KeyRing;
use crate::secrets::sealed::{self, Stored, place};
use crate::secrets::signed_requests::Secret;
use crate::store::db::Tx;
use crate::workspace::people::{a_name, role_of};

/// Path of the report endpoint, followed by the workspace and the connection.
pub const REPORT_PATH: &str = "/hooks/sent-mail";
/// Placeholder for the Message-ID in the URL that bodies are fetched from.
pub const ID: &str = "{id}";

const SIGNING: &str = "sending service's signature";
const ASKING: &str = "sending service's token";
const LONGEST_TOKEN: usize = 2000;
const MOST: i64 = 20;

pub struct Wanted<'a> {
    pub person: PersonId,
    /// What people call it.
    pub name: &'a str,
    /// URL to fetch the body of a mail, with `{id}` for its Message-ID; without `{id}` the id is appended to the
    /// path.
    pub content_url: &'a str,
    pub token: &'a str,
}

/// A new connection. Its secret exists in plain text only here.
pub struct Connected {
    pub id: SendingServiceId,
    /// URL that the service reports sent mail to.
    pub hook: String,
    pub secret: String,
}

pub async fn connect(app: &App, workspace: WorkspaceId, wanted: Wanted<'_>) -> Result<Connected> {
    let name = a_name("name", wanted.name, 100)?;
    let token = a_token(wanted.token)?;
    let content_url = an_address_of_words(app, wanted.content_url).await?;
    let mut tx = app.begin(workspace).await?;
    may_administer(&mut tx, wanted.person).await?;
    // Locks the workspace, so that concurrent calls cannot exceed the limit.
    sqlx::query!("select id from workspaces where id = $1 for no key update", workspace.0)
        .fetch_one(&mut *tx)
        .await?;
    if connected(&mut tx, workspace).await?.len() as i64 >= MOST {
        return Err(Error::problem("service", format!("there are {MOST} connections already")));
    }
    let (id, secret): (SendingServiceId, _) = (tx.mint(), Secret::new(&app.random));
    let (keys, place, now) = (app.config.needs_secret_key()?, place(workspace, id), tx.now());
    sqlx::query!(
        "insert into sending_services
             (workspace_id, id, maker_id, name, content_url, secret, token, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        workspace.0,
        id.0,
        wanted.person.0,
        name,
        content_url,
        secret.seal(keys, &app.random, SIGNING, &place)?,
        sealed::seal(keys, &app.random, ASKING, &place, token.as_bytes())?,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    let host = app.config.public_url.as_str().trim_end_matches('/');
    Ok(Connected { id, hook: format!("{host}{REPORT_PATH}/{workspace}/{id}"), secret: secret.text() })
}

/// Ends a connection: reports are refused and no bodies are fetched any more. Existing records stay.
pub async fn disconnect(
    app: &App,
    workspace: WorkspaceId,
    person: PersonId,
    id: SendingServiceId,
) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    may_administer(&mut tx, person).await?;
    let now = tx.now();
    let ended = sqlx::query!(
        "update sending_services set disconnected_at = $3, secret = null, token = null
         where workspace_id = $1 and id = $2 and disconnected_at is null",
        workspace.0,
        id.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    if ended.rows_affected() == 0 {
        return Err(Error::Missing("No such connection in this workspace."));
    }
    tx.commit().await
}

/// A connection as people see it; its secrets are never part of it.
pub struct Connection {
    pub id: SendingServiceId,
    pub name: String,
    pub content_url: String,
    pub created_at: DateTime<Utc>,
}

/// The services that are connected now.
pub async fn connected(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Connection>> {
    Ok(sqlx::query_as!(
        Connection,
        r#"select id as "id: SendingServiceId", name, content_url, created_at from sending_services
           where workspace_id = $1 and disconnected_at is null order by id"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

/// The secret that a connected service signs its reports with.
pub async fn secret_of(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    id: SendingServiceId,
) -> Result<Option<Secret>> {
    let sealed = sqlx::query_scalar!(
        r#"select secret as "secret!" from sending_services
           where workspace_id = $1 and id = $2 and disconnected_at is null"#,
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    sealed.map(|sealed| Secret::open(&sealed, keys, SIGNING, &place(workspace, id))).transpose()
}

/// Decrypts the token that authenticates us to the service.
pub fn open_token(
    keys: &KeyRing,
    workspace: WorkspaceId,
    id: SendingServiceId,
    sealed: &[u8],
) -> Result<String> {
    let token = sealed::open(keys, ASKING, &place(workspace, id), sealed)?;
    String::from_utf8(token).map_err(Error::internal)
}

/// The secrets and tokens of these workspaces' connections, as they are stored.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<SendingServiceId>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: SendingServiceId",
                  secret as "secret!", token as "token!"
           from sending_services where workspace_id = any($1) and disconnected_at is null
           order by workspace_id, id"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    let both = rows.into_iter().flat_map(|row| {
        let one = |purpose, sealed| Stored::new(row.workspace, row.id, purpose, sealed);
        [one(SIGNING, row.secret), one(ASKING, row.token)]
    });
    Ok(both.collect())
}

/// Stores a secret or token re-encrypted under another key. False when it was changed meanwhile.
pub async fn replace(tx: &mut Tx<'_>, id: SendingServiceId, old: &[u8], new: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update sending_services set secret = case when secret = $3 then $4 else secret end,
                token = case when token = $3 then $4 else token end
         where workspace_id = $1 and id = $2 and (secret = $3 or token = $3)",
        workspace,
        id.0,
        old,
        new
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

async fn may_administer(tx: &mut Tx<'_>, person: PersonId) -> Result<()> {
    let workspace = tx.workspace();
    match role_of(tx, workspace, person).await?.administers() {
        true => Ok(()),
        false => Err(Error::Forbidden("Only owners and admins can connect a sending service.".into())),
    }
}

fn a_token(text: &str) -> Result<&str> {
    let token = text.trim();
    let sound =
        (1..=LONGEST_TOKEN).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
    if sound { Ok(token) } else { Err(Error::problem("token", "must be one word of visible letters")) }
}

/// The URL as a template with `{id}`, which must not be part of the host name.
async fn an_address_of_words(app: &App, text: &str) -> Result<String> {
    let text = text.trim();
    let template = match text.contains(ID) {
        true => text.to_owned(),
        false => format!("{}/{ID}", text.trim_end_matches('/')),
    };
    let before = template.split(ID).next().unwrap_or_default();
    let in_path = before.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?']));
    if !in_path {
        return Err(Error::problem("content url", "must have {id} in its path or query"));
    }
    app.outside.a_public_address("content url", &template.replace(ID, "id")).await?;
    Ok(template)
}
