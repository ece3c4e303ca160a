//! The address field of a webhook: checked by the rules that hold for every request, with what came of it in a sentence
//! beside the field. And `/settings/webhooks/{id}/address`, another address for one that is there.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::settings::webhooks::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WebhookId;
use rookery_webhooks::{manage, webhook};

/// What is known of the address in the field.
pub enum AddressVerdict {
    /// It was not looked at yet.
    Unknown,
    Good,
    Wrong(String),
}

impl AddressVerdict {
    /// Looks the address up. Nothing is sent to it.
    pub async fn look_up(asked: &MemberRequest, url: &str) -> Result<Self> {
        if url.trim().is_empty() {
            return Ok(Self::Wrong("Enter the https address of your app.".to_owned()));
        }
        match asked.app().outside.a_public_address("The address", url).await {
            Ok(_) => Ok(Self::Good),
            Err(error) => Self::refused(error),
        }
    }

    /// The verdict of a refused address. Other errors are passed on.
    pub fn refused(error: Error) -> Result<Self> {
        match error {
            Error::Problems(problems) => {
                let what: Vec<String> = problems.into_iter().map(|problem| problem.what).collect();
                Ok(Self::Wrong(format!("The address {}.", what.join(", and "))))
            }
            error => Err(error),
        }
    }

    /// For templates.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Good)
    }

    pub fn wrong(&self) -> Option<&str> {
        match self {
            Self::Wrong(sentence) => Some(sentence),
            _ => None,
        }
    }
}

#[derive(Template)]
#[template(path = "settings/webhooks/address.html")]
struct AddressPage {
    shell: Shell,
    page: &'static str,
    id: WebhookId,
    url: String,
    verdict: AddressVerdict,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let found = webhook::find_open(&mut reading, asked.person.workspace, &asked.person.by(), id).await?;
    drop(reading);
    form(&asked, id, found.url, AddressVerdict::Unknown)
}

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let form_sent = asked.form().await?;
    let (by, url) = (asked.person.by(), form_sent.text("url")?);
    // Whose it is comes before what is wrong with the address.
    let mut reading = asked.reading().await?;
    webhook::find_open(&mut reading, asked.person.workspace, &by, id).await?;
    drop(reading);
    if form_sent.flag("check") {
        return form(&asked, id, url.to_owned(), AddressVerdict::look_up(&asked, url).await?);
    }
    match manage::change_address(asked.app(), asked.person.workspace, &by, id, url).await {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::WebhookAddress, ""))),
        Err(error) => form(&asked, id, url.to_owned(), AddressVerdict::refused(error)?),
    }
}

fn form(asked: &MemberRequest, id: WebhookId, url: String, verdict: AddressVerdict) -> Result<Response> {
    let shell = Shell::frame(asked, Here::Settings);
    let status = if verdict.wrong().is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    respond::page_with(status, &AddressPage { shell, page: PATH, id, url, verdict })
}
