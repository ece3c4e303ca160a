//! What is done to a connection by one press: pause, resume, entering the key that the service signs with. Each leads back
//! to the connection's page.

use axum::response::Response;

use crate::respond;
use crate::settings::services::{PATH, show};
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::SendingServiceId;
use rookery_product::app_mail::manage;

pub async fn pause(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    manage::pause(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    Ok(back(id, Done::ServicePaused))
}

pub async fn resume(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    manage::resume(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    Ok(back(id, Done::ServiceResumed))
}

pub async fn enter_key(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    let form = asked.form().await?;
    let key = form.get("key").unwrap_or_default();
    match manage::set_key(asked.app(), asked.person.workspace, &asked.person.by(), id, key).await {
        Ok(()) => Ok(back(id, Done::ServiceKeyEntered)),
        Err(Error::Problems(problems)) => {
            let what: Vec<String> = problems.into_iter().map(|problem| problem.what).collect();
            show::page(&asked, id, Some(format!("The key {}.", what.join(", and ")))).await
        }
        Err(error) => Err(error),
    }
}

fn back(id: SendingServiceId, done: Done) -> Response {
    respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(done, ""))
}
