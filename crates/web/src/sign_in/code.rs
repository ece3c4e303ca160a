//! `/sign-in/code`: the second half of a sign-in. Whoever comes without the first half is sent to begin with it.
//! A wrong code and one that was used already are told alike.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::session::Came;
use crate::show::filters;
use crate::visit::Visit;
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::passwords::Recognized;
use rookery_core::workspace::second_factor::{self, half};
use rookery_core::workspace::{people, single_sign_on};

const WRONG: &str = "That code is incorrect. Wait for the next one, or use a recovery code.";

#[derive(Template)]
#[template(path = "sign_in/code.html")]
struct CodePage {
    next: Option<String>,
    problem: Option<String>,
}

pub async fn show(visit: Visit) -> Result<Response> {
    match whose(&visit).await? {
        Some(_) => respond::page(&page(&visit, visit.query("next"), None)),
        None => Ok(respond::see_other("/sign-in")),
    }
}

pub async fn sign_in(visit: Visit) -> Result<Response> {
    let Some((token, who)) = whose(&visit).await? else { return Ok(respond::see_other("/sign-in")) };
    let form = visit.strangers_form().await?;
    let (code, next) = (form.get("code").unwrap_or_default(), form.get("next"));
    let (app, now) = (visit.app().clone(), visit.app().clock.now());
    let account = sha256(format!("code {} {}", who.workspace, who.person));
    let keys = [SignInKey::Network(visit.asker()), SignInKey::Account(account)];
    if let Err(error) = app.sign_in_limit.try_one(&keys, now) {
        let sentence = match &error {
            Error::SlowDown { retry_after, .. } => {
                format!("Too many codes. Wait {} seconds and try again.", retry_after.as_secs().max(1))
            }
            other => other.sentence(),
        };
        let page = page(&visit, next, Some(sentence));
        let mut response = respond::page_with(respond::status_of(&error), &page)?;
        respond::retry_after(&mut response, &error);
        return Ok(response);
    }
    let mut tx = app.begin(who.workspace).await?;
    // How the workspace signs in stays as it is, then the person, as whoever removes them or their second factor does.
    single_sign_on::held(&mut tx).await?;
    if people::hold(&mut tx, who.person).await.is_err() {
        return Ok(respond::see_other("/sign-in"));
    }
    let Some(half) = half::try_one(&mut tx, &token).await? else {
        return Ok(respond::see_other("/sign-in"));
    };
    let Some(shown) = second_factor::take(&mut tx, half.person, code).await? else {
        // The try stays counted.
        tx.commit().await?;
        return respond::page_with(StatusCode::UNAUTHORIZED, &page(&visit, next, Some(WRONG.into())));
    };
    half::end(&mut tx, &token).await?;
    let who = Recognized { workspace: token.workspace, person: half.person };
    let came = Came { with: half.with, second: Some(shown), proved_at: Some(tx.now()) };
    let response = session::complete(&visit, tx, who, came, next).await?;
    app.sign_in_limit.succeeded(&keys, now);
    Ok(response)
}

fn page(visit: &Visit, next: Option<&str>, problem: Option<String>) -> CodePage {
    let next = next.filter(|next| session::is_ours(visit.app(), next));
    CodePage { next: next.map(str::to_owned), problem }
}

async fn whose(visit: &Visit) -> Result<Option<(Token, Recognized)>> {
    let app = visit.app();
    let Some(token) = visit.cookie(session::half_cookie(app)).and_then(Token::read) else { return Ok(None) };
    let found = half::find(&mut *app.connection().await?, &token, app.clock.now()).await?;
    Ok(found.map(|who| (token, who)))
}
