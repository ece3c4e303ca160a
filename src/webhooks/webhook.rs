//! A webhook as people see it, and finding one.
//! Its secret is never part of it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::ids::{PersonId, WebhookId, WorkspaceId};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, sqlx::Type)]
#[serde(rename_all = "lowercase")]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum State {
    Active,
    /// By a person, or by a day of failures.
    Paused,
    /// The other side answered that it is gone.
    Off,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Off => "off",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Webhook {
    pub id: WebhookId,
    pub maker: PersonId,
    pub livemode: bool,
    pub scope: Scope,
    pub audience: i64,
    pub url: String,
    pub kinds: Option<Vec<String>>,
    pub state: State,
    pub run: i32,
    pub created_at: DateTime<Utc>,
    /// Whether the workspace's plan sends webhooks at all.
    pub in_plan: bool,
}

impl Webhook {
    /// What people read: a plan without webhooks stops them all.
    pub fn status(&self) -> &'static str {
        if self.in_plan { self.state.as_str() } else { "plan" }
    }
}

pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Webhook>> {
    read(conn, workspace, None).await
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: WebhookId) -> Result<Webhook> {
    read(conn, workspace, Some(id)).await?.pop().ok_or(NO_WEBHOOK)
}

async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: Option<WebhookId>,
) -> Result<Vec<Webhook>> {
    Ok(sqlx::query_as!(
        Webhook,
        r#"select webhooks.id as "id: WebhookId", maker_id as "maker: PersonId", livemode,
                  scope as "scope: Scope", audience as "audience!", url, kinds, state as "state: State", run,
                  webhooks.created_at, plan <> 'free' as "in_plan!"
           from webhooks join workspaces on workspaces.id = webhooks.workspace_id
           where workspace_id = $1 and ($2::bigint is null or webhooks.id = $2)
           order by webhooks.id"#,
        workspace.0,
        id.map(|id| id.0)
    )
    .fetch_all(conn)
    .await?)
}
