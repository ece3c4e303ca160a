//! `/sign-in/sso/{workspace}`: out to the workspace's provider and back. A form begins it and is answered with a page that
//! leads on: a redirect would be a form that goes elsewhere, which our policy forbids. The way back is a link of the
//! provider's, good once and only in the browser that left.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;

use crate::session::Came;
use crate::show::filters;
use crate::sign_in::onward::Onward;
use crate::visit::Visit;
use crate::{respond, session};
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::net::openid::{self, BrowserProof, OpenIdClient, OpenIdTrouble};
use rookery_base::secrets::id_tokens::{Identity, Untrusted};
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::passwords::Recognized;
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::single_sign_on::accounts::{self, NotHere};
use rookery_core::workspace::single_sign_on::attempts::{self, Returned};
use rookery_core::workspace::single_sign_on::{self, SsoConnection};

const LONGEST_CODE: usize = 4096;

#[derive(Template)]
#[template(path = "sign_in/sso.html")]
struct DoorPage {
    workspace: WorkspaceId,
    host: String,
    next: Option<String>,
    /// They are signed in already and prove again who they are.
    again: bool,
    /// The address of the page with other ways to sign in.
    others: String,
    /// Whether there are no other ways to sign in.
    only: bool,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/sso_leaving.html")]
struct LeavingPage<'a> {
    host: String,
    to: &'a str,
}

/// Why somebody who came back from the provider is not signed in.
enum SsoRefusal {
    /// The sign-in is too old, was used already, or began in another browser.
    Over,
    /// The provider, or the person there, said no.
    Denied(String),
    Trouble(OpenIdTrouble),
    NotHere(NotHere),
    /// They had to prove again who they are, but the provider did not ask them, or did not say that it did.
    NotAsked {
        said: bool,
    },
}

pub async fn show(visit: Visit) -> Result<Response> {
    let mut onward = Onward::from_fields(&visit, visit.queries());
    // The mail of whoever asked for a link leads here, too.
    onward.next = onward.next.or_else(|| session::kept_next(&visit));
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
    let onward = Onward::from_fields(&visit, &form);
    let provider = match app.openid.provider(&app.outside, &connection.issuer, now).await {
        Ok(provider) => provider,
        Err(trouble) => return refuse(&visit, &connection, &onward, SsoRefusal::Trouble(trouble)),
    };
    let mut tx = app.begin(connection.workspace).await?;
    let begun = attempts::begin(&mut tx, &connection.issuer, onward.next.as_deref(), onward.again).await?;
    tx.commit().await?;
    let redirect = single_sign_on::redirect_of(&app.config.public_url, connection.workspace)?;
    let client = OpenIdClient { id: &connection.client_id, secret: "", redirect: &redirect };
    let to = provider.address(&client, &begun.state, &begun.proof(), onward.again);
    let mut response = respond::page(&LeavingPage { host: connection.host(), to: to.as_str() })?;
    session::cookie(&app, session::sso_cookie(&app), &mut response, &begun.cookie, attempts::LASTS);
    Ok(response)
}

pub async fn come_back(visit: Visit) -> Result<Response> {
    let connection = connected(&visit).await?;
    let (returned, proof) = match take(&visit, &connection).await? {
        Some(taken) => taken,
        None => return refuse(&visit, &connection, &Onward::default(), SsoRefusal::Over),
    };
    let onward = Onward { next: returned.next, again: returned.again };
    let identity = match identity(&visit, &connection, &proof).await? {
        Ok(identity) => identity,
        Err(refused) => return refuse(&visit, &connection, &onward, refused),
    };
    if onward.again && !sessions::is_recent(identity.proved_at, visit.app().clock.now()) {
        let why = SsoRefusal::NotAsked { said: identity.proved_at.is_some() };
        return refuse(&visit, &connection, &onward, why);
    }
    let mut tx = visit.app().begin(connection.workspace).await?;
    // Whoever was asked may not be the provider any more.
    let still = single_sign_on::held(&mut tx).await?;
    let same =
        |still: &SsoConnection| still.issuer == connection.issuer && still.client_id == connection.client_id;
    if !still.as_ref().is_some_and(same) {
        return refuse(&visit, &connection, &onward, SsoRefusal::Over);
    }
    match accounts::recognize(&mut tx, &connection.issuer, &identity).await? {
        Ok(person) => {
            let who = Recognized { workspace: connection.workspace, person };
            let proved_at = identity.proved_at.map(|at| at.min(tx.now()));
            let came = Came { with: SignedInWith::Sso, second: None, proved_at };
            session::complete(&visit, tx, who, came, onward.next.as_deref()).await
        }
        Err(why) => refuse(&visit, &connection, &onward, SsoRefusal::NotHere(why)),
    }
}

