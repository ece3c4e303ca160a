//! The page in front of what gives others power: whoever showed who they are more than 15 minutes ago does so once more.
//! A page leads there and back. What was typed into a form waits here, while they sign in beside it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::show::filters;
use crate::visit::{FormFields, MemberRequest};
use crate::{respond, session};
use rookery_base::error::Result;

/// Where the sign-in beside a form leads.
const DONE: &str = "/signed-in";

#[derive(Template)]
#[template(path = "sign_in/again.html")]
struct AgainPage<'a> {
    /// Where to sign in.
    again: String,
    /// The form that is kept on the page while they sign in again.
    form: Option<WaitingForm<'a>>,
}

struct WaitingForm<'a> {
    action: &'a str,
    fields: &'a [(String, String)],
}

#[derive(Template)]
#[template(path = "sign_in/again_done.html")]
struct DonePage;

/// In front of a page, or of a form with what was typed into it.
pub async fn ask(asked: &MemberRequest, form: Option<&FormFields>) -> Result<Response> {
    let next = if form.is_some() { DONE } else { asked.here() };
    let again = session::again(&mut *asked.reading().await?, asked, next).await?;
    let form = form.map(|form| WaitingForm { action: asked.here(), fields: form.pairs() });
    respond::page_with(StatusCode::FORBIDDEN, &AgainPage { again, form })
}

/// `GET /signed-in`
pub async fn done(_: MemberRequest) -> Result<Response> {
    respond::page(&DonePage)
}
