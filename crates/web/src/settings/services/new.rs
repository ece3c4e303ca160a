//! `/settings/services/new`: choose the service, then name the connection. The answer to the form is the page with the
//! address to paste and the secret, which is shown this once and stands in no address of a page.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::settings::services::{PATH, secret};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::connect::{WantedService, connect};

#[derive(Template)]
#[template(path = "settings/services/new.html")]
struct NewPage {
    shell: Shell,
    page: &'static str,
    /// None yet: then the services are offered.
    provider: Option<Provider>,
    name: String,
    content_url: String,
    problem: Option<String>,
}

/// For templates.
impl NewPage {
    fn offered(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let about = |provider| match provider {
            Provider::Postmark => {
                "Delivery, bounce and spam complaint webhooks, with a user name and password"
            }
            Provider::Resend => "Email events, signed with the webhook’s own secret",
            Provider::Ses => "Events of a configuration set or an identity, by way of an SNS topic",
            Provider::Mailgun => "Event webhooks, signed with the account’s signing key",
            Provider::Sendgrid => "The signed Event Webhook",
            Provider::Own => "One small signed JSON request a mail, from anything that can send it",
        };
        Provider::ALL.into_iter().map(|one| (one.as_str(), one.name(), about(one))).collect()
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let provider: Option<Provider> = asked.query("service").and_then(|code| code.parse().ok());
    let name = provider.filter(|provider| *provider != Provider::Own).map_or("", Provider::name).to_owned();
    respond::page(&form(&asked, provider, name, String::new(), None))
}

pub async fn make(asked: MemberRequest) -> Result<Response> {
    let sent = asked.form().await?;
    let field = |name| sent.get(name).unwrap_or_default();
    let Ok(provider) = field("service").parse::<Provider>() else {
        let problem = Some("Choose the service first.".to_owned());
        let page = form(&asked, None, String::new(), String::new(), problem);
        return respond::page_with(StatusCode::BAD_REQUEST, &page);
    };
    let wanted = WantedService {
        person: asked.person.id,
        name: field("name"),
        provider,
        content_url: field("content_url"),
        token: field("token"),
        key: "",
    };
    match connect(asked.app(), asked.person.workspace, wanted).await {
        Ok(made) => secret::shown(&asked, made.id, made.secret, secret::Because::Connected).await,
        Err(error @ Error::Problems(_)) => {
            let (name, url) = (field("name").to_owned(), field("content_url").to_owned());
            let page = form(&asked, Some(provider), name, url, Some(error.sentence()));
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

fn form(
    asked: &MemberRequest,
    provider: Option<Provider>,
    name: String,
    content_url: String,
    problem: Option<String>,
) -> NewPage {
    NewPage { shell: Shell::frame(asked, Here::Settings), page: PATH, provider, name, content_url, problem }
}
