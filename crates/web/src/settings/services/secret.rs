//! A secret that we made, shown once: after connecting, and after `/settings/services/{id}/rotate`. The page is the answer
//! to the form itself, so the secret stands in no address, and a reload does not show it again.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::settings::services::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::SendingServiceId;
use rookery_product::app_mail::adapters::{Provider, postmark};
use rookery_product::app_mail::connect::{find, hook};
use rookery_product::app_mail::manage;

#[derive(Clone, Copy, PartialEq)]
pub enum Because {
    Connected,
    Rotated,
}

#[derive(Template)]
#[template(path = "settings/services/secret.html")]
struct SecretPage {
    shell: Shell,
    page: &'static str,
    id: SendingServiceId,
    name: String,
    provider: Provider,
    address: String,
    user: &'static str,
    /// Empty when the service has a key of its own.
    secret: String,
    is_new: bool,
    old_until: Option<DateTime<Utc>>,
}

/// A service with a key of its own leads on to its page, where that key is entered.
pub async fn shown(
    asked: &MemberRequest,
    id: SendingServiceId,
    secret: String,
    because: Because,
) -> Result<Response> {
    if secret.is_empty() {
        return Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::ServiceConnected, "")));
    }
    let workspace = asked.person.workspace;
    let found = find(&mut *asked.reading().await?, workspace, id).await?;
    let shell = Shell::frame(asked, Here::Settings);
    let is_new = because == Because::Connected;
    let page = SecretPage {
        page: PATH,
        id,
        address: hook(asked.app(), workspace, id),
        user: postmark::USER,
        secret,
        is_new,
        old_until: found.old_secret_until(shell.times.now),
        provider: found.provider,
        name: found.name,
        shell,
    };
    respond::page_with(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &page)
}

#[derive(Template)]
#[template(path = "settings/services/rotate.html")]
struct RotatePage {
    shell: Shell,
    page: &'static str,
    id: SendingServiceId,
    name: String,
    /// A rotation is under way: the secret before the present one would end at once.
    old_until: Option<DateTime<Utc>>,
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    let found = find(&mut *asked.reading().await?, asked.person.workspace, id).await?;
    if !found.provider.uses_our_secret() {
        return Err(Error::Missing("This service has a key of its own. Enter the new one on its page."));
    }
    let shell = Shell::frame(&asked, Here::Settings);
    let old_until = found.old_secret_until(shell.times.now);
    respond::page(&RotatePage { page: PATH, id, name: found.name, old_until, shell })
}

pub async fn rotate(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    let secret = manage::rotate(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    shown(&asked, id, secret, Because::Rotated).await
}

pub async fn end_old(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    manage::end_old_secret(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::ServiceOldSecretEnded, "")))
}
