//! `/profile/second-factor`: setting up an authenticator app by a QR code, recovery codes, which are shown once, and turning
//! it off. Every change asks for a code. Turning it on asks for the password or a new session too, so that nobody at an open
//! one locks its person out, and signs out everywhere else.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};
use qrcode::{Color, EcLevel, QrCode};

use crate::settings::profile;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use crate::{respond, session};
use rookery_base::error::{Error, Result};
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::totp;
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::people;
use rookery_core::workspace::second_factor::{self, SecondFactorStanding, SettingUp};
use rookery_core::workspace::{sessions, single_sign_on};

pub const PATH: &str = "/profile/second-factor";

const AGAIN: &str = "Sign in again, then turn it on within 60 minutes.";
const WRONG: &str = "That code is incorrect. Wait for the next one and try again.";

#[derive(Template)]
#[template(path = "settings/second_factor.html")]
struct FactorPage {
    shell: Shell,
    page: &'static str,
    standing: SecondFactorStanding,
    /// What setting it up needs; None if it is on.
    setting_up: Option<ShownSecret>,
    proof: TurnOnProof,
    /// Where to sign in again.
    again: String,
    problem: Option<String>,
    /// The recovery codes, which are shown once.
    codes: Option<Vec<String>>,
}

/// What turning it on takes beside a code, so that nobody at an open session locks its person out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnOnProof {
    /// They have just signed in.
    Shown,
    Password,
    /// They have no password: they sign in once more.
    SignInAgain,
}

struct ShownSecret {
    picture: Picture,
    /// The secret in groups of four, for typing it in.
    secret: String,
    sealed: String,
}

/// A QR code as the path of an SVG, and how many modules it has on a side.
struct Picture {
    path: String,
    side: usize,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked, None, None).await?)
}

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let code = form.get("code").unwrap_or_default();
    let done = match form.get("do") {
        Some("off") => turn_off(&asked, code).await,
        Some("codes") => make_codes(&asked, code).await,
        _ => return turn_on(&asked, &form, code).await,
    };
    match done {
        Err(error @ (Error::Problems(_) | Error::SlowDown { .. })) => refused(&asked, None, &error).await,
        done => done,
    }
}

async fn turn_on(asked: &MemberRequest, form: &Form, code: &str) -> Result<Response> {
    let sealed = form.get("setting_up").unwrap_or_default();
    let (app, person) = (asked.app(), &asked.person);
    let (keys, now) = (app.config.needs_secret_key()?, app.clock.now());
    let Some(setting_up) = second_factor::brought_back(keys, sealed, person.workspace, person.id, now) else {
        let error = Error::problem("code", "This page was open for too long. Scan the new code below");
        return refused(asked, None, &error).await;
    };
    let counted = match prove(asked, form.get("current").unwrap_or_default()).await {
        Ok(counted) => counted,
        Err(error @ (Error::Problems(_) | Error::SlowDown { .. })) => {
            return refused(asked, Some(setting_up), &error).await;
        }
        Err(error) => return Err(error),
    };
    let mut tx = asked.tx().await?;
    let Some(codes) = second_factor::turn_on(&mut tx, &person.by(), person.id, &setting_up, code).await?
    else {
        drop(tx);
        return refused(asked, Some(setting_up), &Error::problem("code", WRONG)).await;
    };
    app.sign_in_limit.succeeded(&counted, now);
    // Whoever has come in without it until now comes in anew.
    sessions::end_others(&mut tx, person.id, asked.session.id).await?;
    let token = sessions::renew(&mut tx, asked.session.id).await?;
    tx.commit().await?;
    let mut response = respond::page(&page(asked, None, Some(codes)).await?)?;
    session::set_cookie(app, &mut response, &token);
    Ok(response)
}

async fn make_codes(asked: &MemberRequest, code: &str) -> Result<Response> {
    let mut tx = shown(asked, code).await?;
    let codes = second_factor::make_recovery_codes(&mut tx, &asked.person.by(), asked.person.id).await?;
    tx.commit().await?;
    respond::page(&page(asked, None, Some(codes)).await?)
}

async fn turn_off(asked: &MemberRequest, code: &str) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let standing = second_factor::standing(&mut reading, asked.person.workspace, asked.person.id).await?;
    drop(reading);
    if standing.required {
        return Err(Error::problem("code", "Your workspace requires two-step verification"));
    }
    let mut tx = shown(asked, code).await?;
    second_factor::turn_off(&mut tx, &asked.person.by(), asked.person.id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(profile::PATH, Toast::new(Done::SecondFactorOff, "")))
}

/// Checks a code and gives the transaction in which it was used up.
async fn shown(asked: &MemberRequest, code: &str) -> Result<rookery_base::store::db::Tx<'static>> {
    let (counted, now) = (count(asked)?, asked.app().clock.now());
    let mut tx = asked.tx().await?;
    match second_factor::take(&mut tx, asked.person.id, code).await? {
        Some(_) => {
            asked.app().sign_in_limit.succeeded(&counted, now);
            Ok(tx)
        }
        None => Err(Error::problem("code", WRONG)),
    }
}

