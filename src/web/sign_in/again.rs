//! The page in front of what gives others power: whoever showed who they are more than 15 minutes ago does so once more.
//! A page leads there and back. What was typed into a form waits here, while they sign in beside it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::error::Result;
use crate::web::show::filters;
use crate::web::visit::{Asked, Fields};
use crate::web::{respond, session};

/// Where the sign-in beside a form leads.
const DONE: &str = "/signed-in";

#[derive(Template)]
#[template(path = "sign_in/again.html")]
struct AgainPage<'a> {
    /// Where to sign in.
    again: String,
    /// The form that waits.
    form: Option<Waiting<'a>>,
}

struct Waiting<'a> {
    action: &'a str,
    fields: &'a [(String, String)],
}

#[derive(Template)]
#[template(path = "sign_in/again_done.html")]
struct DonePage;

/// In front of a page, or of a form with what was typed into it.
pub async fn ask(asked: &Asked, form: Option<&Fields>) -> Result<Response> {
    let next = if form.is_some() { DONE } else { asked.here() };
    let again = session::again(&mut *asked.reading().await?, asked, next).await?;
    let form = form.map(|form| Waiting { action: asked.here(), fields: form.pairs() });
    respond::page_with(StatusCode::FORBIDDEN, &AgainPage { again, form })
}

/// `GET /signed-in`
pub async fn done(_: Asked) -> Result<Response> {
    respond::page(&DonePage)
}
