//! What people let clients do: each time an agent of its own, and a code that the client turns into tokens. A code lives a
//! minute, an access token an hour, a refresh token 30 days, each of the last two until the next one is asked for.
//!
//! A code or refresh token that comes a second time was stolen, by the first who brought it or by the second: what it gave
//! ends. Only hashes are kept; the workspace stands in front of every token, so it is found in a fleet of cells.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::access::Scope;
use crate::workspace::agents::caps::Caps;
use crate::workspace::clients::client::OauthClient;
use crate::workspace::keys::{self, KeyChoices, NewAgent};
use crate::workspace::people::Person;
use rookery_base::app::App;
use rookery_base::due::backoff::Aside;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{AgentId, WorkspaceId};
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

const CODE_LASTS: TimeDelta = TimeDelta::seconds(60);
pub const ACCESS_LASTS: TimeDelta = TimeDelta::hours(1);
const REFRESH_LASTS: TimeDelta = TimeDelta::days(30);
const LONGEST_HINT: usize = 60;

/// The hash of a secret that only the client has (RFC 7636, S256). Whoever has the code alone has nothing.
#[derive(Clone, Copy)]
pub struct Challenge([u8; 32]);

impl Challenge {
    pub fn read(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    fn is_met_by(self, verifier: &str) -> bool {
        let sound = (43..=128).contains(&verifier.len());
        sound && verify_slices_are_equal(&sha256(verifier), &self.0).is_ok()
    }
}

/// What a person decided.
pub struct Allowed<'a> {
    pub client: &'a OauthClient,
    pub redirect: &'a str,
    /// The host of it, by which people know the agent again.
    pub host: &'a str,
    pub challenge: Challenge,
    pub name: &'a str,
    pub scopes: &'a [Scope],
    pub livemode: bool,
}

/// Makes the agent of a client, and the code to give it.
pub async fn allow(app: &App, person: &Person, allowed: Allowed<'_>) -> Result<String> {
    let hint: String = format!("sign-in: {}", allowed.host).chars().take(LONGEST_HINT).collect();
    let mut tx = app.begin(person.workspace).await?;
    let Allowed { client, redirect, challenge, name, scopes, livemode, .. } = allowed;
    let wanted = KeyChoices { name, scopes, livemode, caps: Caps::default() };
    let made = keys::add(&mut tx, person.id, NewAgent { wanted, key: None, hint: &hint }).await?;
    let (workspace, ends_at) = (tx.workspace().0, tx.now() + CODE_LASTS);
    sqlx::query!(
        "insert into client_grants (workspace_id, agent_id, client_id, redirect, challenge, ends_at)
         values ($1, $2, $3, $4, $5, $6)",
        workspace,
        made.agent.0,
        client.id,
        redirect,
        challenge.0.as_slice(),
        ends_at
    )
    .execute(&mut *tx)
    .await?;
    let code = give(&mut tx, made.agent, GrantKind::Code, ends_at).await?;
    app.directory.client_is_used(&client.id, tx.now()).await?;
    let data = json!({ "livemode": livemode, "hint": hint, "client": client.id });
    made.record(&mut tx, &person.by(), data).await?;
    tx.commit().await?;
    Ok(code)
}

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum GrantKind {
        Code = "code",
        Access = "access",
        Refresh = "refresh",
    }
}

