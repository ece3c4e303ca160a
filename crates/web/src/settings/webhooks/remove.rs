//! `/settings/webhooks/{id}/remove`: what removing a webhook means, and then doing it.
//! Owners and admins can also remove another person's private one, of which they see nothing else.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::webhooks::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::WebhookId;
use rookery_webhooks::{remove as verb, webhook};

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

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let found = webhook::find(&mut reading, asked.person.workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let (name, back) = if found.is_open_to(&asked.person.by()) {
        (found.host(), format!("{PATH}/{id}"))
    } else {
        (format!("the private webhook of {}", found.maker_name), PATH.to_owned())
    };
    respond::page(&RemovePage { shell, page: PATH, id, name, back })
}

pub async fn remove(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    verb::remove(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::WebhookRemoved, "")))
}
