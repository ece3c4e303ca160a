//! Revoking a key: what it does is told first, because it cannot be taken back. The list stands behind the question, so
//! that one sees where one is.

use askama::Template;
use axum::response::Response;

use crate::error::{NO_AGENT, Result};
use crate::ids::AgentId;
use crate::replies::agents::activity::{self, Consequences};
use crate::replies::revoke_key;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;
use crate::workspace::agents::list::{self, Listed};

#[derive(Template)]
#[template(path = "settings/keys/revoke.html")]
struct RevokePage {
    shell: Shell,
    page: &'static str,
    key: Listed,
    does: Consequences,
}

pub async fn ask(asked: Asked) -> Result<Response> {
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

pub async fn revoke(asked: Asked) -> Result<Response> {
    let agent: AgentId = asked.id("id")?;
    revoke_key::revoke(asked.app(), asked.person.workspace, &asked.person.by(), agent).await?;
    Ok(respond::see_other_with(super::PATH, Toast::new(Done::KeyRevoked, "")))
}
