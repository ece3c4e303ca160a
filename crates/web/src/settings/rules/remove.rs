//! `/settings/rules/{id}/remove`: what removing a rule means, and then doing it.
//! What it did to conversations stays, and so do its entries on their timelines.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::rules::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::RuleId;
use rookery_core::rules::store;

#[derive(Template)]
#[template(path = "settings/rules/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: RuleId,
    name: String,
    is_on: bool,
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let rule = store::find(&mut reading, asked.person.workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&RemovePage { shell, page: PATH, id, name: rule.name, is_on: rule.is_on })
}

pub async fn remove(asked: MemberRequest) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    store::remove(&mut tx, &asked.person.by(), id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::RuleRemoved, "")))
}
