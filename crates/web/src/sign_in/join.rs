//! `/join/{token}`: the page that an invitation opens. Opening it changes nothing; its one form joins the team and signs in.
//! Made up, used, ended, withdrawn, and opened by somebody who is signed in as another: all look the same.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::show::filters;
use crate::visit::Visit;
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::people::invitations::{self, Invited};
use rookery_core::workspace::people::{self, a_mailed_name};
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::single_sign_on;

#[derive(Template)]
#[template(path = "sign_in/join.html")]
struct JoinPage<'a> {
    invited: &'a Invited,
    workspace: WorkspaceId,
    token: &'a str,
    name: &'a str,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/join_gone.html")]
struct GonePage;

pub async fn show(visit: Visit) -> Result<Response> {
    let token = visit.param("token").unwrap_or_default();
    match invited(&visit).await? {
        Some((invited, read)) => {
            let workspace = read.workspace;
            respond::page(&JoinPage { invited: &invited, workspace, token, name: "", problem: None })
        }
        None => gone(),
    }
}

pub async fn join(visit: Visit) -> Result<Response> {
    let Some((invited, token)) = invited(&visit).await? else { return gone() };
    let form = visit.strangers_form().await?;
    let (name, password) = (form.get("name").unwrap_or_default(), form.get("password").unwrap_or_default());
    let hash = match hash(&visit, name, password).await {
        Ok(hash) => hash,
        Err(error @ (Error::Problems(_) | Error::SlowDown { .. })) => {
            let text = visit.param("token").unwrap_or_default();
            let workspace = token.workspace;
            let problem = Some(error.sentence());
            let page = JoinPage { invited: &invited, workspace, token: text, name, problem };
            return respond::page_with(respond::status_of(&error), &page);
        }
        Err(error) => return Err(error),
    };
    let mut tx = visit.app().begin(token.workspace).await?;
    // What it was a moment ago it is until they are in.
    if single_sign_on::held(&mut tx).await?.is_some_and(|connection| connection.required) {
        return gone();
    }
    let Some(person) = invitations::accept(&mut tx, &token, name).await? else { return gone() };
    if let Some(hash) = hash {
        passwords::set(&mut tx, person, &hash).await?;
    }
    // They have just read their mail.
    let who = Recognized { workspace: token.workspace, person };
    session::begin(&visit, tx, who, SignedInWith::Link, None).await
}

/// The hash of the password, checked before the invitation is used up. None if they gave no password and sign in by links.
async fn hash(visit: &Visit, name: &str, password: &str) -> Result<Option<String>> {
    a_mailed_name("Name", name, 100)?;
    if password.is_empty() {
        Ok(None)
    } else {
        passwords::hash(visit.app(), "Password", password).await.map(Some)
    }
}

/// The invitation of the link, looked up before anything is written. None if somebody else is signed in in this browser:
/// then the link was probably passed on.
async fn invited(visit: &Visit) -> Result<Option<(Invited, Token)>> {
    let Some(token) = visit.param("token").and_then(Token::read) else { return Ok(None) };
    let (app, now) = (visit.app(), visit.app().clock.now());
    let mut conn = app.connection().await?;
    let Some(invited) = invitations::find(&mut conn, &token, now).await? else { return Ok(None) };
    if let Some(session) = visit.session_token().and_then(Token::read)
        && let Some((_, person)) = sessions::find(&mut conn, &session, now).await?
        && people::email_of(&mut conn, person.workspace, person.id).await? != invited.email
    {
        return Ok(None);
    }
    Ok(Some((invited, token)))
}

fn gone() -> Result<Response> {
    respond::page_with(StatusCode::NOT_FOUND, &GonePage)
}
