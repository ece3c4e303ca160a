//! Revoking a key: what it does is told first, because it cannot be taken back. The list stands behind the question, so
//! that one sees where one is.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{NO_AGENT, Result};
use rookery_base::ids::AgentId;
use rookery_core::workspace::agents::list::{self, ListedAgent};
use rookery_product::replies::agents::activity::{self, Consequences};
use rookery_product::replies::revoke_key;

#[derive(Template)]
#[template(path = "settings/keys/revoke.html")]
struct RevokePage {
    shell: Shell,
    page: &'static str,
    key: ListedAgent,
    does: Consequences,
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let agent: AgentId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let key = list::one(&mut reading, asked.person.workspace, agent).await?;
    if key.revoked_at.is_some() {
        return Err(NO_AGENT);
    }
    let does = activity::consequences(&mut reading, &asked.person, agent).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&RevokePage { shell, page: super::PATH, key, does })
}

pub async fn revoke(asked: MemberRequest) -> Result<Response> {
    let agent: AgentId = asked.id("id")?;
    revoke_key::revoke(asked.app(), asked.person.workspace, &asked.person.by(), agent).await?;
    Ok(respond::see_other_with(super::PATH, Toast::new(Done::KeyRevoked, "")))
}
