//! Plans (specification 5.10).
//! The API, the MCP server and webhooks belong to Pro and Team.

use sqlx::PgConnection;

use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type, clap::ValueEnum)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Plan {
    Free,
    Pro,
    Team,
}

impl Plan {
    pub fn needs_api(self) -> Result<()> {
        match self {
            Self::Pro | Self::Team => Ok(()),
            Self::Free => Err(Error::Forbidden(
                "This workspace's plan has no API access. It is part of Pro and Team.".into(),
            )),
        }
    }
}

pub async fn plan_of(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Plan> {
    Ok(sqlx::query_scalar!(r#"select plan as "plan: Plan" from workspaces where id = $1"#, workspace.0)
        .fetch_one(conn)
        .await?)
}
