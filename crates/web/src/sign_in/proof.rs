//! `/sign-in/again`: somebody who is signed in shows once more who they are, by a passkey or by a password with the code
//! that goes with it. It takes what signing in takes, in the same locks, and is counted with it. The proof belongs to this
//! session, which gets a new token.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::sign_in::again::{self, ProofProblem, ProofWays, Waiting};
use crate::sign_in::passkey;
use crate::visit::{Form, MemberRequest};
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::limits::key_uses::network;
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_base::store::db::Tx;
use rookery_core::workspace::passkeys::{self, For};
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::second_factor::{self, SecondFactorMeans};
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::{people, single_sign_on};

const WRONG_PASSWORD: &str = "Incorrect password.";
const WRONG_CODE: &str = "That code is incorrect. Wait for the next one, or use a recovery code.";
const NOT_THIS_WAY: &str = "That isn’t enough to sign in to this workspace. Sign in another way.";

/// `POST /sign-in/again/passkey`: a challenge for this session. Nothing is written.
pub async fn begin(asked: MemberRequest) -> Result<Response> {
    let (app, person) = (asked.app().clone(), &asked.person);
    let held = passkeys::list(&mut *asked.reading().await?, person.workspace, person.id).await?;
    passkey::ask(&app, For::Confirming(person.workspace, asked.session.id), &held)
}

/// `POST /sign-in/again`
pub async fn prove(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let waiting = Waiting::of_form(&asked, &form);
    let ways = ProofWays::load(&asked, &waiting).await?;
    let proven = match form.get("signature") {
        Some(_) => by_passkey(&asked, &form, &ways).await,
        None => by_password(&asked, &form, &ways).await,
    };
    match proven {
        Ok(token) => {
            let mut response = again::respond_to(&waiting)?;
            session::set_cookie(asked.app(), &mut response, &token);
            Ok(response)
        }
        Err(error @ (Error::Problems(_) | Error::Forbidden(_) | Error::SlowDown { .. })) => {
            refused(&asked, &waiting, ways, &error).await
        }
        Err(error) => Err(error),
    }
}

async fn by_passkey(asked: &MemberRequest, form: &Form, ways: &ProofWays) -> Result<String> {
    let (app, now) = (asked.app(), asked.app().clock.now());
    let counted = [SignInKey::Network(asked.asker())];
    app.sign_in_limit.try_one(&counted, now)?;
    if !ways.passkey {
        return Err(Error::Forbidden(NOT_THIS_WAY.into()));
    }
    let done = async {
        let purpose = For::Confirming(asked.person.workspace, asked.session.id);
        let signed = passkey::check(&asked.visit, form, purpose, whom(asked)).await?;
        let mut tx = asked.tx().await?;
        passkey::take(&mut tx, whom(asked), &signed).await?;
        proven(asked, tx, SignedInWith::Passkey, None).await
    };
    match done.await {
        Ok(token) => {
            app.sign_in_limit.succeeded(&counted, now);
            Ok(token)
        }
        Err(Error::Unauthorized) => Err(Error::problem("passkey", passkey::WRONG)),
        Err(error) => Err(error),
    }
}

async fn by_password(asked: &MemberRequest, form: &Form, ways: &ProofWays) -> Result<String> {
    let (app, now) = (asked.app(), asked.app().clock.now());
    let (workspace, person) = (asked.person.workspace, asked.person.id);
    let email = people::email_of(&mut *asked.reading().await?, workspace, person).await?;
    let counted = [SignInKey::Network(asked.asker()), SignInKey::Account(sha256(&email))];
    app.sign_in_limit.try_one(&counted, now)?;
    if !ways.password {
        return Err(Error::Forbidden(NOT_THIS_WAY.into()));
    }
    match passwords::is_of(app, whom(asked), form.get("password").unwrap_or_default()).await {
        Ok(true) => app.sign_in_limit.succeeded(&counted, now),
        Ok(false) => return Err(Error::problem("password", WRONG_PASSWORD)),
        // Nobody looked at the password.
        Err(error) => {
            app.sign_in_limit.take_back(&counted, now);
            return Err(error);
        }
    }
    let mut tx = asked.tx().await?;
    // While the password was hashed they may have left, or the workspace turned to SSO, or somebody to a second factor.
    if !single_sign_on::allows_another_way(&mut tx, person).await? {
        return Err(Error::Forbidden(NOT_THIS_WAY.into()));
    }
    let standing = second_factor::standing(&mut tx, workspace, person).await?;
    let second = match standing.since {
        Some(_) => Some(by_code(asked, &mut tx, form.get("code").unwrap_or_default()).await?),
        None if standing.required => return Err(Error::Forbidden(NOT_THIS_WAY.into())),
        None => None,
    };
    proven(asked, tx, SignedInWith::Password, second).await
}

/// Takes the code that goes with the password. It is used up when the transaction is committed.
async fn by_code(asked: &MemberRequest, tx: &mut Tx<'_>, code: &str) -> Result<SecondFactorMeans> {
    let (app, now) = (asked.app(), asked.app().clock.now());
    let account = sha256(format!("code {} {}", asked.person.workspace, asked.person.id));
    let counted = [SignInKey::Network(asked.asker()), SignInKey::Account(account)];
    app.sign_in_limit.try_one(&counted, now)?;
    let shown = second_factor::take(tx, asked.person.id, code).await?;
    let shown = shown.ok_or_else(|| Error::problem("code", WRONG_CODE))?;
    app.sign_in_limit.succeeded(&counted, now);
    Ok(shown)
}

/// Notes it in the session and in the audit log, as a sign-in is, and gives the session's new token.
async fn proven(
    asked: &MemberRequest,
    mut tx: Tx<'static>,
    with: SignedInWith,
    second: Option<SecondFactorMeans>,
) -> Result<String> {
    let person = asked.person.id;
    let token = sessions::prove(&mut tx, person, asked.session.id).await?.ok_or(Error::Unauthorized)?;
    let data = json!({
        "with": with.as_str(),
        "second": second.map(SecondFactorMeans::as_str),
        "network": network(asked.asker()),
        "again": true,
    });
    sessions::record(&mut tx, person, data).await?;
    tx.commit().await?;
    tracing::info!(workspace = %asked.person.workspace, %person, with = with.as_str(), "confirmed who they are");
    Ok(token)
}

/// The page again, with what is wrong and with everything that waits.
async fn refused(
    asked: &MemberRequest,
    waiting: &Waiting,
    ways: ProofWays,
    error: &Error,
) -> Result<Response> {
    let (problem, status) = match error {
        Error::Problems(problems) => {
            let sentence = problems.iter().map(|problem| problem.what.as_str()).collect();
            let field = problems.first().map(|problem| problem.field.clone());
            (ProofProblem { sentence, field }, StatusCode::UNAUTHORIZED)
        }
        other => (ProofProblem { sentence: other.sentence(), field: None }, respond::status_of(other)),
    };
    let mut response = again::page(asked, status, waiting, ways, Some(problem)).await?;
    respond::retry_after(&mut response, error);
    Ok(response)
}

fn whom(asked: &MemberRequest) -> Recognized {
    Recognized { workspace: asked.person.workspace, person: asked.person.id }
}
