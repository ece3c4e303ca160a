//! `/sign-in`: a link by mail, a password, or the way to a passkey and to the provider. How often is judged before the body
//! is read, and again before a password is hashed.

use std::time::Duration;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::show::filters;
use crate::sign_in::onward::Onward;
use crate::visit::Visit;
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::{passkeys, passwords, people, sign_in_links, single_sign_on};

/// Answers take this long whether or not the address is known, because writing the mail for a known one takes some
/// milliseconds that could be measured.
const ANSWERED_AFTER: Duration = Duration::from_millis(400);
const WRONG: &str = "Incorrect email or password.";

#[derive(Template)]
#[template(path = "sign_in/form.html")]
struct SignInPage {
    host: String,
    /// Whether the form asks for a password, or sends a link.
    password: bool,
    email: String,
    next: Option<String>,
    /// They are signed in already and prove again who they are.
    again: bool,
    /// The address of the other form: a link by mail, or a password.
    other: String,
    /// The provider's door, when one workspace of this service has one.
    sso: Option<WorkspaceId>,
    /// Whether passkeys can be used; they need a host with a name.
    passkeys: bool,
    problem: Option<String>,
}

/// Shown while nobody has an account.
#[derive(Template)]
#[template(path = "sign_in/empty.html")]
struct EmptyPage;

#[derive(Template)]
#[template(path = "sign_in/sent.html")]
struct SentPage {
    email: String,
    next: Option<String>,
    /// Where this page, and not the mailed link, leads on to once they have signed in.
    here: Option<String>,
    again: bool,
    /// The address of the form, for beginning again with another mail address.
    back: String,
}

pub async fn show(visit: Visit) -> Result<Response> {
    // Who is in may still be asked to show once more who they are.
    if visit.query("again").is_none() && is_signed_in(&visit).await? {
        return Ok(respond::see_other("/inbox"));
    }
    if visit.app().directory.is_empty().await? {
        return respond::page(&EmptyPage);
    }
    let password = visit.query("with") == Some("password");
    let onward = Onward::from_fields(&visit, visit.queries());
    respond::page(&page(&visit, password, "", &onward, None).await?)
}

/// Sends a link, if the address is somebody's.
pub async fn send_link(visit: Visit) -> Result<Response> {
    let (app, network) = (visit.app().clone(), visit.asker());
    let now = app.clock.now();
    if let Err(error) = app.sign_in_limit.peek(SignInKey::NetworkLinks(network), now) {
        return refused(&visit, false, "", &Onward::default(), &error).await;
    }
    let form = visit.strangers_form().await?;
    let (email, onward) = (form.text("email")?, Onward::from_fields(&visit, &form));
    let address = match people::an_address("email", email) {
        Ok(address) => address,
        Err(error) => return refused(&visit, false, email, &onward, &error).await,
    };
    let keys = [SignInKey::NetworkLinks(network), SignInKey::AccountLinks(sha256(&address))];
    if let Err(error) = app.sign_in_limit.try_one(&keys, now) {
        return refused(&visit, false, email, &onward, &error).await;
    }
    let sending = sign_in_links::send(&app, &address);
    let (sent, ()) = tokio::join!(sending, tokio::time::sleep(ANSWERED_AFTER));
    sent?;
    let (back, next) = (onward.to("/sign-in"), onward.next);
    let here = next.clone().filter(|next| session::lets_programs_in(&app, next));
    let page = SentPage { email: address, next: next.clone(), here, again: onward.again, back };
    let mut response = respond::page(&page)?;
    session::keep_next(&app, &mut response, next.as_deref());
    Ok(response)
}

pub async fn sign_in(visit: Visit) -> Result<Response> {
    let (app, network) = (visit.app().clone(), visit.asker());
    let now = app.clock.now();
    if let Err(error) = app.sign_in_limit.peek(SignInKey::Network(network), now) {
        return refused(&visit, true, "", &Onward::default(), &error).await;
    }
    let form = visit.strangers_form().await?;
    let (email, password, onward) =
        (form.text("email")?, form.text("password")?, Onward::from_fields(&visit, &form));
    let address = match people::an_address("email", email) {
        Ok(address) => address,
        Err(error) => return refused(&visit, true, email, &onward, &error).await,
    };
    let keys = [SignInKey::Network(network), SignInKey::Account(sha256(&address))];
    if let Err(error) = app.sign_in_limit.try_one(&keys, now) {
        return refused(&visit, true, email, &onward, &error).await;
    }
    match passwords::recognize(&app, &address, password).await {
        Ok(Some(who)) => {
            app.sign_in_limit.succeeded(&keys, now);
            let mut tx = app.begin(who.workspace).await?;
            // While the password was hashed they may have left, or the workspace turned to SSO.
            if !single_sign_on::allows_another_way(&mut tx, who.person).await? {
                drop(tx);
                return wrong(&visit, email, &onward).await;
            }
            session::begin(&visit, tx, who, SignedInWith::Password, onward.next.as_deref()).await
        }
        Ok(None) => wrong(&visit, email, &onward).await,
        // Nobody looked at the password.
        Err(error) => {
            app.sign_in_limit.take_back(&keys, now);
            match error {
                Error::SlowDown { .. } => refused(&visit, true, email, &onward, &error).await,
                other => Err(other),
            }
        }
    }
}

async fn wrong(visit: &Visit, email: &str, onward: &Onward) -> Result<Response> {
    let page = page(visit, true, email, onward, Some(WRONG.into())).await?;
    respond::page_with(StatusCode::UNAUTHORIZED, &page)
}

/// The form again, with what is wrong.
async fn refused(
    visit: &Visit,
    password: bool,
    email: &str,
    onward: &Onward,
    error: &Error,
) -> Result<Response> {
    let problem = match error {
        Error::Problems(_) => "That isn’t an email address.".to_owned(),
        other => other.sentence(),
    };
    let page = page(visit, password, email, onward, Some(problem)).await?;
    let mut response = respond::page_with(respond::status_of(error), &page)?;
    respond::retry_after(&mut response, error);
    Ok(response)
}

async fn page(
    visit: &Visit,
    password: bool,
    email: &str,
    onward: &Onward,
    problem: Option<String>,
) -> Result<SignInPage> {
    let app = visit.app();
    let sso = single_sign_on::the_only_one(&mut *app.connection().await?).await?;
    Ok(SignInPage {
        host: app.config.public_url.host_str().unwrap_or_default().to_owned(),
        password,
        email: email.to_owned(),
        next: onward.next.clone(),
        again: onward.again,
        other: onward.to(if password { "/sign-in" } else { "/sign-in?with=password" }),
        sso,
        passkeys: passkeys::can_be_used(&app.config),
        problem,
    })
}

/// The form with what is wrong with another way in.
pub async fn with_problem(
    visit: &Visit,
    onward: &Onward,
    status: StatusCode,
    problem: String,
) -> Result<Response> {
    respond::page_with(status, &page(visit, false, "", onward, Some(problem)).await?)
}

async fn is_signed_in(visit: &Visit) -> Result<bool> {
    let Some(token) = visit.session_token().and_then(Token::read) else { return Ok(false) };
    let app = visit.app();
    Ok(sessions::find(&mut *app.connection().await?, &token, app.clock.now()).await?.is_some())
}
