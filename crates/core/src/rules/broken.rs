//! Rules that name what is gone: somebody who left, an agent whose key was revoked, an inbox that was closed. Such a rule
//! is passed over until somebody mends it, and its page says what to do. Mail is never kept waiting by it.

use std::collections::HashSet;

use sqlx::PgConnection;

use crate::rules::definition::{Action, Definition};
use crate::workspace::access::MemberId;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;

/// Ids that rules name and that are not there any more.
#[derive(Debug, Default)]
pub struct Gone {
    people: HashSet<i64>,
    agents: HashSet<i64>,
    inboxes: HashSet<i64>,
}

impl Gone {
    /// What of everything that these name is gone, in one statement, or none when they name nothing.
    pub async fn among(
        conn: &mut PgConnection,
        workspace: WorkspaceId,
        definitions: &[Definition],
    ) -> Result<Self> {
        let members = || definitions.iter().flat_map(Definition::members);
        let people: Vec<i64> = definitions.iter().flat_map(Definition::people).map(|id| id.0).collect();
        let agents: Vec<i64> = members()
            .filter_map(|member| match member {
                MemberId::Agent(id) => Some(id.0),
                MemberId::Person(_) => None,
            })
            .collect();
        let inboxes: Vec<i64> = definitions.iter().flat_map(Definition::inboxes).map(|id| id.0).collect();
        if people.is_empty() && agents.is_empty() && inboxes.is_empty() {
            return Ok(Self::default());
        }
        let row = sqlx::query!(
            r#"select
                   array(select asked.id from unnest($2::bigint[]) asked(id) where not exists (
                       select from people where workspace_id = $1 and people.id = asked.id and removed_at is null)) as "people!",
                   array(select asked.id from unnest($3::bigint[]) asked(id) where not exists (
                       select from agents where workspace_id = $1 and agents.id = asked.id and revoked_at is null and livemode)) as "agents!",
                   array(select asked.id from unnest($4::bigint[]) asked(id) where not exists (
                       select from mailboxes where workspace_id = $1 and mailboxes.id = asked.id and closed_at is null
                         and kind <> 'sandbox')) as "inboxes!""#,
            workspace.0,
            &people,
            &agents,
            &inboxes
        )
        .fetch_one(conn)
        .await?;
        Ok(Self {
            people: row.people.into_iter().collect(),
            agents: row.agents.into_iter().collect(),
            inboxes: row.inboxes.into_iter().collect(),
        })
    }

    fn has(&self, member: MemberId) -> bool {
        match member {
            MemberId::Person(id) => self.people.contains(&id.0),
            MemberId::Agent(id) => self.agents.contains(&id.0),
        }
    }
}

/// What is wrong with a rule and what to do, in sentences. None of them names what the reader may not see.
pub fn problems(definition: &Definition, gone: &Gone) -> Vec<&'static str> {
    let mut told = Vec::new();
    for action in &definition.then {
        match action {
            Action::Assign { to } if gone.has(*to) => told.push(match to {
                MemberId::Person(_) => "assigns to somebody who has left the team, choose somebody else",
                MemberId::Agent(_) => "assigns to an agent whose key was revoked, choose another",
            }),
            Action::Notify { person } if gone.has(MemberId::Person(*person)) => {
                told.push("tells somebody who has left the team, choose somebody else");
            }
            _ => {}
        }
    }
    if definition.inboxes().any(|inbox| gone.inboxes.contains(&inbox.0)) {
        told.push("names an inbox that is closed, choose another or remove that condition");
    }
    told
}
