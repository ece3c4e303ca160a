//! Somebody who is at the provider now and comes back: within ten minutes, once, in the browser that left.
//! Only hashes are kept, and what the provider has to answer is made of what they are hashes of.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::net::openid::BrowserProof;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

pub const LASTS: TimeDelta = TimeDelta::minutes(10);

/// One that has begun: what goes to the provider, and what stays in the browser's cookie.
pub struct Begun {
    pub state: String,
    pub cookie: String,
}

impl Begun {
    pub fn proof(&self) -> BrowserProof {
        BrowserProof::from_secret(&self.cookie, &self.state)
    }
}

/// `again` is somebody's who is in, and shows once more who they are.
pub async fn begin(tx: &mut Tx<'_>, issuer: &str, next: Option<&str>, again: bool) -> Result<Begun> {
    let (workspace, ends_at, random) = (tx.workspace(), tx.now() + LASTS, tx.frame().random.clone());
    let (state, state_text) = Token::mint(workspace, &random);
    let (browser, cookie) = Token::mint(workspace, &random);
    sqlx::query!(
        "insert into sso_attempts (workspace_id, state_hash, browser_hash, issuer, next, ends_at, again)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace.0,
        state.hash.as_slice(),
        browser.hash.as_slice(),
        issuer,
        next,
        ends_at,
        again
    )
    .execute(&mut **tx)
    .await?;
    Ok(Begun { state: state_text, cookie })
}

/// One that came back.
#[derive(Debug)]
pub struct Returned {
    pub issuer: String,
    pub next: Option<String>,
    pub again: bool,
}

/// Uses an attempt up. Nothing when it is over, was used, or began in another browser.
pub async fn take(tx: &mut Tx<'_>, state: &Token, browser: &Token) -> Result<Option<Returned>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_as!(
        Returned,
        "delete from sso_attempts
         where workspace_id = $1 and state_hash = $2 and browser_hash = $3 and ends_at > $4
         returning issuer, next, again",
        workspace,
        state.hash.as_slice(),
        browser.hash.as_slice(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// Deletes those that have ended.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "sso_attempts", "ends_at", now, 1000)
}
