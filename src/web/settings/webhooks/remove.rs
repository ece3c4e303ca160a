//! `/settings/webhooks/{id}/remove`: what removing a webhook means, and then doing it.
//! Owners and admins can also remove another person's private one, of which they see nothing else.

use askama::Template;
use axum::response::Response;

use crate::error::Result;
use crate::ids::WebhookId;
use crate::web::respond;
use crate::web::settings::webhooks::PATH;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;
use crate::webhooks::{remove as verb, webhook};

#[derive(Template)]
#[template(path = "settings/webhooks/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: WebhookId,
    name: String,
    /// Where "keep it" leads.
    back: String,
}

pub async fn ask(asked: Asked) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let found = webhook::find(&mut reading, asked.person.workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let (name, back) = match found.is_open_to(&asked.person.by()) {
        true => (found.host(), format!("{PATH}/{id}")),
        false => (format!("the private webhook of {}", found.maker_name), PATH.to_owned()),
    };
    respond::page(&RemovePage { shell, page: PATH, id, name, back })
}

pub async fn remove(asked: Asked) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    verb::remove(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::WebhookRemoved, "")))
}
