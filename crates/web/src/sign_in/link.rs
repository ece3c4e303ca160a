//! `/sign-in/{token}`: the page that a link opens. Opening it changes nothing, because mail programs open links before
//! people do; its one form uses the link up. A link that is not good any more and one that never was look the same. Where it
//! leads on to is known by the browser that asked for it, and by no other.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::show::filters;
use crate::visit::Visit;
use crate::{respond, session};
use rookery_base::error::Result;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::passwords::Recognized;
use rookery_core::workspace::sessions::SignedInWith;
use rookery_core::workspace::sign_in_links::{self, LinkHolder};

#[derive(Template)]
#[template(path = "sign_in/link.html")]
struct LinkPage<'a> {
    waiting: LinkHolder,
    token: &'a str,
}

#[derive(Template)]
#[template(path = "sign_in/gone.html")]
struct GonePage;

pub async fn show(visit: Visit) -> Result<Response> {
    let token = visit.param("token").unwrap_or_default();
    match waiting(&visit).await? {
        Some((waiting, _)) => respond::page(&LinkPage { waiting, token }),
        None => gone(),
    }
}

pub async fn sign_in(visit: Visit) -> Result<Response> {
    let Some((_, token)) = waiting(&visit).await? else { return gone() };
    let next = session::kept_next(&visit);
    let mut tx = visit.app().begin(token.workspace).await?;
    let Some(person) = sign_in_links::take(&mut tx, &token).await? else { return gone() };
    // The link is used up only when the session is there.
    let who = Recognized { workspace: token.workspace, person };
    let mut response = session::begin(&visit, tx, who, SignedInWith::Link, next.as_deref()).await?;
    session::forget_next(visit.app(), &mut response);
    Ok(response)
}

/// The sign-in that waits behind the link. It is looked up before a transaction begins, because an invalid link may name a
/// workspace that does not exist.
async fn waiting(visit: &Visit) -> Result<Option<(LinkHolder, Token)>> {
    let Some(token) = visit.param("token").and_then(Token::read) else { return Ok(None) };
    let app = visit.app();
    let found = sign_in_links::find(&mut *app.connection().await?, &token, app.clock.now()).await?;
    Ok(found.map(|waiting| (waiting, token)))
}

fn gone() -> Result<Response> {
    respond::page_with(StatusCode::NOT_FOUND, &GonePage)
}
