//! The test keys of a workspace: whose agents work in the sandbox. Only what people may read of them, never a key.
//! Keys are made and revoked in `workspace/keys.rs`.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{AgentId, WorkspaceId};

/// As many as a page shows.
const MOST: i64 = 100;

pub struct TestKey {
    pub agent: AgentId,
    pub name: String,
    pub maker: String,
    pub scopes: Vec<String>,
    pub hint: String,
    pub created_at: DateTime<Utc>,
}

/// Newest first.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<TestKey>> {
    Ok(sqlx::query_as!(
        TestKey,
        r#"select agents.id as "agent: AgentId", agents.name, people.name as maker, scopes, key_hint as hint,
                  agents.created_at
           from agents join people on people.workspace_id = agents.workspace_id and people.id = maker_id
           where agents.workspace_id = $1 and not livemode and revoked_at is null and removed_at is null
           order by agents.id desc limit $2"#,
        workspace.0,
        MOST
    )
    .fetch_all(conn)
    .await?)
}
