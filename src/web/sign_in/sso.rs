//! `/sign-in/sso/{workspace}`: out to the workspace's provider and back. A form begins it and is answered with a page that
//! leads on: a redirect would be a form that goes elsewhere, which our policy forbids. The way back is a link of the
//! provider's, good once and only in the browser that left.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;

use crate::error::{Error, NO_ENDPOINT, Result};
use crate::ids::WorkspaceId;
use crate::limits::sign_in::SignInKey;
use crate::net::openid::{self, Client, Proof, Trouble};
use crate::secrets::id_tokens::{Identity, Untrusted};
use crate::secrets::sign_in_tokens::Token;
use crate::web::session::Came;
use crate::web::show::filters;
use crate::web::sign_in::onward::Onward;
use crate::web::visit::Visit;
use crate::web::{respond, session};
use crate::workspace::passwords::Recognized;
use crate::workspace::sessions::{self, SignedInWith};
use crate::workspace::single_sign_on::accounts::{self, NotHere};
use crate::workspace::single_sign_on::attempts::{self, Returned};
use crate::workspace::single_sign_on::{self, Connection};

const LONGEST_CODE: usize = 4096;

#[derive(Template)]
#[template(path = "sign_in/sso.html")]
struct DoorPage {
    workspace: WorkspaceId,
    host: String,
    next: Option<String>,
    /// They are in, and show once more who they are.
    again: bool,
    /// The page of the other ways.
    others: String,
    /// Other ways are closed.
    only: bool,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/sso_leaving.html")]
struct LeavingPage<'a> {
    host: String,
    to: &'a str,
}

/// Why somebody who came back is not in.
enum Refused {
    /// Too late, twice, or in another browser.
    Over,
    /// The provider, or the person there, said no.
    Denied(String),
    Trouble(Trouble),
    NotHere(NotHere),
    /// They were asked to show once more who they are, and the provider did not ask them, or does not say that it did.
    NotAsked {
        said: bool,
    },
}

pub async fn show(visit: Visit) -> Result<Response> {
    let onward = Onward::of(&visit, visit.queries());
    let connection = match connected(&visit).await {
        // It was disconnected since they came in by it.
        Err(Error::Missing(_)) if onward.again => return Ok(respond::see_other(&onward.to("/sign-in"))),
        found => found?,
    };
    respond::page(&door(&connection, &onward, None))
}

pub async fn begin(visit: Visit) -> Result<Response> {
    let (app, now) = (visit.app().clone(), visit.app().clock.now());
    let connection = connected(&visit).await?;
    if let Err(error) = app.sign_in_limit.try_one(&[SignInKey::NetworkSso(visit.asker())], now) {
        let page = door(&connection, &Onward::default(), Some(error.sentence()));
        let mut response = respond::page_with(respond::status_of(&error), &page)?;
        respond::retry_after(&mut response, &error);
        return Ok(response);
    }
    let form = visit.strangers_form().await?;
    let onward = Onward::of(&visit, &form);
    let provider = match app.openid.provider(&app.outside, &connection.issuer, now).await {
        Ok(provider) => provider,
        Err(trouble) => return refuse(&visit, &connection, &onward, Refused::Trouble(trouble)),
    };
    let mut tx = app.begin(connection.workspace).await?;
    let begun = attempts::begin(&mut tx, &connection.issuer, onward.next.as_deref(), onward.again).await?;
    tx.commit().await?;
    let redirect = single_sign_on::redirect_of(&app.config.public_url, connection.workspace)?;
    let client = Client { id: &connection.client_id, secret: "", redirect: &redirect };
    let to = provider.address(&client, &begun.state, &begun.proof(), onward.again);
    let mut response = respond::page(&LeavingPage { host: connection.host(), to: to.as_str() })?;
    session::cookie(&app, session::sso_cookie(&app), &mut response, &begun.cookie, attempts::LASTS);
    Ok(response)
}

pub async fn come_back(visit: Visit) -> Result<Response> {
    let connection = connected(&visit).await?;
    let (returned, proof) = match take(&visit, &connection).await? {
        Some(taken) => taken,
        None => return refuse(&visit, &connection, &Onward::default(), Refused::Over),
    };
    let onward = Onward { next: returned.next, again: returned.again };
    let identity = match identity(&visit, &connection, &proof).await? {
        Ok(identity) => identity,
        Err(refused) => return refuse(&visit, &connection, &onward, refused),
    };
    if onward.again && !sessions::is_recent(identity.proved_at, visit.app().clock.now()) {
        let why = Refused::NotAsked { said: identity.proved_at.is_some() };
        return refuse(&visit, &connection, &onward, why);
    }
    let mut tx = visit.app().begin(connection.workspace).await?;
    // Whoever was asked may not be the provider any more.
    let still = single_sign_on::held(&mut tx).await?;
    let same =
        |still: &Connection| still.issuer == connection.issuer && still.client_id == connection.client_id;
    if !still.as_ref().is_some_and(same) {
        return refuse(&visit, &connection, &onward, Refused::Over);
    }
    match accounts::recognize(&mut tx, &connection.issuer, &identity).await? {
        Ok(person) => {
            let who = Recognized { workspace: connection.workspace, person };
            let proved_at = identity.proved_at.map(|at| at.min(tx.now()));
            let came = Came { with: SignedInWith::Sso, second: None, proved_at };
            session::complete(&visit, tx, who, came, onward.next.as_deref()).await
        }
        Err(why) => refuse(&visit, &connection, &onward, Refused::NotHere(why)),
    }
}

