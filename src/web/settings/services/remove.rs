//! `/settings/services/{id}/remove`: what disconnecting a service means, and then doing it.
//! Mail that it reported stays on record.

use askama::Template;
use axum::response::Response;

use crate::app_mail::connect::{disconnect, find};
use crate::error::Result;
use crate::ids::SendingServiceId;
use crate::web::respond;
use crate::web::settings::services::PATH;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "settings/services/remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    id: SendingServiceId,
    name: String,
    provider: &'static str,
}

pub async fn ask(asked: Asked) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    let found = find(&mut *asked.reading().await?, asked.person.workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&RemovePage { shell, page: PATH, id, name: found.name, provider: found.provider.name() })
}

pub async fn remove(asked: Asked) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    disconnect(asked.app(), asked.person.workspace, asked.person.id, id).await?;
    Ok(respond::see_other_with(PATH, Toast::new(Done::ServiceDisconnected, "")))
}
