//! Connects an email-sending service (specification 4.13.4, D191), on behalf of an owner or admin. The service gets a URL
//! to report to. It signs with a secret that we make, or with a key of its own that somebody brings here.
//!
//! Where a service keeps the words of its mail, it also gives us a token to ask for them. Secrets, keys and tokens are
//! stored encrypted, bound to the connection, and deleted when it is disconnected.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::app_mail::adapters::Provider;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, SendingServiceId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored, place};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::people::{a_name, name_of, role_of};

/// Path of the report endpoint, followed by the workspace and the connection.
pub const REPORT_PATH: &str = "/hooks/sent-mail";
/// Placeholder for the Message-ID in the URL that bodies are fetched from.
pub const ID: &str = "{id}";
/// Connections of a workspace.
pub const MOST: i64 = 20;
/// How long a secret that was replaced is still good.
pub const OLD_SECRET: TimeDelta = TimeDelta::hours(24);
pub const NO_CONNECTION: Error = Error::Missing("No such connection in this workspace.");

const SIGNING: &str = "sending service's signature";
const ASKING: &str = "sending service's token";
const LONGEST_TOKEN: usize = 2000;

pub struct WantedService<'a> {
    pub person: PersonId,
    /// What people call it.
    pub name: &'a str,
    pub provider: Provider,
    /// URL to fetch the body of a mail, with `{id}` for its Message-ID; without `{id}` the id is appended to the
    /// path. Only for our own form: a known service has its own.
    pub content_url: &'a str,
    /// Opens that URL. A known service need not give one; then the words of its mail are not read.
    pub token: &'a str,
    /// The key that the service signs with, when it is known already.
    pub key: &'a str,
}

/// A new connection. Its secret exists in plain text only here.
pub struct Connected {
    pub id: SendingServiceId,
    /// URL that the service reports sent mail to.
    pub hook: String,
    /// Empty when the service has a key of its own.
    pub secret: String,
}

pub async fn connect(app: &App, workspace: WorkspaceId, wanted: WantedService<'_>) -> Result<Connected> {
    let (provider, name) = (wanted.provider, a_name("name", wanted.name, 100)?);
    let token = match (provider, wanted.token.trim()) {
        (Provider::Own, token) => Some(a_token(token)?),
        (_, "") => None,
        (provider, token) if provider.content_url().is_some() => Some(a_token(token)?),
        _ => {
            return Err(Error::problem(
                "token",
                "is of no use: this service does not give the words of its mail",
            ));
        }
    };
    let content_url = match provider.content_url() {
        _ if token.is_none() => String::new(),
        Some(url) => url.to_owned(),
        None => an_address_of_words(app, wanted.content_url).await?,
    };
    let (key, secret) = match (provider.uses_our_secret(), wanted.key.trim()) {
        (true, "") => {
            let key = app.random.bytes::<32>().to_vec();
            let secret = provider.secret_text(&key);
            (Some(key), secret)
        }
        (false, "") => (None, String::new()),
        (_, key) => (Some(provider.key(key)?), String::new()),
    };
    let mut tx = app.begin(workspace).await?;
    let by = administrator(&mut tx, wanted.person).await?;
    // Locks the workspace, so that concurrent calls cannot exceed the limit.
    sqlx::query!("select id from workspaces where id = $1 for no key update", workspace.0)
        .fetch_one(&mut *tx)
        .await?;
    if connected(&mut tx, workspace).await?.len() as i64 >= MOST {
        return Err(Error::problem("service", format!("there are {MOST} connections already")));
    }
    let id: SendingServiceId = tx.mint();
    let (keys, place, now) = (app.config.needs_secret_key()?, place(workspace, id), tx.now());
    let seal = |purpose, secret: &[u8]| sealed::seal(keys, &app.random, purpose, &place, secret);
    let key = key.map(|key| seal(SIGNING, &key)).transpose()?;
    let token = token.map(|token| seal(ASKING, token.as_bytes())).transpose()?;
    sqlx::query!(
        "insert into sending_services
             (workspace_id, id, maker_id, name, provider, content_url, secret, token, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        workspace.0,
        id.0,
        wanted.person.0,
        name,
        provider.as_str(),
        content_url,
        key,
        token,
        now
    )
    .execute(&mut *tx)
    .await?;
    let data = json!({ "provider": provider.as_str(), "readsWords": token.is_some() });
    audit::record(&mut tx, &by, Did::ServiceConnected, Subject { id: &id, name: &name }, data).await?;
    tx.commit().await?;
    Ok(Connected { id, hook: hook(app, workspace, id), secret })
}

/// Where a service reports to.
pub fn hook(app: &App, workspace: WorkspaceId, id: SendingServiceId) -> String {
    let host = app.config.public_url.as_str().trim_end_matches('/');
    format!("{host}{REPORT_PATH}/{workspace}/{id}")
}

/// Ends a connection: reports are refused and no bodies are fetched any more. Existing records stay.
pub async fn disconnect(
    app: &App,
    workspace: WorkspaceId,
    person: PersonId,
    id: SendingServiceId,
) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    let by = administrator(&mut tx, person).await?;
    let now = tx.now();
    let ended = sqlx::query_scalar!(
        "update sending_services
         set disconnected_at = $3, secret = null, old_secret = null, rotated_at = null, token = null
         where workspace_id = $1 and id = $2 and disconnected_at is null returning name",
        workspace.0,
        id.0,
        now
    )
    .fetch_optional(&mut *tx)
    .await?;
    let name = ended.ok_or(NO_CONNECTION)?;
    audit::record(&mut tx, &by, Did::ServiceDisconnected, Subject { id: &id, name: &name }, json!({}))
        .await?;
    tx.commit().await
}