async fn connected(visit: &Visit) -> Result<Connection> {
    let workspace: WorkspaceId = visit.id("id")?;
    let mut conn = visit.app().connection().await?;
    single_sign_on::of(&mut conn, workspace).await?.ok_or(NO_ENDPOINT)
}

/// Uses up what began in this browser. A state of another workspace is none here.
async fn take(visit: &Visit, connection: &Connection) -> Result<Option<(Returned, Proof)>> {
    let app = visit.app();
    let (Some(state), Some(cookie)) = (visit.query("state"), visit.cookie(session::sso_cookie(app))) else {
        return Ok(None);
    };
    let (Some(token), Some(browser)) = (Token::read(state), Token::read(cookie)) else { return Ok(None) };
    if token.workspace != connection.workspace {
        return Ok(None);
    }
    let mut tx = app.begin(connection.workspace).await?;
    let taken = attempts::take(&mut tx, &token, &browser).await?;
    tx.commit().await?;
    let taken = taken.filter(|taken| taken.issuer == connection.issuer);
    Ok(taken.map(|taken| (taken, Proof::of(cookie, state))))
}

/// Whom the provider vouches for. No connection to the database is held meanwhile.
async fn identity(
    visit: &Visit,
    connection: &Connection,
    proof: &Proof,
) -> Result<std::result::Result<Identity, Refused>> {
    if let Some(error) = visit.query("error") {
        return Ok(Err(Refused::Denied(openid::word(error))));
    }
    let Some(code) = visit.query("code").filter(|code| code.len() <= LONGEST_CODE) else {
        return Ok(Err(Refused::Denied("no_code".into())));
    };
    let (app, now) = (visit.app(), visit.app().clock.now());
    let provider = match app.openid.provider(&app.outside, &connection.issuer, now).await {
        Ok(provider) => provider,
        Err(trouble) => return Ok(Err(Refused::Trouble(trouble))),
    };
    let said = visit.query("iss");
    if said.map_or(provider.names_itself, |issuer| issuer != connection.issuer) {
        return Ok(Err(Refused::Trouble(Untrusted::Issuer.into())));
    }
    let secret = connection.secret(app.config.needs_secret_key()?)?;
    let redirect = single_sign_on::redirect_of(&app.config.public_url, connection.workspace)?;
    let client = Client { id: &connection.client_id, secret: &secret, redirect: &redirect };
    let identity = app.openid.identity(&app.outside, &provider, &client, code, proof, now).await;
    Ok(identity.map_err(Refused::Trouble))
}

/// The door again, with what is wrong and what to do.
fn refuse(visit: &Visit, connection: &Connection, onward: &Onward, why: Refused) -> Result<Response> {
    let host = connection.host();
    let (status, reason, sentence) = match why {
        Refused::Over => (
            StatusCode::BAD_REQUEST,
            "over".to_owned(),
            "This sign-in was begun too long ago, in another browser, or was used already. Begin again."
                .to_owned(),
        ),
        Refused::Denied(said) => (
            StatusCode::FORBIDDEN,
            said.clone(),
            format!("{host} did not sign you in ({said}). Try again, or ask whoever runs it."),
        ),
        Refused::Trouble(trouble) => (
            StatusCode::BAD_GATEWAY,
            trouble.to_string(),
            format!(
                "That did not work: {trouble}. Try again; if it stays so, tell an owner of your workspace."
            ),
        ),
        Refused::NotAsked { said: true } => (
            StatusCode::FORBIDDEN,
            "not asked anew".to_owned(),
            format!("{host} let you through without asking who you are. Sign out there, then begin again."),
        ),
        Refused::NotAsked { said: false } => (
            StatusCode::FORBIDDEN,
            "no auth_time".to_owned(),
            format!(
                "{host} does not say when you signed in there, so it is not known that it is you. Whoever runs it can turn \
                 that on: the claim auth_time of the ID token. Until then use another way to sign in."
            ),
        ),
        Refused::NotHere(why) => (
            StatusCode::FORBIDDEN,
            why.as_str().to_owned(),
            match why {
                NotHere::Unconfirmed => format!(
                    "{host} has not confirmed your mail address, so it does not say who you are here. Confirm it there, \
                     or ask whoever runs it."
                ),
                NotHere::Stranger => {
                    "Nobody with your address is on this team. Ask an owner or admin to invite you."
                        .to_owned()
                }
                NotHere::OtherAccount => {
                    "Your address belongs to somebody who signs in with another account. Use that \
                                          account, or ask an owner to forget it."
                        .to_owned()
                }
            },
        ),
    };
    tracing::warn!(workspace = %connection.workspace, reason, "a sign-in by SSO was refused");
    let mut response = respond::page_with(status, &door(connection, onward, Some(sentence)))?;
    let app = visit.app();
    session::cookie(app, session::sso_cookie(app), &mut response, "", TimeDelta::zero());
    Ok(response)
}

fn door(connection: &Connection, onward: &Onward, problem: Option<String>) -> DoorPage {
    DoorPage {
        workspace: connection.workspace,
        host: connection.host(),
        next: onward.next.clone(),
        again: onward.again,
        others: onward.to("/sign-in"),
        only: connection.required,
        problem,
    }
}
