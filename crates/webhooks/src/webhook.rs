//! A webhook as people see it, and finding one.
//! Its secret is never part of it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::secret::signs_until;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{AgentId, PersonId, WebhookId, WorkspaceId};
use rookery_core::workspace::access::By;
use rookery_core::workspace::{keys, people};

pub const NO_WEBHOOK: Error = Error::Missing("No such webhook in this workspace.");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, sqlx::Type, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Scope {
    /// Team inboxes and what belongs to no inbox.
    Team,
    /// The maker's own private inboxes.
    Private,
}

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, sqlx::Type)]
    #[serde(rename_all = "lowercase")]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum WebhookState {
        Active = "active",
        /// By a person, or by a day of failures.
        Paused = "paused",
        /// The other side answered that it is gone.
        Off = "off",
    }
}

#[derive(Clone, Debug)]
pub struct Webhook {
    pub id: WebhookId,
    pub maker: PersonId,
    pub maker_name: String,
    pub livemode: bool,
    pub scope: Scope,
    pub audience: i64,
    pub url: String,
    pub kinds: Option<Vec<String>>,
    pub state: WebhookState,
    pub run: i32,
    pub created_at: DateTime<Utc>,
    /// Whether the workspace's plan sends webhooks at all.
    pub in_plan: bool,
    pub rotated_at: Option<DateTime<Utc>>,
    /// The first failure since the last success.
    pub failing_since: Option<DateTime<Utc>>,
}

impl Webhook {
    /// What people read: a plan without webhooks stops them all.
    pub fn status(&self) -> &'static str {
        if self.in_plan { self.state.as_str() } else { "plan" }
    }

    /// Until when the secret before the present one signs too.
    pub fn old_secret_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.rotated_at.map(signs_until).filter(|until| now < *until)
    }

    /// What a private webhook hears, and where it sends it, is its maker's. Others see that it is there, and stop it.
    pub fn is_open_to(&self, by: &By) -> bool {
        match by {
            By::System => true,
            By::Person { id, .. } => self.scope == Scope::Team || *id == self.maker,
            By::Agent { .. } | By::Rule { .. } => false,
        }
    }

    /// As the audit log calls it. The rest of an address may hold a token.
    pub fn called(&self) -> String {
        match self.scope {
            Scope::Team => self.host(),
            Scope::Private => format!("private, of {}", self.maker_name),
        }
    }

    pub fn host(&self) -> String {
        let url = url::Url::parse(&self.url).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }
}

pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Webhook>> {
    read(conn, workspace, None).await
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: WebhookId) -> Result<Webhook> {
    read(conn, workspace, Some(id)).await?.pop().ok_or(NO_WEBHOOK)
}

/// One whose address, secret and log somebody may see. What is another person's is as if it were not there.
pub async fn find_open(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    by: &By,
    id: WebhookId,
) -> Result<Webhook> {
    let found = find(conn, workspace, id).await?;
    let is_open = match by {
        By::Agent { id, .. } => Reach::load(conn, workspace, *id).await?.has(&found),
        _ => found.is_open_to(by),
    };
    if is_open { Ok(found) } else { Err(NO_WEBHOOK) }
}

/// All that somebody may look into.
pub async fn list_open(conn: &mut PgConnection, workspace: WorkspaceId, by: &By) -> Result<Vec<Webhook>> {
    let mut all = list(conn, workspace).await?;
    match by {
        By::Agent { id, .. } => {
            let reach = Reach::load(conn, workspace, *id).await?;
            all.retain(|webhook| reach.has(webhook));
        }
        _ => all.retain(|webhook| webhook.is_open_to(by)),
    }
    Ok(all)
}

/// What a key can manage: webhooks of its own mode, which hear no more than it sees. Its maker runs the workspace, or it
/// manages nothing.
struct Reach {
    maker: PersonId,
    livemode: bool,
}

impl Reach {
    async fn load(conn: &mut PgConnection, workspace: WorkspaceId, agent: AgentId) -> Result<Self> {
        let key = keys::at_work(conn, workspace, agent).await?.ok_or(Error::Unauthorized)?;
        if !people::role_of(conn, workspace, key.private_of).await?.administers() {
            return Err(Error::Forbidden(
                "Only owners and admins manage webhooks, and the person who made this key is no longer one."
                    .into(),
            ));
        }
        Ok(Self { maker: key.private_of, livemode: key.livemode })
    }

    fn has(&self, webhook: &Webhook) -> bool {
        webhook.livemode == self.livemode && (webhook.scope == Scope::Team || webhook.maker == self.maker)
    }
}

async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: Option<WebhookId>,
) -> Result<Vec<Webhook>> {
    Ok(sqlx::query_as!(
        Webhook,
        r#"select webhooks.id as "id: WebhookId", maker_id as "maker: PersonId", people.name as maker_name, livemode,
                  scope as "scope: Scope", audience as "audience!", url, kinds, state as "state: WebhookState", run,
                  webhooks.created_at, plan <> 'free' as "in_plan!", rotated_at, failing_since
           from webhooks join workspaces on workspaces.id = webhooks.workspace_id
           join people on people.workspace_id = webhooks.workspace_id and people.id = maker_id
           join webhook_lanes lane on lane.workspace_id = webhooks.workspace_id and lane.webhook_id = webhooks.id
           where webhooks.workspace_id = $1 and ($2::bigint is null or webhooks.id = $2)
             and webhooks.removed_at is null
           order by webhooks.id"#,
        workspace.0,
        id.map(|id| id.0)
    )
    .fetch_all(conn)
    .await?)
}
