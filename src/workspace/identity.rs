//! Who a workspace is to the outside: the names and domains that a scam would borrow.
//! The scam check compares incoming mail with them.

use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::WorkspaceId;

#[derive(Clone, Debug)]
pub struct Identity {
    pub name: String,
    pub team_names: Vec<String>,
    /// Domains of the live inboxes.
    pub domains: Vec<String>,
}

pub async fn of(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Identity> {
    Ok(sqlx::query_as!(
        Identity,
        r#"select name,
               array(select name from people where workspace_id = $1 and removed_at is null) as "team_names!",
               array(select distinct split_part(address, '@', 2) from mailboxes
                     where workspace_id = $1 and kind <> 'sandbox') as "domains!"
           from workspaces where id = $1"#,
        workspace.0
    )
    .fetch_one(conn)
    .await?)
}
