//! API keys (specification 5.2 to 5.5): made by owners and admins, shown once, stored as a hash, revoked at once.
//! Each key acts as an agent of its own. The scopes of a key cannot be changed.

pub mod tell_changes;

use std::ops::Deref;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::workspace::access::{Actor, By, MemberId, Scope};
use crate::workspace::agents::caps::Caps;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::{Role, a_name, role_of};
use crate::workspace::plan::{Plan, plan_of};
use rookery_base::app::App;
use rookery_base::due::backoff::Aside;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{AgentId, PersonId, WorkspaceId};
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;

const KEY_LETTERS: usize = 48;
pub const LONGEST_NAME: usize = 60;
/// Upper bound for the duration of a request.
const LONGEST_REQUEST: TimeDelta = TimeDelta::minutes(2);

/// A new key. Its plain text exists only here.
pub struct NewKey {
    pub agent: AgentId,
    pub key: String,
}

pub async fn create(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    maker: PersonId,
    wanted: KeyChoices<'_>,
) -> Result<NewKey> {
    let livemode = wanted.livemode;
    let key = format!("rk_{}_{}", if livemode { "live" } else { "test" }, app.random.letters(KEY_LETTERS));
    let hash = hash(&key);
    let hint = format!("{}…{}", &key[..8], &key[key.len() - 4..]);

    let mut tx = app.begin(workspace).await?;
    let made = add(&mut tx, maker, NewAgent { wanted, key: Some(hash), hint: &hint }).await?;
    app.directory.add_key(workspace, hash).await?;
    made.record(&mut tx, by, json!({ "livemode": livemode, "hint": hint })).await?;
    tx.commit().await?;
    Ok(NewKey { agent: made.agent, key })
}

/// What its maker chose.
#[derive(Clone, Copy)]
pub struct KeyChoices<'a> {
    pub name: &'a str,
    pub scopes: &'a [Scope],
    pub livemode: bool,
    pub caps: Caps,
}

pub struct NewAgent<'a> {
    pub wanted: KeyChoices<'a>,
    /// Without one it signs in.
    pub key: Option<[u8; 32]>,
    /// How its maker knows it again.
    pub hint: &'a str,
}

/// An agent that was made, and is still to be recorded: that comes last.
pub struct Made {
    pub agent: AgentId,
    name: String,
    scopes: Vec<String>,
    caps: Caps,
}

/// Makes an agent: the one rule for who may and what it is called.
pub async fn add(tx: &mut Tx<'_>, maker: PersonId, new: NewAgent<'_>) -> Result<Made> {
    let KeyChoices { name, scopes, livemode, caps } = new.wanted;
    let name = a_name("name", name, LONGEST_NAME)?;
    let scopes = with_read(scopes)?;
    caps.check()?;
    let workspace = tx.workspace();
    may_administer(tx, workspace, maker).await?;
    plan_of(tx, workspace).await?.needs_api()?;
    let agent: AgentId = tx.mint();
    let now = tx.now();
    let added = sqlx::query!(
        "insert into agents
             (workspace_id, id, name, maker_id, livemode, scopes, key_hash, key_hint, created_at, daily_sends,
              daily_drafts, daily_cap)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         on conflict (workspace_id, livemode, lower(name)) where revoked_at is null do nothing",
        workspace.0,
        agent.0,
        name,
        maker.0,
        livemode,
        &scopes,
        new.key.as_ref().map(|hash| hash.as_slice()),
        new.hint,
        now,
        caps.sends,
        caps.drafts,
        caps.messages
    )
    .execute(&mut **tx)
    .await?;
    if added.rows_affected() == 0 {
        return Err(Error::problem("name", "is the name of another key already"));
    }
    Ok(Made { agent, name, scopes, caps })
}

impl Made {
    pub async fn record(&self, tx: &mut Tx<'_>, by: &By, more: Value) -> Result<()> {
        let mut data = json!({ "scopes": self.scopes });
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
            if self.caps.are_any() {
                data.insert("limits".into(), json!(self.caps));
            }
        }
        let subject = Subject { id: &self.agent, name: &self.name };
        audit::record(tx, by, Did::KeyMade, subject, data).await
    }
}

