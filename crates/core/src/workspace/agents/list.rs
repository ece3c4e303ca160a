//! The agents of a workspace with their keys, as owners and admins see them: never a secret, only the hint that was kept.
//! Those whose keys are revoked stand after the others.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::workspace::access::Scope;
use crate::workspace::agents::caps::Caps;
use rookery_base::error::{NO_AGENT, Result};
use rookery_base::ids::{AgentId, PersonId, WorkspaceId};

/// Revoked ones that are shown, the newest.
const MOST_REVOKED: i64 = 50;
/// More than anybody looks through.
const MOST: i64 = 500;

#[derive(Clone, Debug)]
pub struct ListedAgent {
    pub id: AgentId,
    pub name: String,
    /// `rk_live_…b7Qx`
    pub hint: String,
    pub scopes: Vec<Scope>,
    pub livemode: bool,
    pub maker: PersonId,
    pub maker_name: String,
    pub made_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub used: Option<Used>,
    pub caps: Caps,
}

#[derive(Clone, Debug)]
pub struct Used {
    pub at: DateTime<Utc>,
    pub network: String,
    pub client: String,
}

struct AgentListRow {
    id: AgentId,
    name: String,
    hint: String,
    scopes: Vec<String>,
    livemode: bool,
    maker: PersonId,
    maker_name: String,
    made_at: DateTime<Utc>,
    revoked_at: Option<DateTime<Utc>>,
    used_at: Option<DateTime<Utc>>,
    network: Option<String>,
    client: Option<String>,
    sends: Option<i32>,
    drafts: Option<i32>,
    messages: Option<i32>,
}

macro_rules! agents {
    ($conn:expr, $which:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            AgentListRow,
            r#"select a.id as "id!: AgentId", a.name as "name!", a.key_hint as "hint!", a.scopes as "scopes!",
                   a.livemode as "livemode!", a.maker_id as "maker!: PersonId", p.name as "maker_name!",
                   a.created_at as "made_at!", a.revoked_at, u.used_at as "used_at?", u.network as "network?",
                   u.client as "client?", a.daily_sends as sends, a.daily_drafts as drafts,
                   a.daily_cap as messages
               from ("# + $which + r#") a
               join people p on p.workspace_id = a.workspace_id and p.id = a.maker_id
               left join key_uses u on u.workspace_id = a.workspace_id and u.agent_id = a.id
               order by a.revoked_at desc nulls first, not a.livemode, lower(a.name), a.id"#,
            $($argument),*
        )
    };
}

pub async fn all(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<ListedAgent>> {
    let rows = agents!(
        conn,
        "(select * from agents where workspace_id = $1 and revoked_at is null limit $3)
         union all
         (select * from agents where workspace_id = $1 and revoked_at is not null order by revoked_at desc limit $2)",
        workspace.0,
        MOST_REVOKED,
        MOST
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(ListedAgent::from).collect())
}

pub async fn one(conn: &mut PgConnection, workspace: WorkspaceId, agent: AgentId) -> Result<ListedAgent> {
    let row = agents!(conn, "select * from agents where workspace_id = $1 and id = $2", workspace.0, agent.0);
    row.fetch_optional(conn).await?.map(ListedAgent::from).ok_or(NO_AGENT)
}

impl From<AgentListRow> for ListedAgent {
    fn from(row: AgentListRow) -> Self {
        let used = match (row.used_at, row.network, row.client) {
            (Some(at), Some(network), Some(client)) => Some(Used { at, network, client }),
            _ => None,
        };
        Self {
            id: row.id,
            name: row.name,
            hint: row.hint,
            scopes: row.scopes.iter().filter_map(|scope| scope.parse().ok()).collect(),
            livemode: row.livemode,
            maker: row.maker,
            maker_name: row.maker_name,
            made_at: row.made_at,
            revoked_at: row.revoked_at,
            used,
            caps: Caps { sends: row.sends, drafts: row.drafts, messages: row.messages },
        }
    }
}
