//! `/sign-in`: a link by mail, or a password. How often is judged before the body is read, and again before a password
//! is hashed.

use std::time::Duration;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use url::form_urlencoded;

use crate::error::{Error, Result};
use crate::limits::sign_in::SignInKey;
use crate::secrets::hashes::sha256;
use crate::web::show::filters;
use crate::web::visit::{Form, Visit};
use crate::web::{respond, session};
use crate::workspace::sessions::{self, SignedInWith};
use crate::workspace::tokens::Token;
use crate::workspace::{passwords, people, sign_in_links};

/// Writing a mail for somebody takes some milliseconds, and for nobody none: both are answered after this.
const ANSWERED_AFTER: Duration = Duration::from_millis(400);
const WRONG: &str = "That address and password do not belong together.";

#[derive(Template)]
#[template(path = "sign_in/form.html")]
struct SignInPage {
    host: String,
    /// By password rather than by a link.
    password: bool,
    email: String,
    next: Option<String>,
    /// The same as a query.
    onward: String,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/sent.html")]
struct SentPage {
    email: String,
    next: Option<String>,
}

pub async fn show(visit: Visit) -> Result<Response> {
    if is_signed_in(&visit).await? {
        return Ok(respond::see_other("/inbox"));
    }
    let password = visit.query("with") == Some("password");
    respond::page(&page(&visit, password, "", visit.query("next"), None))
}

/// Sends a link, if the address is somebody's.
pub async fn send_link(visit: Visit) -> Result<Response> {
    let (app, network) = (visit.app().clone(), visit.asker());
    let now = app.clock.now();
    if let Err(error) = app.sign_in_limit.look(SignInKey::NetworkLinks(network), now) {
        return refused(&visit, false, "", None, &error);
    }
    let form = visit.strangers_form().await?;
    let (email, next) = (form.text("email")?, next_of(&visit, &form));
    let address = match people::an_address("email", email) {
        Ok(address) => address,
        Err(error) => return refused(&visit, false, email, next.as_deref(), &error),
    };
    let keys = [SignInKey::NetworkLinks(network), SignInKey::AccountLinks(sha256(&address))];
    if let Err(error) = app.sign_in_limit.try_one(&keys, now) {
        return refused(&visit, false, email, next.as_deref(), &error);
    }
    let sending = sign_in_links::send(&app, &address, next.as_deref());
    let (sent, ()) = tokio::join!(sending, tokio::time::sleep(ANSWERED_AFTER));
    sent?;
    respond::page(&SentPage { email: address, next })
}

pub async fn sign_in(visit: Visit) -> Result<Response> {
    let (app, network) = (visit.app().clone(), visit.asker());
    let now = app.clock.now();
    if let Err(error) = app.sign_in_limit.look(SignInKey::Network(network), now) {
        return refused(&visit, true, "", None, &error);
    }
    let form = visit.strangers_form().await?;
    let (email, password, next) = (form.text("email")?, form.text("password")?, next_of(&visit, &form));
    let address = match people::an_address("email", email) {
        Ok(address) => address,
        Err(error) => return refused(&visit, true, email, next.as_deref(), &error),
    };
    let keys = [SignInKey::Network(network), SignInKey::Account(sha256(&address))];
    if let Err(error) = app.sign_in_limit.try_one(&keys, now) {
        return refused(&visit, true, email, next.as_deref(), &error);
    }
    match passwords::recognize(&app, &address, password).await {
        Ok(Some(who)) => {
            app.sign_in_limit.succeeded(&keys, now);
            let tx = app.begin(who.workspace).await?;
            session::begin(&visit, tx, who, SignedInWith::Password, next.as_deref()).await
        }
        Ok(None) => {
            let page = page(&visit, true, email, next.as_deref(), Some(WRONG.into()));
            respond::page_with(StatusCode::UNAUTHORIZED, &page)
        }
        // Nobody looked at the password.
        Err(error) => {
            app.sign_in_limit.take_back(&keys, now);
            match error {
                Error::SlowDown { .. } => refused(&visit, true, email, next.as_deref(), &error),
                other => Err(other),
            }
        }
    }
}

/// The form again, with what is wrong.
fn refused(
    visit: &Visit,
    password: bool,
    email: &str,
    next: Option<&str>,
    error: &Error,
) -> Result<Response> {
    let problem = match error {
        Error::Problems(_) => "That is not a mail address.".to_owned(),
        other => other.sentence(),
    };
    let page = page(visit, password, email, next, Some(problem));
    let mut response = respond::page_with(respond::status_of(error), &page)?;
    respond::retry_after(&mut response, error);
    Ok(response)
}

fn page(
    visit: &Visit,
    password: bool,
    email: &str,
    next: Option<&str>,
    problem: Option<String>,
) -> SignInPage {
    let app = visit.app();
    let next = next.filter(|next| session::is_ours(app, next));
    let mut onward = form_urlencoded::Serializer::new(String::new());
    onward.extend_pairs(next.map(|next| ("next", next)));
    SignInPage {
        host: app.config.public_url.host_str().unwrap_or_default().to_owned(),
        password,
        email: email.to_owned(),
        next: next.map(str::to_owned),
        onward: onward.finish(),
        problem,
    }
}

fn next_of(visit: &Visit, form: &Form) -> Option<String> {
    form.get("next").filter(|next| session::is_ours(visit.app(), next)).map(str::to_owned)
}

async fn is_signed_in(visit: &Visit) -> Result<bool> {
    let Some(token) = visit.session_token().and_then(Token::read) else { return Ok(false) };
    let app = visit.app();
    Ok(sessions::find(&mut *app.connection().await?, &token, app.clock.now()).await?.is_some())
}