async fn connected(visit: &Visit) -> Result<SsoConnection> {
    let workspace: WorkspaceId = visit.id("id")?;
    let mut conn = visit.app().connection_of(workspace).await?;
    single_sign_on::load(&mut conn, workspace).await?.ok_or(NO_ENDPOINT)
}

/// Uses up the sign-in that began in this browser. One that began for another workspace does not count.
async fn take(visit: &Visit, connection: &SsoConnection) -> Result<Option<(Returned, BrowserProof)>> {
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
    Ok(taken.map(|taken| (taken, BrowserProof::from_secret(cookie, state))))
}

/// Whom the provider vouches for. No connection to the database is held meanwhile.
async fn identity(
    visit: &Visit,
    connection: &SsoConnection,
    proof: &BrowserProof,
) -> Result<std::result::Result<Identity, SsoRefusal>> {
    if let Some(error) = visit.query("error") {
        return Ok(Err(SsoRefusal::Denied(openid::word(error))));
    }
    let Some(code) = visit.query("code").filter(|code| code.len() <= LONGEST_CODE) else {
        return Ok(Err(SsoRefusal::Denied("no_code".into())));
    };
    let (app, now) = (visit.app(), visit.app().clock.now());
    let provider = match app.openid.provider(&app.outside, &connection.issuer, now).await {
        Ok(provider) => provider,
        Err(trouble) => return Ok(Err(SsoRefusal::Trouble(trouble))),
    };
    let said = visit.query("iss");
    if said.map_or(provider.names_itself, |issuer| issuer != connection.issuer) {
        return Ok(Err(SsoRefusal::Trouble(Untrusted::Issuer.into())));
    }
    let secret = connection.secret(app.config.needs_secret_key()?)?;
    let redirect = single_sign_on::redirect_of(&app.config.public_url, connection.workspace)?;
    let client = OpenIdClient { id: &connection.client_id, secret: &secret, redirect: &redirect };
    let identity = app.openid.identity(&app.outside, &provider, &client, code, proof, now).await;
    Ok(identity.map_err(SsoRefusal::Trouble))
}

/// The door again, with what is wrong and what to do.
fn refuse(visit: &Visit, connection: &SsoConnection, onward: &Onward, why: SsoRefusal) -> Result<Response> {
    let host = connection.host();
    let (status, reason, sentence) = match why {
        SsoRefusal::Over => (
            StatusCode::BAD_REQUEST,
            "over".to_owned(),
            "This sign-in was begun too long ago, in another browser, or was used already. Begin again."
                .to_owned(),
        ),
        SsoRefusal::Denied(said) => (
            StatusCode::FORBIDDEN,
            said.clone(),
            format!("{host} did not sign you in ({said}). Try again, or ask its administrator."),
        ),
        SsoRefusal::Trouble(trouble) => (
            StatusCode::BAD_GATEWAY,
            trouble.to_string(),
            format!(
                "That did not work: {trouble}. Try again; if it stays so, tell an owner of your workspace."
            ),
        ),
        SsoRefusal::NotAsked { said: true } => (
            StatusCode::FORBIDDEN,
            "not asked again".to_owned(),
            format!("{host} let you through without asking who you are. Sign out there, then begin again."),
        ),
        SsoRefusal::NotAsked { said: false } => (
            StatusCode::FORBIDDEN,
            "no auth_time".to_owned(),
            format!(
                "{host} doesn’t say when you signed in there, so we can’t confirm it’s you. Its administrator can turn that \
                 on: the claim auth_time of the ID token. Until then, use another way to sign in."
            ),
        ),
        SsoRefusal::NotHere(why) => (
            StatusCode::FORBIDDEN,
            why.as_str().to_owned(),
            match why {
                NotHere::Unconfirmed => format!(
                    "{host} hasn’t verified your email address, so it can’t sign you in here. Verify it there, or ask its \
                     administrator."
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

fn door(connection: &SsoConnection, onward: &Onward, problem: Option<String>) -> DoorPage {
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
