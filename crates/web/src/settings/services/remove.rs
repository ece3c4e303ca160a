//! `/settings/services/{id}/remove`: what disconnecting a service means, and then doing it.
//! Mail that it reported stays on record.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::services::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::SendingServiceId;
use rookery_product::app_mail::connect::{disconnect, find};

#[derive(Template)]
#[template(path = "settings/services/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: SendingServiceId,
    name: String,
    provider: &'static str,
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    let found = find(&mut *asked.reading().await?, asked.person.workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&RemovePage { shell, page: PATH, id, name: found.name, provider: found.provider.name() })
}

pub async fn remove(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    disconnect(asked.app(), asked.person.workspace, asked.person.id, id).await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::ServiceDisconnected, "")))
}
