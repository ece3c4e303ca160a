//! `/settings/webhooks/new`: makes a webhook. The answer to the form is the page with its secret, which is shown this
//! once and stands in no address.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::settings::webhooks::address::AddressVerdict;
use crate::settings::webhooks::events::{self, Choices};
use crate::settings::webhooks::{PATH, secret};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::{Form, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::webhook::Scope;

#[derive(Template)]
#[template(path = "settings/webhooks/new.html")]
struct NewPage {
    shell: Shell,
    page: &'static str,
    url: String,
    verdict: AddressVerdict,
    is_test: bool,
    is_private: bool,
    choices: Choices,
    problem: Option<String>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut page = page(&asked);
    page.is_test = asked.query("mode") == Some("test");
    respond::page(&page)
}

/// The button beside the address, and what script asks while somebody types: only looks, and makes nothing.
pub async fn check(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let verdict = AddressVerdict::look_up(&asked, form.text("url")?).await?;
    respond::page(&as_sent(page(&asked), &form, verdict))
}

pub async fn make(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let is_test = form.get("mode") == Some("test");
    let scope = if form.get("scope") == Some("private") { Scope::Private } else { Scope::Team };
    let made = async {
        let kinds = events::read(&form)?;
        let wanted = WebhookParameters {
            maker: asked.person.id,
            url: form.text("url")?,
            livemode: !is_test,
            scope,
            kinds: &kinds,
        };
        create(asked.app(), asked.person.workspace, &asked.person.by(), wanted).await
    };
    match made.await {
        Ok(made) => secret::shown(&asked, made, secret::Because::Made).await,
        Err(Error::Problems(problems)) => {
            let (of_url, others): (Vec<_>, Vec<_>) =
                problems.into_iter().partition(|problem| problem.field == "url");
            let verdict = if of_url.is_empty() {
                AddressVerdict::Unknown
            } else {
                AddressVerdict::refused(Error::Problems(of_url))?
            };
            let mut page = as_sent(page(&asked), &form, verdict);
            page.problem = (!others.is_empty()).then(|| Error::Problems(others).sentence());
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

fn page(asked: &MemberRequest) -> NewPage {
    NewPage {
        shell: Shell::frame(asked, Here::Settings),
        page: PATH,
        url: String::new(),
        verdict: AddressVerdict::Unknown,
        is_test: false,
        is_private: false,
        choices: Choices::for_kinds(None),
        problem: None,
    }
}

/// Nothing that was typed is lost.
fn as_sent(mut page: NewPage, form: &Form, verdict: AddressVerdict) -> NewPage {
    page.url = form.get("url").unwrap_or_default().to_owned();
    page.is_test = form.get("mode") == Some("test");
    page.is_private = form.get("scope") == Some("private");
    page.choices = events::as_sent(form);
    page.verdict = verdict;
    page
}
