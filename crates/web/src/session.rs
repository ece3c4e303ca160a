//! The session of a browser: a cookie that only this host gets, that script cannot read and that other sites cannot send
//! along with a form. Every sign-in begins a new one and ends the one that was there, so nobody can plant theirs.

use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use percent_encoding::percent_decode_str;
use serde_json::json;
use sqlx::PgConnection;
use url::form_urlencoded;

use crate::respond;
use crate::visit::{MemberRequest, Visit, cookie_name};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::limits::key_uses::network;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_core::workspace::passwords::Recognized;
use rookery_core::workspace::second_factor::{SecondFactorMeans, half};
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_core::workspace::{sign_in_links, single_sign_on};
use rookery_http::answers::insert;

/// Longest path to go on to after signing in. It has to hold the addresses that OAuth clients open.
const LONGEST_NEXT: usize = 2000;
pub const FIRST_PAGE: &str = "/inbox";
/// Most bytes of the cookie that keeps where a sign-in link leads on to.
const LONGEST_KEPT: usize = 3000;

/// Signs somebody in who gave their password or opened a sign-in link, in the transaction that recognised them. If they
/// have a second factor, the answer leads to the page that asks for the code. It sets a cookie in either case.
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

/// How somebody signed in.
pub struct Came {
    pub with: SignedInWith,
    pub second: Option<SecondFactorMeans>,
    /// When they last proved who they are; None if their provider does not say.
    pub proved_at: Option<DateTime<Utc>>,
}

/// Signs somebody in who needs no further proof, as after a provider, a passkey or the code of a second factor.
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
    let data =
        json!({ "with": with.as_str(), "second": second.map(SecondFactorMeans::as_str), "network": network });
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
pub const NOT_FRESH: &str = "Reload this page, then confirm it’s you.";

/// Whether this person has just proved who they are. It guards everything that gives somebody power or takes it.
pub fn is_fresh(asked: &MemberRequest) -> bool {
    asked.session.is_fresh(asked.visit.app().clock.now())
}

/// An error that says what to do, unless the person has just proved who they are.
pub fn must_be_fresh(asked: &MemberRequest) -> Result<()> {
    if is_fresh(asked) { Ok(()) } else { Err(Error::Forbidden(NOT_FRESH.into())) }
}

/// The address at which somebody who is signed in confirms that it is them, and then goes on.
pub fn again(next: &str) -> String {
    format!("/sign-in/again?next={}", form_urlencoded::byte_serialize(next.as_bytes()).collect::<String>())
}

/// Whether this person confirms who they are at the workspace's provider: they came by it, or there is no other way.
pub async fn is_by_sso(conn: &mut PgConnection, asked: &MemberRequest) -> Result<bool> {
    let connection = single_sign_on::load(conn, asked.person.workspace).await?;
    Ok(connection.is_some_and(|connection| connection.required || asked.session.with == SignedInWith::Sso))
}

/// The page at which somebody who is signed in does so once more: that of the provider, or the one with every other way.
pub fn sign_in_again(asked: &MemberRequest, by_sso: bool, next: &str) -> String {
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    if by_sso {
        format!("/sign-in/sso/{}?again=on&next={next}", asked.person.workspace)
    } else {
        format!("/sign-in?again=on&next={next}")
    }
}

/// The name of the cookie between password or link and the code of two-step verification.
pub fn half_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-half",
        _ => "rookery_half",
    }
}

/// The name of the cookie while somebody signs in at the workspace's provider.
pub fn sso_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-sso",
        _ => "rookery_sso",
    }
}

/// The name of the cookie that holds the challenge of a passkey.
pub fn challenge_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-passkey",
        _ => "rookery_passkey",
    }
}

/// The name of the cookie that keeps where a requested sign-in link leads on to.
fn next_cookie(app: &App) -> &'static str {
    match app.config.public_url.scheme() {
        "https" => "__Host-rookery-next",
        _ => "rookery_next",
    }
}

/// Keeps where a sign-in link leads on to, in a cookie of the browser that asks for the link. It is stored nowhere else,
/// because anybody can ask for a link to somebody's address. It replaces what an earlier request kept.
pub fn keep_next(app: &App, response: &mut Response, next: Option<&str>) {
    let kept = next.filter(|next| is_ours(app, next) && !lets_programs_in(app, next));
    let kept: String =
        kept.map(|next| form_urlencoded::byte_serialize(next.as_bytes()).collect()).unwrap_or_default();
    match kept.len() {
        1..=LONGEST_KEPT => cookie(app, next_cookie(app), response, &kept, sign_in_links::LASTS),
        _ => cookie(app, next_cookie(app), response, "", TimeDelta::zero()),
    }
}

/// Removes the cookie of `keep_next`, which is for one sign-in only. The header is added beside that of the session's
/// cookie.
pub fn forget_next(app: &App, response: &mut Response) {
    if let Ok(line) = cookie_line(app, next_cookie(app), "", TimeDelta::zero()).parse() {
        response.headers_mut().append("set-cookie", line);
    }
}

/// Where a sign-in link leads on to, if this browser asked for the link.
pub fn kept_next(visit: &Visit) -> Option<String> {
    let (app, kept) = (visit.app(), visit.cookie(next_cookie(visit.app()))?);
    let (next, _) = form_urlencoded::parse(kept.as_bytes()).next()?;
    Some(next.into_owned()).filter(|next| is_ours(app, next) && !lets_programs_in(app, next))
}

/// Whether a path is a page that lets a program in. A sign-in link never leads there, because somebody who has just signed
/// in for another reason might press its button without reading.
pub fn lets_programs_in(app: &App, path: &str) -> bool {
    let Ok(url) = app.config.public_url.join(path) else { return false };
    let path = percent_decode_str(url.path()).decode_utf8_lossy().to_lowercase();
    path.split('/').find(|part| !part.is_empty()) == Some("oauth")
}

pub fn set_cookie(app: &App, response: &mut Response, token: &str) {
    cookie(app, cookie_name(app), response, token, sessions::WHOLE);
}

pub fn clear_cookie(app: &App, response: &mut Response) {
    cookie(app, cookie_name(app), response, "", TimeDelta::zero());
}

pub fn cookie(app: &App, name: &str, response: &mut Response, value: &str, lasts: TimeDelta) {
    insert(response.headers_mut(), "set-cookie", &cookie_line(app, name, value, lasts));
}

fn cookie_line(app: &App, name: &str, value: &str, lasts: TimeDelta) -> String {
    let secure = if app.config.public_url.scheme() == "https" { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}", lasts.num_seconds())
}

/// Ends the session that the browser had before. It may be of another workspace, or of one that does not exist.
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
