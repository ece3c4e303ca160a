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

use crate::conversations::secure::page::{self, OPEN_FOR, Page};
use crate::error::Result;
use crate::http::answers::insert;
use crate::ids::{MessageId, WorkspaceId};
use crate::limits::customers::Visits;
use crate::web::customer::answers;
use crate::web::customer::language::Language;
use crate::web::customer::upload::admit;
use crate::web::visit::Visit;

use self::words::SecureWord;

const COOKIE: &str = "secure_visit";

/// What a visit came to, before its page is made.
enum Met {
    /// Nothing, or what has ended: the answer is ready.
    Answered(Response),
    /// A page that lives, and until when the browser may read, if it has proved that.
    Page(Box<Page>, Option<DateTime<Utc>>),
}

/// The page behind the link that a visit names. Links that are none are counted, so that guessing ends soon.
async fn meet(visit: &Visit, conn: &mut PgConnection, language: Language) -> Result<Met> {
    let (app, now) = (visit.app(), visit.app().clock.now());
    let (workspace, message) = (visit.id::<WorkspaceId>("workspace"), visit.id::<MessageId>("message"));
    let keys = app.config.needs_secret_key()?;
    let found = match (workspace, message) {
        (Ok(workspace), Ok(message)) => {
            page::find(conn, keys, (workspace, message), visit.param("token").unwrap_or_default()).await?
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

fn path_of(page: &Page, visit: &Visit) -> String {
    format!("/secure/{}/{}/{}", page.workspace, page.message, visit.param("token").unwrap_or_default())
}

/// Opens the page in this browser, or closes it.
fn keep(visit: &Visit, page: &Page, response: &mut Response, open: bool) -> Result<()> {
    let app = visit.app();
    let until = app.clock.now() + OPEN_FOR;
    let (value, lasts) = match open {
        true => (page.visit(app.config.needs_secret_key()?, until), OPEN_FOR.num_seconds()),
        false => (String::new(), 0),
    };
    let secure = if app.config.public_url.scheme() == "https" { "; Secure" } else { "" };
    let path = path_of(page, visit);
    let line = format!("{COOKIE}={value}; Path={path}; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}");
    insert(response.headers_mut(), "set-cookie", &line);
    Ok(())
}

/// With the language that was chosen by hand.
fn chosen(visit: &Visit, language: Language) -> String {
    visit.query("lang").map(|_| format!("?lang={}", language.code())).unwrap_or_default()
}
