//! `/secure/wsp_…/msg_…/token`: the page of a secure message (6.2, D280). Opening its link changes nothing and shows no word.
//! A cookie that is bound to this very path holds for eight hours that its browser proved to be meant.

pub mod gate;
pub mod message;
pub mod reply;
mod words;

use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::customer::answers;
use crate::customer::upload::admit;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::languages::Language;
use rookery_base::limits::customers::Visits;
use rookery_core::conversations::secure::page::{self, OPEN_FOR, SecurePage};
use rookery_http::answers::insert;

use self::words::SecureWord;

const COOKIE: &str = "secure_visit";

/// What a link leads to, before its page is made.
enum Met {
    /// The link leads nowhere or has ended; this is the answer.
    Answered(Response),
    /// A valid link. The time is until when this browser may read, if it has proved who it is.
    Page(Box<SecurePage>, Option<DateTime<Utc>>),
}

/// The page behind the link of a visit. Invalid links are counted, so that guessing soon ends in a refusal.
async fn meet(visit: &Visit, conn: &mut PgConnection, language: Language) -> Result<Met> {
    let (app, now) = (visit.app(), visit.app().clock.now());
    let (workspace, message) = (visit.id::<WorkspaceId>("workspace"), visit.id::<MessageId>("message"));
    let keys = app.config.needs_secret_key()?;
    let found = match (workspace, message) {
        (Ok(workspace), Ok(message)) => {
            page::find(conn, keys, workspace, message, visit.param("token").unwrap_or_default()).await?
        }
        _ => None,
    };
    let Some(found) = found else {
        app.customers.count(Visits::Astray(visit.asker()), now)?;
        return Ok(Met::Answered(answers::nothing(language)?));
    };
    if found.is_over(now) {
        return Ok(Met::Answered(ended(language)?));
    }
    let until = visit.cookie(COOKIE).and_then(|kept| found.is_visit(keys, kept, now));
    Ok(Met::Page(Box::new(found), until))
}

fn ended(language: Language) -> Result<Response> {
    answers::notice(language, StatusCode::GONE, SecureWord::EndedTitle, SecureWord::EndedText)
}

fn path_of(page: &SecurePage, visit: &Visit) -> String {
    format!("/secure/{}/{}/{}", page.workspace, page.message, visit.param("token").unwrap_or_default())
}

/// Opens the page in this browser, or closes it.
fn keep(visit: &Visit, page: &SecurePage, response: &mut Response, open: bool) -> Result<()> {
    let app = visit.app();
    let until = app.clock.now() + OPEN_FOR;
    let (value, lasts) = if open {
        (page.visit(app.config.needs_secret_key()?, until), OPEN_FOR.num_seconds())
    } else {
        (String::new(), 0)
    };
    let secure = if app.config.public_url.scheme() == "https" { "; Secure" } else { "" };
    let path = path_of(page, visit);
    let line = format!("{COOKIE}={value}; Path={path}; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}");
    insert(response.headers_mut(), "set-cookie", &line);
    Ok(())
}

/// The query that keeps a language that was chosen by hand.
fn chosen(visit: &Visit, language: Language) -> String {
    visit.query("lang").map(|_| format!("?lang={}", language.code())).unwrap_or_default()
}
