//! `/sign-in/{token}`: the page that a link opens. Opening it changes nothing, because mail programs open links before
//! people do; its one form uses the link up. A link that is not good any more and one that never was look the same.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::error::Result;
use crate::secrets::sign_in_tokens::Token;
use crate::web::show::filters;
use crate::web::visit::Visit;
use crate::web::{respond, session};
use crate::workspace::passwords::Recognized;
use crate::workspace::sessions::SignedInWith;
use crate::workspace::sign_in_links::{self, Waiting};

#[derive(Template)]
#[template(path = "sign_in/link.html")]
struct LinkPage<'a> {
    waiting: Waiting,
    token: &'a str,
    next: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "sign_in/gone.html")]
struct GonePage;

pub async fn show(visit: Visit) -> Result<Response> {
    let token = visit.param("token").unwrap_or_default();
    match waiting(&visit).await? {
        Some((waiting, _)) => {
            let next = visit.query("next").filter(|next| session::is_ours(visit.app(), next));
            respond::page(&LinkPage { waiting, token, next })
        }
        None => gone(),
    }
}

pub async fn sign_in(visit: Visit) -> Result<Response> {
    let Some((_, token)) = waiting(&visit).await? else { return gone() };
    let form = visit.strangers_form().await?;
    let mut tx = visit.app().begin(token.workspace).await?;
    let Some(person) = sign_in_links::take(&mut tx, &token).await? else { return gone() };
    // The link is used up only when the session is there.
    let who = Recognized { workspace: token.workspace, person };
    session::begin(&visit, tx, who, SignedInWith::Link, form.get("next")).await
}

/// Looked up before anything is begun: a made-up link names a workspace that may not be there.
async fn waiting(visit: &Visit) -> Result<Option<(Waiting, Token)>> {
    let Some(token) = visit.param("token").and_then(Token::read) else { return Ok(None) };
    let app = visit.app();
    let found = sign_in_links::find(&mut *app.connection().await?, &token, app.clock.now()).await?;
    Ok(found.map(|waiting| (waiting, token)))
}

fn gone() -> Result<Response> {
    respond::page_with(StatusCode::NOT_FOUND, &GonePage)
}
