//! The people of a workspace as its owners and admins see them: how each signs in, and when they were last here.
//! What stands in somebody's private inboxes is nobody's business; how many there are is.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::workspace::people::Role;
use rookery_base::error::Result;
use rookery_base::ids::{PersonId, WorkspaceId};

/// More than anybody scrolls through.
const MOST: i64 = 1000;

#[derive(Debug)]
pub struct ListedPerson {
    pub id: PersonId,
    pub name: String,
    pub email: String,
    pub role: Role,
    pub has_password: bool,
    pub has_passkey: bool,
    pub has_sso: bool,
    pub has_second_factor: bool,
    pub private_inboxes: i64,
    /// The last request, to within some minutes.
    pub seen_at: Option<DateTime<Utc>>,
    pub away_from: Option<DateTime<Utc>>,
    pub away_until: Option<DateTime<Utc>>,
}

/// Owners first, then by name.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<ListedPerson>> {
    Ok(sqlx::query_as!(
        ListedPerson,
        r#"select id as "id: PersonId", name, email, role as "role: Role",
               exists (select from passwords where workspace_id = $1 and person_id = people.id) as "has_password!",
               exists (select from passkeys where workspace_id = $1 and person_id = people.id) as "has_passkey!",
               exists (select from sso_accounts where workspace_id = $1 and person_id = people.id) as "has_sso!",
               exists (select from second_factors where workspace_id = $1 and person_id = people.id)
                   as "has_second_factor!",
               (select count(*) from mailboxes where workspace_id = $1 and owner_id = people.id) as "private_inboxes!",
               greatest(signed_in_at, (select max(seen_at) from sessions
                                       where workspace_id = $1 and person_id = people.id)) as seen_at,
               away_from, away_until
           from people where workspace_id = $1 and removed_at is null
           order by role <> 'owner', role <> 'admin', lower(name), id limit $2"#,
        workspace.0,
        MOST
    )
    .fetch_all(conn)
    .await?)
}
