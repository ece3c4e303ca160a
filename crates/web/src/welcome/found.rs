//! `/welcome/{token}`: the page that the link of `rookery admin first-owner` opens. Opening it changes nothing; its one form
//! makes the first workspace and signs its owner in. With any other link, or when there is a workspace, it is not there.

use askama::Template;
use axum::response::Response;

use crate::settings::profile::zones;
use crate::show::filters;
use crate::visit::{FormFields, Visit};
use crate::welcome::PATH;
use crate::{respond, session};
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_core::workspace::create::New;
use rookery_core::workspace::first_run::{self, FirstRun};
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::sessions::SignedInWith;

/// Whoever runs the service has all of it.
const PLAN: Plan = Plan::Team;

#[derive(Template)]
#[template(path = "welcome/found.html")]
struct FoundPage<'a> {
    token: &'a str,
    form: Form,
    zones: Vec<String>,
    problem: Option<String>,
}

/// As it was typed.
#[derive(Default)]
struct Form {
    name: String,
    email: String,
    workspace: String,
    zone: String,
}

impl Form {
    fn read(form: &FormFields) -> Self {
        let field = |name| form.get(name).unwrap_or_default().to_owned();
        Self {
            name: field("name"),
            email: field("email"),
            workspace: field("workspace"),
            zone: field("zone"),
        }
    }
}

pub async fn show(visit: Visit) -> Result<Response> {
    let (text, _) = link(&visit).await?;
    respond::page(&page(text, Form::default(), None))
}

pub async fn found(visit: Visit) -> Result<Response> {
    // Looked up before the body is read.
    let (text, link) = link(&visit).await?;
    let form = visit.strangers_form().await?;
    let (typed, password) = (Form::read(&form), form.get("password").unwrap_or_default());
    let (new, hash) = match checked(&visit, &typed, password).await {
        Ok(checked) => checked,
        Err(error @ (Error::Problems(_) | Error::SlowDown { .. })) => {
            let page = page(text, typed, Some(sentence(&error)));
            return respond::page_with(respond::status_of(&error), &page);
        }
        Err(error) => return Err(error),
    };
    let app = visit.app();
    let made = first_run::found(app, link, &new).await?.ok_or(NO_ENDPOINT)?;
    tracing::info!(workspace = %made.workspace, "the first workspace was made");
    let mut tx = app.begin(made.workspace).await?;
    if let Some(hash) = hash {
        passwords::set(&mut tx, made.owner, &hash).await?;
    }
    let who = Recognized { workspace: made.workspace, person: made.owner };
    session::begin(&visit, tx, who, SignedInWith::Link, Some(PATH)).await
}

async fn link(visit: &Visit) -> Result<(&str, FirstRun)> {
    let text = visit.param("token").unwrap_or_default();
    let link = FirstRun::read(text).ok_or(NO_ENDPOINT)?;
    if first_run::is_open(visit.app(), link).await? { Ok((text, link)) } else { Err(NO_ENDPOINT) }
}

/// Everything is checked before the link is used up. Without a password the owner signs in by links.
async fn checked(visit: &Visit, typed: &Form, password: &str) -> Result<(New, Option<String>)> {
    let app = visit.app();
    let zone = if typed.zone.is_empty() { "UTC" } else { typed.zone.as_str() };
    let new = New::checked(app, &typed.workspace, PLAN, zone, &typed.email, &typed.name)?;
    let hash =
        if password.is_empty() { None } else { Some(passwords::hash(app, "Password", password).await?) };
    Ok((new, hash))
}

fn sentence(error: &Error) -> String {
    let Error::Problems(problems) = error else { return error.sentence() };
    let told = problems.iter().map(|problem| match problem.field.as_str() {
        "owner-name" => format!("Your name {}.", problem.what),
        "owner-email" => format!("Your address {}.", problem.what),
        "name" => format!("The name of the workspace {}.", problem.what),
        "zone" => format!("The time zone {}.", problem.what),
        field => format!("{field} {}.", problem.what),
    });
    told.collect::<Vec<_>>().join(" ")
}

fn page(token: &str, mut form: Form, problem: Option<String>) -> FoundPage<'_> {
    if form.zone.is_empty() {
        form.zone = "UTC".to_owned();
    }
    let zones = zones("UTC");
    FoundPage { token, form, zones, problem }
}
