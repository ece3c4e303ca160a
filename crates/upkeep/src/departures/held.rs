//! What somebody holds, so that whoever removes them decides about each: nothing is handed over or closed unseen.
//! Of private inboxes it tells how many there are, and nothing of what is in them.

use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{PersonId, WorkspaceId};

#[derive(Debug)]
pub struct Held {
    /// Assigned to them and not closed, of inboxes that the team sees.
    pub conversations: i64,
    /// What they are writing in inboxes of the team.
    pub drafts: i64,
    /// What they are writing in private inboxes, which goes with those.
    pub private_drafts: i64,
    /// Mail of theirs that has not left yet.
    pub scheduled: i64,
    pub private_inboxes: i64,
    pub private_conversations: i64,
    /// The names of their keys.
    pub keys: Vec<String>,
    /// Where their webhooks go, of the team's inboxes.
    pub webhooks: Vec<String>,
    pub private_webhooks: i64,
    /// Addresses they invited that have not joined.
    pub invitations: Vec<String>,
}

pub async fn by(conn: &mut PgConnection, workspace: WorkspaceId, person: PersonId) -> Result<Held> {
    Ok(sqlx::query_as!(
        Held,
        r#"select
               (select count(*) from conversations
                where workspace_id = $1 and assignee_id = $2 and assignee_type = 'user' and status <> 'closed'
                  and audience = 0) as "conversations!",
               writing.team as "drafts!", writing.private as "private_drafts!",
               (select count(*) from messages
                where workspace_id = $1 and author_id = $2 and author_type = 'user' and status = 'scheduled')
                   as "scheduled!",
               (select count(*) from mailboxes
                where workspace_id = $1 and owner_id = $2 and closed_at is null) as "private_inboxes!",
               (select count(*) from conversations where workspace_id = $1 and audience = $2)
                   as "private_conversations!",
               array(select name from agents
                     where workspace_id = $1 and maker_id = $2 and revoked_at is null order by lower(name))
                   as "keys!",
               array(select url from webhooks
                     where workspace_id = $1 and maker_id = $2 and scope = 'team' and state <> 'off' order by id)
                   as "webhooks!",
               (select count(*) from webhooks
                where workspace_id = $1 and maker_id = $2 and scope = 'private' and state <> 'off')
                   as "private_webhooks!",
               array(select email from invitations
                     where workspace_id = $1 and invited_by = $2 order by email) as "invitations!"
           from (select count(*) filter (where m.audience is distinct from $2) as team,
                     count(*) filter (where m.audience = $2) as private
                 from written_drafts d
                 left join conversations c on c.workspace_id = $1 and c.id = d.conversation_id
                 left join mailboxes m on m.workspace_id = $1 and m.id = coalesce(c.mailbox_id, d.mailbox_id)
                 where d.workspace_id = $1 and d.person_id = $2 and became is null) writing"#,
        workspace.0,
        person.0
    )
    .fetch_one(conn)
    .await?)
}
