//! The session of a browser: a cookie that only this host gets, that script cannot read and that other sites cannot send
//! along with a form. Every sign-in begins a new one and ends the one that was there, so nobody can plant theirs.

use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;
use url::form_urlencoded;

use crate::app::App;
use crate::error::{Error, Result};
use crate::http::answers::insert;
use crate::limits::key_uses::network;
use crate::secrets::sign_in_tokens::Token;
use crate::store::db::Tx;
use crate::web::respond;
use crate::web::visit::{Asked, Visit, cookie_name};
use crate::workspace::passwords::Recognized;
use crate::workspace::second_factor::{Shown, half};
use crate::workspace::sessions::{self, SignedInWith};
use crate::workspace::single_sign_on;

/// What a client opens that people are to sign in to has a long address.
const LONGEST_NEXT: usize = 2000;
const FIRST_PAGE: &str = "/inbox";

/// Signs somebody in who has shown a password or read a mail, in the transaction that recognised them: with a second factor
/// it is half of it, and the code comes next. The answer carries a cookie and leads on.
pub async fn begin(
    visit: &Visit,
    mut tx: Tx<'_>,
    who: Recognized,
    with: SignedInWith,
    next: Option<&str>,
) -> Result<Response> {
    let app = visit.app();
    let Some(token) = half::begin(&mut tx, who.person, with).await? else {
        let proved_at = Some(tx.now());
        return complete(visit, tx, who, Came { with, second: None, proved_at }, next).await;
    };
    tx.commit().await?;
    let mut onward = form_urlencoded::Serializer::new(String::new());
    onward.extend_pairs(next.filter(|next| is_ours(app, next)).map(|next| ("next", next)));
    let mut response = respond::see_other(format!("/sign-in/code?{}", onward.finish()).trim_end_matches('?'));
    cookie(app, half_cookie(app), &mut response, &token, half::LASTS);
    Ok(response)
}

/// How somebody came in.
pub struct Came {
    pub with: SignedInWith,
    pub second: Option<Shown>,
    /// When they showed who they are. A provider may not say.
    pub proved_at: Option<DateTime<Utc>>,
}

/// Signs somebody in who has shown all that is asked of them: by a provider or a passkey nothing more is.
pub async fn complete(
    visit: &Visit,
    mut tx: Tx<'_>,
    who: Recognized,
    came: Came,
    next: Option<&str>,
) -> Result<Response> {
    let Came { with, second, proved_at } = came;
    let app = visit.app();
    let browser = visit.header("user-agent").unwrap_or_default();
    let token = sessions::begin_proved(&mut tx, who.person, browser, with, proved_at).await?;
    let network = network(visit.asker());
    let data = json!({ "with": with.as_str(), "second": second.map(Shown::as_str), "network": network });
    sessions::record(&mut tx, who.person, data).await?;
    tx.commit().await?;
    if let Some(old) = visit.session_token().and_then(Token::read) {
        end_earlier(app, &old).await?;
    }
    tracing::info!(workspace = %who.workspace, person = %who.person, with = with.as_str(), "signed in");
    let mut response = respond::see_other(next.filter(|next| is_ours(app, next)).unwrap_or(FIRST_PAGE));
    set_cookie(app, &mut response, &token);
    Ok(response)
}

/// What to tell somebody who is in, but whose last proof of who they are is too old for what they want.
pub const NOT_FRESH: &str = "Sign in again first: that was more than 15 minutes ago.";

/// The one question that guards what gives others power: has this person just shown who they are?
pub fn is_fresh(asked: &Asked) -> bool {
    asked.session.is_fresh(asked.visit.app().clock.now())
}

/// The same, as an error that says what to do.
pub fn must_be_fresh(asked: &Asked) -> Result<()> {
    match is_fresh(asked) {
        true => Ok(()),
        false => Err(Error::Forbidden(NOT_FRESH.into())),
    }
}

/// Where somebody who is signed in shows once more who they are: the way they came, or the only one.
pub async fn again(conn: &mut PgConnection, asked: &Asked, next: &str) -> Result<String> {
    let workspace = asked.person.workspace;
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    let by_sso = single_sign_on::of(conn, workspace)
        .await?
        .is_some_and(|connection| connection.required || asked.session.with == SignedInWith::Sso);
    Ok(match by_sso {
        true => format!("/sign-in/sso/{workspace}?again=on&next={next}"),
        false => format!("/sign-in?again=on&next={next}"),
    })
}

/// The cookie of somebody whose code is still to come.
pub fn half_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-half",
        _ => "rookery_half",
    }
}

/// The cookie of somebody who is at the workspace's provider.
pub fn sso_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-sso",
        _ => "rookery_sso",
    }
}

/// The cookie that holds the challenge of a passkey.
pub fn challenge_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-passkey",
        _ => "rookery_passkey",
    }
}

pub fn set_cookie(app: &App, response: &mut Response, token: &str) {
    cookie(app, cookie_name(app), response, token, sessions::WHOLE);
}

pub fn clear_cookie(app: &App, response: &mut Response) {
    cookie(app, cookie_name(app), response, "", TimeDelta::zero());
}

pub fn cookie(app: &App, name: &str, response: &mut Response, value: &str, lasts: TimeDelta) {
    let secure = if app.config.public_url.scheme() == "https" { "; Secure" } else { "" };
    let line =
        format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}", lasts.num_seconds());
    insert(response.headers_mut(), "set-cookie", &line);
}

/// Whatever session the browser came with. It may be of another workspace, or of one that is not there.
async fn end_earlier(app: &App, token: &Token) -> Result<()> {
    let found = sessions::find(&mut *app.connection().await?, token, app.clock.now()).await?;
    if let Some((session, person)) = found {
        let mut tx = app.begin(token.workspace).await?;
        sessions::end(&mut tx, person.id, session.id).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Whether a path leads to a page of ours and nowhere else.
pub fn is_ours(app: &App, path: &str) -> bool {
    let sound = path.starts_with('/')
        && path.len() <= LONGEST_NEXT
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let joined = app.config.public_url.join(path);
    sound && joined.is_ok_and(|url| url.origin() == app.config.public_url.origin())
}