/// What a client brings for tokens, beside its own id.
pub enum BroughtGrant<'a> {
    Code { code: &'a str, verifier: &'a str, redirect: Option<&'a str> },
    Refresh(&'a str),
}

pub struct Tokens {
    pub access: String,
    pub refresh: String,
    pub scopes: Vec<String>,
}

pub enum GrantOutcome {
    Given(Tokens),
    /// It is not good, whatever is wrong with it.
    Refused,
    /// It was used before: this agent has to end.
    Reused(WorkspaceId, AgentId),
}

/// New tokens for a code or a refresh token, which is used up by it.
pub async fn redeem(app: &App, client_id: &str, brought: BroughtGrant<'_>) -> Result<GrantOutcome> {
    let (text, kind) = match brought {
        BroughtGrant::Code { code, .. } => (code, GrantKind::Code),
        BroughtGrant::Refresh(token) => (token, GrantKind::Refresh),
    };
    let Some(token) = Token::read(text) else { return Ok(GrantOutcome::Refused) };
    // Looked for first: a made-up token can name a workspace that nobody can enter.
    if find(&mut *app.connection().await?, &token, kind).await?.is_none() {
        return Ok(GrantOutcome::Refused);
    }
    let mut tx = app.begin(token.workspace).await?;
    let Some(found) = find(&mut tx, &token, kind).await? else { return Ok(GrantOutcome::Refused) };
    if found.used {
        return Ok(GrantOutcome::Reused(token.workspace, found.agent));
    }
    let challenge =
        Challenge(found.challenge.try_into().map_err(|_| Error::internal("a challenge has 32 bytes"))?);
    let good = match brought {
        BroughtGrant::Code { verifier, redirect, .. } => {
            challenge.is_met_by(verifier) && redirect.is_none_or(|redirect| redirect == found.redirect)
        }
        BroughtGrant::Refresh(_) => true,
    };
    let now = tx.now();
    if found.client_id != client_id || found.ends_at <= now || !good {
        return Ok(GrantOutcome::Refused);
    }
    let ends_at = now + REFRESH_LASTS;
    sqlx::query!(
        "with used as (update client_tokens set used_at = $4 where workspace_id = $1 and hash = $3)
         update client_grants set ends_at = $5 where workspace_id = $1 and agent_id = $2",
        token.workspace.0,
        found.agent.0,
        token.hash.as_slice(),
        now,
        ends_at
    )
    .execute(&mut *tx)
    .await?;
    let access = give(&mut tx, found.agent, GrantKind::Access, now + ACCESS_LASTS).await?;
    let refresh = give(&mut tx, found.agent, GrantKind::Refresh, ends_at).await?;
    tx.commit().await?;
    Ok(GrantOutcome::Given(Tokens { access, refresh, scopes: found.scopes }))
}

struct FoundGrant {
    agent: AgentId,
    used: bool,
    ends_at: DateTime<Utc>,
    client_id: String,
    redirect: String,
    challenge: Vec<u8>,
    scopes: Vec<String>,
}

/// Nothing of an agent that is revoked, or whose maker has left. Of two who bring the same one waits for the other.
async fn find(conn: &mut PgConnection, token: &Token, kind: GrantKind) -> Result<Option<FoundGrant>> {
    Ok(sqlx::query_as!(
        FoundGrant,
        r#"select t.agent_id as "agent: AgentId", t.used_at is not null as "used!", t.ends_at, g.client_id, g.redirect,
                  g.challenge, a.scopes
           from client_tokens t
           join client_grants g on g.workspace_id = t.workspace_id and g.agent_id = t.agent_id
           join agents a on a.workspace_id = t.workspace_id and a.id = t.agent_id and a.revoked_at is null
           join people p on p.workspace_id = a.workspace_id and p.id = a.maker_id and p.removed_at is null
           where t.workspace_id = $1 and t.hash = $2 and t.kind = $3 for no key update of t"#,
        token.workspace.0,
        token.hash.as_slice(),
        kind.as_str()
    )
    .fetch_optional(conn)
    .await?)
}

async fn give(tx: &mut Tx<'_>, agent: AgentId, kind: GrantKind, ends_at: DateTime<Utc>) -> Result<String> {
    let (token, text) = Token::mint(tx.workspace(), &tx.frame().random);
    sqlx::query!(
        "insert into client_tokens (workspace_id, hash, agent_id, kind, ends_at) values ($1, $2, $3, $4, $5)",
        token.workspace.0,
        token.hash.as_slice(),
        agent.0,
        kind.as_str(),
        ends_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(text)
}

/// A name that no agent has: the client's own, or with a number behind it.
pub async fn a_free_name(conn: &mut PgConnection, workspace: WorkspaceId, wanted: &str) -> Result<String> {
    let taken = sqlx::query_scalar!(
        r#"select lower(name) as "name!" from agents where workspace_id = $1 and revoked_at is null"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?;
    let numbered = (2..1000).map(|number| {
        let end = format!(" {number}");
        let room = keys::LONGEST_NAME - end.len();
        wanted.chars().take(room).chain(end.chars()).collect()
    });
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    let free = names.find(|name| !taken.contains(&name.to_lowercase()));
    Ok(free.unwrap_or_else(|| wanted.to_owned()))
}

/// Agents that nothing opens any more: their code was never taken, or their refresh token is over.
pub async fn over(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, AgentId)>> {
    let over = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", agent_id as "agent: AgentId" from client_grants
           where ends_at <= $1
             and agent_id not in (select unnest($2::bigint[])) and workspace_id not in (select unnest($3::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by ends_at limit 100"#,
        now,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(over.into_iter().map(|grant| (grant.workspace, grant.agent)).collect())
}

/// The agent is revoked: nothing is left to come with.
pub async fn end(tx: &mut Tx<'_>, agent: AgentId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "with tokens as (delete from client_tokens where workspace_id = $1 and agent_id = $2)
         delete from client_grants where workspace_id = $1 and agent_id = $2",
        workspace,
        agent.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Deletes codes and tokens that are over.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "client_tokens", "ends_at", now, 1000)
}