/// Revokes a key permanently.
pub async fn revoke(tx: &mut Tx<'_>, by: &By, agent: AgentId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let held = sqlx::query!(
        r#"select name, revoked_at is not null as "revoked!" from agents
           where workspace_id = $1 and id = $2 for no key update"#,
        workspace,
        agent.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(Error::Missing("No such key in this workspace."))?;
    if held.revoked {
        return Ok(());
    }
    sqlx::query!(
        "update agents set revoked_at = $3 where workspace_id = $1 and id = $2",
        workspace,
        agent.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    let subject = Subject { id: &agent, name: &held.name };
    audit::record(tx, by, Did::KeyRevoked, subject, json!({})).await
}

/// Revokes all keys that a person made. Returns their agents with their names.
pub async fn revoke_all_of(tx: &mut Tx<'_>, maker: PersonId) -> Result<Vec<(AgentId, String)>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let revoked = sqlx::query!(
        r#"update agents set revoked_at = $3 where workspace_id = $1 and maker_id = $2 and revoked_at is null
           returning id as "id: AgentId", name"#,
        workspace,
        maker.0,
        now
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(revoked.into_iter().map(|agent| (agent.id, agent.name)).collect())
}

/// People who left the team and still have active keys.
pub async fn makers_who_left(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<(WorkspaceId, PersonId)>> {
    let makers = sqlx::query!(
        r#"select people.workspace_id as "workspace: WorkspaceId", people.id as "id: PersonId" from people
           where removed_at is not null and exists (
               select from agents where agents.workspace_id = people.workspace_id and maker_id = people.id
                 and revoked_at is null)
             and id not in (select unnest($1::bigint[])) and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           limit 100"#,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(makers.into_iter().map(|maker| (maker.workspace, maker.id)).collect())
}

/// Revoked agents that may still be assigned to conversations.
pub async fn unreleased(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<(WorkspaceId, AgentId)>> {
    let agents = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: AgentId" from agents
           where revoked_at is not null and released_at is null
             and id not in (select unnest($1::bigint[])) and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by revoked_at limit 100"#,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(agents.into_iter().map(|agent| (agent.workspace, agent.id)).collect())
}

/// When the next of them can be marked as released.
pub async fn next_unreleased(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    let revoked = sqlx::query_scalar!(
        "select min(revoked_at) from agents where revoked_at is not null and released_at is null"
    )
    .fetch_one(conn)
    .await?;
    Ok(revoked.map(|revoked| revoked + LONGEST_REQUEST))
}

/// Marks a revoked agent as released: it is assigned to nothing. Not before requests that ran during the
/// revocation have ended.
pub async fn released(tx: &mut Tx<'_>, agent: AgentId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update agents set released_at = $3 where workspace_id = $1 and id = $2 and revoked_at <= $4",
        workspace,
        agent.0,
        now,
        now - LONGEST_REQUEST
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// An agent at work: the key of a request. It ends when its maker leaves.
#[derive(Clone, Debug)]
pub struct Agent {
    pub actor: Actor,
    pub id: AgentId,
    pub plan: Plan,
    /// Every agent of its workspace is.
    pub stopped: bool,
    pub caps: Caps,
}

impl Agent {
    /// Whether it may do anything now. What it changes asks once more, in its transaction.
    pub fn may_work(&self) -> Result<()> {
        self.plan.needs_api()?;
        if self.stopped { Err(Error::agents_stopped()) } else { Ok(()) }
    }
}

impl Deref for Agent {
    type Target = Actor;
    fn deref(&self) -> &Actor {
        &self.actor
    }
}

struct KeyRow {
    id: AgentId,
    name: String,
    scopes: Vec<String>,
    livemode: bool,
    plan: Plan,
    maker: PersonId,
    stopped: bool,
    sends: Option<i32>,
    drafts: Option<i32>,
    messages: Option<i32>,
}

/// Read on every request, so an agent that is revoked is out at once, and so is one whose maker has left the team.
macro_rules! at_work {
    ($conn:expr, $workspace:expr, $which:literal, $($argument:expr),*) => {{
        let row = sqlx::query_as!(
            KeyRow,
            r#"select agents.id as "id: AgentId", agents.name, scopes, livemode, plan as "plan: Plan",
                      people.id as "maker: PersonId", agents_stopped_at is not null as "stopped!",
                      daily_sends as sends, daily_drafts as drafts, daily_cap as messages
               from agents
               join workspaces on workspaces.id = agents.workspace_id
               join people on people.workspace_id = agents.workspace_id and people.id = agents.maker_id
               where agents.workspace_id = $1 and "# + $which + " and revoked_at is null and removed_at is null",
            $workspace.0,
            $($argument),*
        );
        Ok(row.fetch_optional($conn).await?.map(|row| row.at_work($workspace)))
    }};
}

/// Who the key belongs to, if it opens anything now.
pub async fn authenticate(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    hash: [u8; 32],
) -> Result<Option<Agent>> {
    at_work!(conn, workspace, "key_hash = $2", &hash)
}

/// The same for an access token of a client that a person signed in to.
pub async fn authenticate_client(
    conn: &mut PgConnection,
    token: &Token,
    now: DateTime<Utc>,
) -> Result<Option<Agent>> {
    at_work!(
        conn,
        token.workspace,
        "agents.id = (select agent_id from client_tokens
                      where workspace_id = $1 and hash = $2 and kind = 'access' and ends_at > $3)",
        token.hash.as_slice(),
        now
    )
}

impl KeyRow {
    fn at_work(self, workspace: WorkspaceId) -> Agent {
        Agent {
            actor: Actor {
                workspace,
                member: MemberId::Agent(self.id),
                name: self.name,
                scopes: self.scopes.iter().filter_map(|scope| scope.parse().ok()).collect(),
                livemode: self.livemode,
                private_of: self.maker,
            },
            id: self.id,
            plan: self.plan,
            stopped: self.stopped,
            caps: Caps { sends: self.sends, drafts: self.drafts, messages: self.messages },
        }
    }
}

/// The same for an agent that is known by its id.
pub async fn at_work(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    agent: AgentId,
) -> Result<Option<Agent>> {
    at_work!(conn, workspace, "agents.id = $2", agent.0)
}

pub fn hash(key: &str) -> [u8; 32] {
    sha256(key)
}

/// The scopes in their order, with `read`, which every key holds.
fn with_read(chosen: &[Scope]) -> Result<Vec<String>> {
    if chosen.is_empty() {
        return Err(Error::problem("scopes", "needs at least one scope"));
    }
    let held = Scope::ALL.into_iter().filter(|scope| *scope == Scope::Read || chosen.contains(scope));
    Ok(held.map(|scope| scope.to_string()).collect())
}

async fn may_administer(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<Role> {
    let role = role_of(conn, workspace, person).await?;
    if role.administers() {
        Ok(role)
    } else {
        Err(Error::Forbidden("Only owners and admins can make keys.".into()))
    }
}

#[cfg(test)]
mod tests {
    /// Rows hold these.
    #[test]
    fn a_key_has_the_same_hash_for_ever() {
        let hash: String = super::hash("rk_live_x").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "d8ec65529865a60c532bfe20699cf53b66957495485851335bc8e6445481494e");
    }
}
