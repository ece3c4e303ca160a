//! `/sign-in/passkey`: signing in with a passkey. The script asks for a challenge, the device signs it, and a form brings
//! the answer. Whatever is wrong with it, the page says the same.

use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::session::Came;
use crate::sign_in::form;
use crate::sign_in::onward::Onward;
use crate::visit::{Form, Visit};
use crate::{respond, session};
use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::passkeys::{self as signed, Assertion, Site};
use rookery_base::store::db::Tx;
use rookery_core::workspace::passkeys::{self, Challenge, For, Held, ListedPasskey};
use rookery_core::workspace::passwords::Recognized;
use rookery_core::workspace::sessions::SignedInWith;
use rookery_core::workspace::single_sign_on;
use rookery_http::answers;

pub(super) const WRONG: &str = "That passkey did not work here. Try again, or sign in another way.";

/// A challenge for this browser. Nothing is written.
pub async fn begin(visit: Visit) -> Result<Response> {
    ask(visit.app(), For::SigningIn, &[])
}

/// What a browser is asked to have signed: by one of these passkeys, or by any when none is named.
pub fn ask(app: &App, purpose: For, by: &[ListedPasskey]) -> Result<Response> {
    if !passkeys::can_be_used(&app.config) {
        return Err(NO_ENDPOINT);
    }
    let keys = app.config.needs_secret_key()?;
    let (challenge, cookie) = passkeys::challenge(keys, &app.random, purpose, app.clock.now())?;
    let allowed = by.iter().map(|one| URL_SAFE_NO_PAD.encode(&one.credential_id));
    let asked = json!({
        "challenge": URL_SAFE_NO_PAD.encode(challenge),
        "rpId": app.config.public_url.host_str(),
        "allowCredentials": allowed.map(|id| json!({ "type": "public-key", "id": id })).collect::<Vec<_>>(),
        "timeout": passkeys::LASTS.num_milliseconds(),
        "userVerification": "required",
    });
    let mut response = answers::answer(StatusCode::OK, asked.to_string());
    session::cookie(app, session::challenge_cookie(app), &mut response, &cookie, passkeys::LASTS);
    Ok(response)
}

pub async fn sign_in(visit: Visit) -> Result<Response> {
    let (app, now) = (visit.app().clone(), visit.app().clock.now());
    let counted = [SignInKey::Network(visit.asker())];
    if let Err(error) = app.sign_in_limit.try_one(&counted, now) {
        let mut response =
            form::with_problem(&visit, &Onward::default(), respond::status_of(&error), error.sentence())
                .await?;
        respond::retry_after(&mut response, &error);
        return Ok(response);
    }
    let form = visit.strangers_form().await?;
    match judge(&visit, &form).await {
        Ok(response) => {
            app.sign_in_limit.succeeded(&counted, now);
            Ok(response)
        }
        Err(Error::Unauthorized) => {
            let onward = Onward::from_fields(&visit, &form);
            form::with_problem(&visit, &onward, StatusCode::UNAUTHORIZED, WRONG.to_owned()).await
        }
        Err(error) => Err(error),
    }
}

async fn judge(visit: &Visit, form: &Form) -> Result<Response> {
    let (workspace, person) = passkeys::of_handle(&field(form, "user_handle")?).ok_or(Error::Unauthorized)?;
    let who = Recognized { workspace, person };
    let signed = check(visit, form, For::SigningIn, who).await?;
    let mut tx = visit.app().begin(workspace).await?;
    take(&mut tx, who, &signed).await?;
    let came = Came { with: SignedInWith::Passkey, second: None, proved_at: Some(tx.now()) };
    session::complete(visit, tx, who, came, form.get("next")).await
}

/// An answer of a device that is right, and not used up yet.
pub struct SignedChallenge {
    held: Held,
    challenge: Challenge,
    counter: u32,
}

/// Whether a passkey of this person signed what this browser was asked for. Nothing is written.
pub async fn check(visit: &Visit, form: &Form, purpose: For, who: Recognized) -> Result<SignedChallenge> {
    let (app, now) = (visit.app(), visit.app().clock.now());
    let keys = app.config.needs_secret_key()?;
    let cookie = visit.cookie(session::challenge_cookie(app)).ok_or(Error::Unauthorized)?;
    let challenge = passkeys::brought_back(keys, cookie, purpose, now).ok_or(Error::Unauthorized)?;
    let (id, client_data) = (field(form, "id")?, field(form, "client_data")?);
    let (authenticator_data, signature) = (field(form, "authenticator_data")?, field(form, "signature")?);
    let Recognized { workspace, person } = who;
    let held = passkeys::find(&mut *app.connection_of(workspace).await?, workspace, person, &id).await?;
    let held = held.ok_or(Error::Unauthorized)?;
    let assertion = Assertion {
        client_data: &client_data,
        authenticator_data: &authenticator_data,
        signature: &signature,
    };
    let host = app.config.public_url.host_str().unwrap_or_default();
    let site = Site { origin: &visit.web.origin, host };
    let counter = signed::check(&site, &challenge.bytes, &assertion, &held.public_key).map_err(|why| {
        tracing::warn!(%workspace, %person, %why, "a passkey was refused");
        Error::Unauthorized
    })?;
    Ok(SignedChallenge { held, challenge, counter })
}

/// Uses an answer up, where passkeys open something.
pub async fn take(tx: &mut Tx<'_>, who: Recognized, signed: &SignedChallenge) -> Result<()> {
    let Recognized { workspace, person } = who;
    let SignedChallenge { held, challenge, counter } = signed;
    if !single_sign_on::allows_another_way(tx, person).await? {
        return Err(Error::Unauthorized);
    }
    if !passkeys::take(tx, held, challenge, *counter).await? {
        tracing::warn!(%workspace, %person, passkey = %held.id, "a passkey's answer came twice, or of a copy");
        return Err(Error::Unauthorized);
    }
    Ok(())
}

fn field(form: &Form, name: &str) -> Result<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(form.get(name).unwrap_or_default()).map_err(|_| Error::Unauthorized)
}
