//! The list of agents: what each did in the last 30 days, and the button that stops all of them.
//! Test agents work in the sandbox; their numbers stand beside the others.

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;

use crate::respond;
use crate::settings::agents::{chart, limits};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::AgentId;
use rookery_core::workspace::agents::days::{self, CountedDay, Numbers};
use rookery_core::workspace::agents::list::{self, ListedAgent};
use rookery_core::workspace::agents::secure_words;
use rookery_core::workspace::people::Role;
use rookery_product::replies::agents::stop::{self, StopStanding};

#[derive(Template)]
#[template(path = "settings/agents/list.html")]
struct AgentsPage {
    shell: Shell,
    page: &'static str,
    agents: Vec<AgentRow>,
    standing: StopStanding,
    reads_secure: bool,
    is_owner: bool,
}

struct AgentRow {
    agent: ListedAgent,
    did: Numbers,
    picture: Safe<String>,
    limits: Option<String>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let (workspace, person) = (asked.person.workspace, asked.person.id);
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let mut agents = list::all(&mut reading, workspace).await?;
    agents.retain(|agent| agent.revoked_at.is_none());
    let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id).collect();
    let days = days::lately(&mut reading, workspace, person, &ids, shell.times.now).await?;
    let standing = stop::standing(&mut reading, &asked.person).await?;
    let agents = agents
        .into_iter()
        .map(|agent| {
            let own: Vec<CountedDay> =
                days.iter().filter(|(id, _)| *id == agent.id).map(|(_, day)| *day).collect();
            let did = own.iter().map(|day| day.did).sum();
            AgentRow { picture: chart::small(&own), limits: limits::in_words(&agent.caps), did, agent }
        })
        .collect();
    let reads_secure = secure_words::may_read(&mut reading, workspace).await?;
    let is_owner = asked.person.role == Role::Owner;
    respond::page(&AgentsPage { shell, page: super::PATH, agents, standing, reads_secure, is_owner })
}
