//! `/profile/passkeys`: adding, naming and removing one's own. They stand on the profile. Adding and removing asks for a
//! proof of the last 60 minutes, so that a browser that was left open is not enough.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::settings::{device, profile};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::sign_in::again;
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use crate::{respond, session};
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::PasskeyId;
use rookery_base::secrets::passkeys::{self as signed, ALGORITHMS, Site};
use rookery_core::workspace::passkeys::{self, For, ListedPasskey};
use rookery_core::workspace::people;
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::single_sign_on;
use rookery_http::answers;

const PLACE: &str = "/profile#passkeys";

#[derive(Template)]
#[template(path = "settings/passkey_remove.html")]
struct RemovePage {
    shell: Shell,
    page: &'static str,
    passkey: ListedPasskey,
}

/// What the device is asked to make, for this browser and five minutes.
pub async fn begin(asked: MemberRequest) -> Result<Response> {
    if let Err(error) = may_add(&asked).await {
        return Ok(answers::refusal(&error));
    }
    let (app, person) = (asked.app().clone(), &asked.person);
    if !passkeys::can_be_used(&app.config) {
        return Err(NO_ENDPOINT);
    }
    let mut reading = asked.reading().await?;
    let email = people::email_of(&mut reading, person.workspace, person.id).await?;
    let there = passkeys::list(&mut reading, person.workspace, person.id).await?;
    drop(reading);
    let purpose = For::Adding(person.workspace, person.id);
    let keys = app.config.needs_secret_key()?;
    let (challenge, cookie) = passkeys::challenge(keys, &app.random, purpose, app.clock.now())?;
    let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let wanted = json!({
        "challenge": encoded(&challenge),
        "rp": { "id": app.config.public_url.host_str(), "name": "Rookery" },
        "user": {
            "id": encoded(&passkeys::handle(person.workspace, person.id)),
            "name": email,
            "displayName": person.name,
        },
        "pubKeyCredParams":
            ALGORITHMS.map(|algorithm| json!({ "type": "public-key", "alg": algorithm })),
        "excludeCredentials": there
            .iter()
            .map(|one| json!({ "type": "public-key", "id": encoded(&one.credential_id) }))
            .collect::<Vec<_>>(),
        "authenticatorSelection": { "residentKey": "required", "userVerification": "required" },
        "attestation": "none",
        "timeout": passkeys::LASTS.num_milliseconds(),
    });
    let mut response = answers::answer(StatusCode::OK, wanted.to_string());
    session::cookie(&app, session::challenge_cookie(&app), &mut response, &cookie, passkeys::LASTS);
    Ok(response)
}

pub async fn add(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    match add_one(&asked, &form).await {
        Ok(()) => Ok(respond::see_other_with(PLACE, Toast::new(Done::PasskeyAdded, ""))),
        Err(error @ (Error::Problems(_) | Error::Forbidden(_))) => {
            profile::with_passkey_problem(&asked, &error).await
        }
        Err(error) => Err(error),
    }
}

/// Who has just signed in, where passkeys open something.
async fn may_add(asked: &MemberRequest) -> Result<()> {
    session::must_be_fresh(asked)?;
    if single_sign_on::is_required(&mut *asked.reading().await?, asked.person.workspace).await? {
        Err(Error::Forbidden("Your workspace takes single sign-on only: a passkey opens nothing.".into()))
    } else {
        Ok(())
    }
}

async fn add_one(asked: &MemberRequest, form: &Form) -> Result<()> {
    may_add(asked).await?;
    let (app, person) = (asked.app(), &asked.person);
    let (keys, now) = (app.config.needs_secret_key()?, app.clock.now());
    let purpose = For::Adding(person.workspace, person.id);
    let challenge = asked
        .cookie(session::challenge_cookie(app))
        .and_then(|cookie| passkeys::brought_back(keys, cookie, purpose, now))
        .ok_or_else(|| Error::problem("passkey", "That took longer than five minutes. Add it once more"))?;
    let refused = |why: &str| Error::problem("passkey", format!("This passkey cannot be used: {why}"));
    let field = |name: &str| {
        let text = form.get(name).unwrap_or_default();
        URL_SAFE_NO_PAD.decode(text).map_err(|_| refused("it cannot be read"))
    };
    let (client_data, attestation) = (field("client_data")?, field("attestation")?);
    let host = app.config.public_url.host_str().unwrap_or_default();
    let site = Site { origin: &asked.web.origin, host };
    let registered = signed::register(&site, &challenge.bytes, &client_data, &attestation)
        .map_err(|why| refused(&why.to_string()))?;
    let name = match form.get("name").unwrap_or_default().trim() {
        "" => device::named(asked.header("user-agent").unwrap_or_default()),
        name => name.to_owned(),
    };
    let mut tx = asked.tx().await?;
    passkeys::add(&mut tx, &person.by(), person.id, &challenge, &registered, &name).await?;
    tx.commit().await
}

pub async fn rename(asked: MemberRequest) -> Result<Response> {
    let id: PasskeyId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let name = form.get("name").unwrap_or_default();
    match passkeys::rename(&mut tx, &asked.person.by(), asked.person.id, id, name).await {
        Ok(()) => {
            tx.commit().await?;
            Ok(respond::see_other_with(PLACE, Toast::new(Done::PasskeyRenamed, "")))
        }
        Err(error @ Error::Problems(_)) => {
            drop(tx);
            profile::with_passkey_problem(&asked, &error).await
        }
        Err(error) => Err(error),
    }
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id: PasskeyId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let listed = passkeys::list(&mut reading, asked.person.workspace, asked.person.id).await?;
    let passkey = listed.into_iter().find(|one| one.id == id).ok_or(NO_ENDPOINT)?;
    respond::page(&RemovePage { shell, page: profile::PATH, passkey })
}

pub async fn remove(asked: MemberRequest) -> Result<Response> {
    let id: PasskeyId = asked.id("id")?;
    if !session::is_fresh(&asked) {
        return again::ask(&asked, Some(&*asked.form().await?)).await;
    }
    let mut tx = asked.tx().await?;
    passkeys::remove(&mut tx, &asked.person.by(), asked.person.id, id).await?;
    // What it opened elsewhere is closed with it; nobody knows which session began by which passkey.
    sessions::end_those_with(&mut tx, asked.person.id, SignedInWith::Passkey, asked.session.id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(PLACE, Toast::new(Done::PasskeyRemoved, "")))
}