async fn prove(asked: &MemberRequest, current: &str) -> Result<[SignInKey; 1]> {
    let counted = count(asked)?;
    match proof(asked).await? {
        TurnOnProof::Shown => Ok(counted),
        TurnOnProof::Password => {
            if passwords::is_of(asked.app(), whom(asked), current).await? {
                Ok(counted)
            } else {
                Err(Error::problem("current", "Incorrect password."))
            }
        }
        TurnOnProof::SignInAgain => Err(Error::problem("current", AGAIN)),
    }
}

async fn proof(asked: &MemberRequest) -> Result<TurnOnProof> {
    if asked.session.is_fresh(asked.app().clock.now()) {
        return Ok(TurnOnProof::Shown);
    }
    let mut reading = asked.reading().await?;
    // Under "only by SSO" an old password says nothing any more.
    let counts = passwords::has_one(&mut reading, whom(asked)).await?
        && !single_sign_on::is_required(&mut reading, asked.person.workspace).await?;
    Ok(if counts { TurnOnProof::Password } else { TurnOnProof::SignInAgain })
}

fn whom(asked: &MemberRequest) -> Recognized {
    Recognized { workspace: asked.person.workspace, person: asked.person.id }
}

/// Counts a try before it is made, together with tries at signing in.
fn count(asked: &MemberRequest) -> Result<[SignInKey; 1]> {
    let app = asked.app();
    let keys = [SignInKey::Account(sha256(format!("code {} {}", asked.person.workspace, asked.person.id)))];
    match app.sign_in_limit.try_one(&keys, app.clock.now()) {
        Ok(()) => Ok(keys),
        Err(Error::SlowDown { retry_after, .. }) => {
            let sentence =
                format!("Too many codes. Wait {} seconds and try again.", retry_after.as_secs().max(1));
            Err(Error::SlowDown { sentence, retry_after })
        }
        Err(other) => Err(other),
    }
}

async fn refused(asked: &MemberRequest, setting_up: Option<SettingUp>, error: &Error) -> Result<Response> {
    let sentence = match error {
        Error::Problems(problems) => problems.iter().map(|problem| problem.what.as_str()).collect(),
        other => other.sentence(),
    };
    let mut page = page(asked, setting_up, None).await?;
    page.problem = Some(sentence);
    let mut response = respond::page_with(respond::status_of(error), &page)?;
    respond::retry_after(&mut response, error);
    Ok(response)
}

async fn page(
    asked: &MemberRequest,
    setting_up: Option<SettingUp>,
    codes: Option<Vec<String>>,
) -> Result<FactorPage> {
    let (app, person) = (asked.app(), &asked.person);
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let standing = second_factor::standing(&mut reading, person.workspace, person.id).await?;
    let email = people::email_of(&mut reading, person.workspace, person.id).await?;
    let by_sso = session::is_by_sso(&mut reading, asked).await?;
    let again = session::sign_in_again(asked, by_sso, PATH);
    drop(reading);
    let setting_up = match standing.since {
        Some(_) => None,
        None => {
            let setting_up = match setting_up {
                Some(setting_up) => setting_up,
                None => second_factor::set_up(
                    app.config.needs_secret_key()?,
                    &app.random,
                    person.workspace,
                    person.id,
                    app.clock.now(),
                )?,
            };
            Some(drawn(setting_up, &shell.workspace, &email)?)
        }
    };
    let proof = proof(asked).await?;
    Ok(FactorPage { shell, page: profile::PATH, standing, setting_up, proof, again, problem: None, codes })
}

fn drawn(setting_up: SettingUp, workspace: &str, email: &str) -> Result<ShownSecret> {
    let issuer: String = workspace.chars().take(40).collect();
    let uri = totp::uri(&setting_up.secret, &format!("Rookery {issuer}"), email);
    let secret = totp::base32(&setting_up.secret);
    let fours: Vec<&str> = (0..secret.len()).step_by(4).map(|at| &secret[at..at + 4]).collect();
    Ok(ShownSecret { picture: picture(&uri)?, secret: fours.join(" "), sealed: setting_up.sealed })
}

fn picture(text: &str) -> Result<Picture> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(Error::internal)?;
    let side = code.width();
    let dark = code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == Color::Dark);
    // Four empty modules all around, as the standard asks.
    let path = dark.map(|(at, _)| format!("M{} {}h1v1h-1z", at % side + 4, at / side + 4)).collect();
    Ok(Picture { path, side: side + 8 })
}

impl FactorPage {
    fn since(&self) -> Option<&DateTime<Utc>> {
        self.standing.since.as_ref()
    }
}
