//! Who a conversation can be given to (specification 2.4 `team`): the people and agents who can see it.
//! Exactly these are accepted by assigning.

use sqlx::PgConnection;

use crate::conversations::conversation::{Conversation, Member};
use crate::workspace::access::{Actor, MemberId, SANDBOX, TEAM};
use crate::workspace::people::away::Absence;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;

/// People and agents, each by name. Nobody but test agents can see the sandbox; a private inbox is seen by
/// its owner and the keys the owner made.
pub async fn for_conversation(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
) -> Result<Vec<Member>> {
    seeing(conn, workspace, conversation.audience).await
}

/// Everybody who sees what the whole team sees.
pub async fn everybody(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Member>> {
    seeing(conn, workspace, TEAM).await
}

/// Everybody who sees what somebody sees that is not private.
pub async fn beside(conn: &mut PgConnection, who: &Actor) -> Result<Vec<Member>> {
    seeing(conn, who.workspace, if who.livemode { TEAM } else { SANDBOX }).await
}

async fn seeing(conn: &mut PgConnection, workspace: WorkspaceId, audience: i64) -> Result<Vec<Member>> {
    let rows = sqlx::query!(
        r#"select 'user' as "kind!", id as "id!", name as "name!", away_from, away_until from people
           where workspace_id = $1 and removed_at is null and ($2::bigint = $3::bigint or id = $2)
           union all
           select 'agent', agents.id, agents.name, null, null from agents
           join people makers on makers.workspace_id = agents.workspace_id and makers.id = maker_id
           where agents.workspace_id = $1 and revoked_at is null and livemode = ($2 <> $4::bigint)
             and makers.removed_at is null and ($2 in ($3, $4) or maker_id = $2)"#,
        workspace.0,
        audience,
        TEAM,
        SANDBOX
    )
    .fetch_all(conn)
    .await?;
    let members = rows.into_iter().filter_map(|row| {
        let absence = Absence::stored(row.away_from, row.away_until);
        MemberId::stored(Some(row.kind.as_str()), row.id).map(|id| Member { id, name: row.name, absence })
    });
    let mut team: Vec<_> = members.collect();
    team.sort_by_cached_key(|member| (member.name.to_lowercase(), member.name.clone()));
    Ok(team)
}
