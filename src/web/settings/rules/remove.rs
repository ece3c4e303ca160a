//! `/settings/rules/{id}/remove`: what removing a rule means, and then doing it.
//! What it did to conversations stays, and so do its entries on their timelines.

use askama::Template;
use axum::response::Response;

use crate::error::Result;
use crate::ids::RuleId;
use crate::rules::store;
use crate::web::respond;
use crate::web::settings::rules::PATH;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "settings/rules/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: RuleId,
    name: String,
    is_on: bool,
}

pub async fn ask(asked: Asked) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let rule = store::find(&mut reading, asked.person.workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&RemovePage { shell, page: PATH, id, name: rule.name, is_on: rule.is_on })
}

pub async fn remove(asked: Asked) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    store::remove(&mut tx, &asked.person.by(), id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::RuleRemoved, "")))
}