/// A connection as people see it; its secrets are never part of it.
pub struct ServiceConnection {
    pub id: SendingServiceId,
    pub name: String,
    pub provider: Provider,
    pub content_url: String,
    pub created_at: DateTime<Utc>,
    pub maker_name: String,
    /// It can be told whether a report is the service's.
    pub has_key: bool,
    pub reads_words: bool,
    pub paused_at: Option<DateTime<Utc>>,
    /// When the secret was replaced, while the old one is kept.
    pub rotated_at: Option<DateTime<Utc>>,
    pub last_report_at: Option<DateTime<Utc>>,
    pub last_error: Option<String>,
    pub last_error_at: Option<DateTime<Utc>>,
    day: Option<NaiveDate>,
    day_count: i32,
}

impl ServiceConnection {
    /// Reports since midnight, in UTC.
    pub fn today(&self, now: DateTime<Utc>) -> i64 {
        if self.day == Some(now.date_naive()) { i64::from(self.day_count) } else { 0 }
    }

    /// Until when the secret before this one is good.
    pub fn old_secret_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.rotated_at.map(|at| at + OLD_SECRET).filter(|until| *until > now)
    }
}

/// The services that are connected now.
pub async fn connected(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<ServiceConnection>> {
    read(conn, workspace, None).await
}

pub async fn find(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: SendingServiceId,
) -> Result<ServiceConnection> {
    read(conn, workspace, Some(id)).await?.pop().ok_or(NO_CONNECTION)
}

async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    only: Option<SendingServiceId>,
) -> Result<Vec<ServiceConnection>> {
    let rows = sqlx::query!(
        r#"select s.id as "id: SendingServiceId", s.name, provider, content_url, s.created_at, p.name as maker_name,
                  secret is not null as "has_key!", token is not null as "reads_words!", paused_at, rotated_at,
                  last_report_at, last_error, last_error_at, day, day_count
           from sending_services s join people p on p.workspace_id = s.workspace_id and p.id = s.maker_id
           where s.workspace_id = $1 and disconnected_at is null and ($2::bigint is null or s.id = $2)
           order by s.id"#,
        workspace.0,
        only.map(|id| id.0)
    )
    .fetch_all(conn)
    .await?;
    let connections = rows.into_iter().map(|row| {
        Ok(ServiceConnection {
            id: row.id,
            name: row.name,
            provider: row.provider.parse().map_err(Error::internal)?,
            content_url: row.content_url,
            created_at: row.created_at,
            maker_name: row.maker_name,
            has_key: row.has_key,
            reads_words: row.reads_words,
            paused_at: row.paused_at,
            rotated_at: row.rotated_at,
            last_report_at: row.last_report_at,
            last_error: row.last_error,
            last_error_at: row.last_error_at,
            day: row.day,
            day_count: row.day_count,
        })
    });
    connections.collect()
}

