//! A webhook's secret, shown once: after it was made, and after `/settings/webhooks/{id}/rotate`. The page is the answer
//! to the form itself, so the secret stands in no address, and a reload does not show it again.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::settings::webhooks::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::WebhookId;
use rookery_webhooks::create::NewSecret;
use rookery_webhooks::{manage, webhook};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Because {
    Made,
    Rotated,
}

#[derive(Template)]
#[template(path = "settings/webhooks/secret.html")]
struct SecretPage {
    shell: Shell,
    page: &'static str,
    id: WebhookId,
    secret: String,
    is_new: bool,
    old_until: Option<DateTime<Utc>>,
}

pub async fn shown(asked: &MemberRequest, made: NewSecret, because: Because) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let found = webhook::find(&mut reading, asked.person.workspace, made.webhook).await?;
    respond::page(&SecretPage {
        page: PATH,
        id: made.webhook,
        secret: made.secret,
        is_new: because == Because::Made,
        old_until: found.old_secret_until(shell.times.now),
        shell,
    })
}

#[derive(Template)]
#[template(path = "settings/webhooks/rotate.html")]
struct RotatePage {
    shell: Shell,
    page: &'static str,
    id: WebhookId,
    name: String,
    /// Another rotation is under way: its old secret would end at once.
    old_until: Option<DateTime<Utc>>,
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let found = webhook::find_open(&mut reading, asked.person.workspace, &asked.person.by(), id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let old_until = found.old_secret_until(shell.times.now);
    respond::page(&RotatePage { page: PATH, id, name: found.host(), old_until, shell })
}

pub async fn rotate(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let made = manage::rotate(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    shown(&asked, made, Because::Rotated).await
}

pub async fn end_old(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    manage::end_old_secret(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::OldSecretEnded, "")))
}
