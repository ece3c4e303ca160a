//! Half a sign-in: somebody who has shown a password or opened a link, and has a second factor. Its token opens nothing but
//! the page that asks for the code; it ends after ten minutes and after five wrong codes.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::workspace::passwords::Recognized;
use crate::workspace::sessions::SignedInWith;
use rookery_base::error::Result;
use rookery_base::ids::PersonId;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

pub const LASTS: TimeDelta = TimeDelta::minutes(10);
const MOST_TRIES: i16 = 5;

/// Whose it is, and what they have shown.
#[derive(Debug)]
pub struct Half {
    pub person: PersonId,
    pub with: SignedInWith,
}

/// Nothing when this person has no second factor: then the first one is enough. Else the text of a token.
pub async fn begin(tx: &mut Tx<'_>, person: PersonId, with: SignedInWith) -> Result<Option<String>> {
    let (token, text) = Token::mint(tx.workspace(), &tx.frame().random);
    let (workspace, now) = (tx.workspace().0, tx.now());
    let begun = sqlx::query!(
        "insert into half_sign_ins (workspace_id, token_hash, person_id, signed_in_with, ends_at)
         select $1, $2, person_id, $4, $5 from second_factors where workspace_id = $1 and person_id = $3",
        workspace,
        token.hash.as_slice(),
        person.0,
        with.as_str(),
        now + LASTS
    )
    .execute(&mut **tx)
    .await?;
    Ok((begun.rows_affected() == 1).then_some(text))
}

/// Whether there is one that is good.
pub async fn find(conn: &mut PgConnection, token: &Token, now: DateTime<Utc>) -> Result<Option<Recognized>> {
    let person = sqlx::query_scalar!(
        r#"select person_id as "person: PersonId" from half_sign_ins
           where workspace_id = $1 and token_hash = $2 and ends_at > $3 and tries < $4"#,
        token.workspace.0,
        token.hash.as_slice(),
        now,
        MOST_TRIES
    )
    .fetch_optional(conn)
    .await?;
    Ok(person.map(|person| Recognized { workspace: token.workspace, person }))
}

/// Counts a try, before it is made. Nobody when it is not good any more.
pub async fn try_one(tx: &mut Tx<'_>, token: &Token) -> Result<Option<Half>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_as!(
        Half,
        r#"update half_sign_ins set tries = tries + 1
           where workspace_id = $1 and token_hash = $2 and ends_at > $3 and tries < $4
           returning person_id as "person: PersonId", signed_in_with as "with: SignedInWith""#,
        workspace,
        token.hash.as_slice(),
        now,
        MOST_TRIES
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// The other half was shown.
pub async fn end(tx: &mut Tx<'_>, token: &Token) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from half_sign_ins where workspace_id = $1 and token_hash = $2",
        workspace,
        token.hash.as_slice()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Deletes those that have ended.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "half_sign_ins", "ends_at", now, 1000)
}