/// What the door needs to know of a connection.
pub struct Receiving {
    pub provider: Provider,
    /// What the service may sign with, the newest first; none while its key is not known.
    pub keys: Vec<Vec<u8>>,
    pub paused: bool,
}

pub async fn receiving(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    id: SendingServiceId,
    now: DateTime<Utc>,
) -> Result<Option<Receiving>> {
    let row = sqlx::query!(
        "select provider, secret, case when rotated_at > $3 then old_secret end as old_secret,
                paused_at is not null as \"paused!\"
         from sending_services where workspace_id = $1 and id = $2 and disconnected_at is null",
        workspace.0,
        id.0,
        now - OLD_SECRET
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let stored = [row.secret, row.old_secret].into_iter().flatten();
    let opened = stored.map(|sealed| sealed::open(keys, SIGNING, &place(workspace, id), &sealed));
    Ok(Some(Receiving {
        provider: row.provider.parse().map_err(Error::internal)?,
        keys: opened.collect::<Result<_>>()?,
        paused: row.paused,
    }))
}

/// A key, encrypted for its place.
pub fn seal_key(app: &App, workspace: WorkspaceId, id: SendingServiceId, key: &[u8]) -> Result<Vec<u8>> {
    sealed::seal(app.config.needs_secret_key()?, &app.random, SIGNING, &place(workspace, id), key)
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
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: SendingServiceId", secret, old_secret, token
           from sending_services where workspace_id = any($1) and disconnected_at is null
           order by workspace_id, id"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    let all = rows.into_iter().flat_map(|row| {
        let one = move |purpose, sealed: Option<Vec<u8>>| {
            sealed.map(|sealed| Stored::new(row.workspace, row.id, purpose, sealed))
        };
        [one(SIGNING, row.secret), one(SIGNING, row.old_secret), one(ASKING, row.token)]
    });
    Ok(all.flatten().collect())
}

/// Stores a secret or token re-encrypted under another key. False when it was changed meanwhile.
pub async fn replace(tx: &mut Tx<'_>, id: SendingServiceId, old: &[u8], new: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update sending_services set secret = case when secret = $3 then $4 else secret end,
                old_secret = case when old_secret = $3 then $4 else old_secret end,
                token = case when token = $3 then $4 else token end
         where workspace_id = $1 and id = $2 and (secret = $3 or old_secret = $3 or token = $3)",
        workspace,
        id.0,
        old,
        new
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

/// Whoever acts, if they may.
async fn administrator(tx: &mut Tx<'_>, person: PersonId) -> Result<By> {
    let workspace = tx.workspace();
    if role_of(tx, workspace, person).await?.administers() {
        Ok(By::Person { id: person, name: name_of(tx, person).await? })
    } else {
        Err(Error::Forbidden("Only owners and admins can connect a sending service.".into()))
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
    let template =
        if text.contains(ID) { text.to_owned() } else { format!("{}/{ID}", text.trim_end_matches('/')) };
    let before = template.split(ID).next().unwrap_or_default();
    let in_path = before.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?']));
    if !in_path {
        return Err(Error::problem("content url", "must have {id} in its path or query"));
    }
    app.outside.a_public_address("content url", &template.replace(ID, "id")).await?;
    Ok(template)
}
