//! Passkeys of people: they sign in by what a device of theirs signs, which needs no password, no mail and no code. A
//! challenge stands sealed in a cookie of the browser that asked for it, for five minutes; one that was answered is noted,
//! so that no answer counts twice. Strangers who ask for challenges write nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;
use url::{Host, Url};

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::notices::{self, Notice};
use crate::workspace::people::{self, a_name};
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PasskeyId, PersonId, SessionId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::passkeys::{Registered, is_newer};
use rookery_base::secrets::sealed;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

const PURPOSE: &str = "passkey challenge";
pub const LASTS: TimeDelta = TimeDelta::minutes(5);
const MOST: i64 = 20;
const LONGEST_NAME: usize = 60;
const NONE: Error = Error::Missing("No such passkey.");

/// Challenges are sealed, so the service has to have a key.
pub fn can_be_used(config: &Config) -> bool {
    config.secret_key.is_some() && has_a_name(&config.public_url)
}

/// Browsers bind passkeys to the name of a host, and offer them only where nobody listens in.
fn has_a_name(public_url: &Url) -> bool {
    match public_url.host() {
        Some(Host::Domain(name)) => public_url.scheme() == "https" || name == "localhost",
        _ => false,
    }
}

/// What a challenge is for: one that was made for something else is none.
#[derive(Clone, Copy)]
pub enum For {
    SigningIn,
    /// Confirming in this session who is there.
    Confirming(WorkspaceId, SessionId),
    Adding(WorkspaceId, PersonId),
}

impl For {
    fn context(self) -> String {
        match self {
            Self::SigningIn => "signing in".to_owned(),
            Self::Confirming(workspace, session) => format!("confirming {workspace} {session}"),
            Self::Adding(workspace, person) => sealed::place(workspace, person),
        }
    }
}

/// What a device signs.
pub struct Challenge {
    pub bytes: [u8; 32],
    ends_at: DateTime<Utc>,
}

/// A new challenge, and the text of the cookie that keeps it.
pub fn challenge(
    keys: &KeyRing,
    random: &Random,
    purpose: For,
    now: DateTime<Utc>,
) -> Result<([u8; 32], String)> {
    let bytes = random.bytes::<32>();
    let ends = (now + LASTS).timestamp().to_be_bytes();
    let sealed = sealed::seal(keys, random, PURPOSE, &purpose.context(), &[&ends[..], &bytes].concat())?;
    Ok((bytes, URL_SAFE_NO_PAD.encode(sealed)))
}

/// What a cookie brought back; nothing when it is too old or for something else.
pub fn brought_back(keys: &KeyRing, cookie: &str, purpose: For, now: DateTime<Utc>) -> Option<Challenge> {
    let sealed = URL_SAFE_NO_PAD.decode(cookie).ok()?;
    let opened = sealed::open(keys, PURPOSE, &purpose.context(), &sealed).ok()?;
    let (ends, bytes) = opened.split_first_chunk::<8>()?;
    let ends_at = DateTime::from_timestamp(i64::from_be_bytes(*ends), 0).filter(|ends| *ends > now)?;
    Some(Challenge { bytes: bytes.try_into().ok()?, ends_at })
}

/// What a device calls a person: where to look, and whose it is. It says nothing to anybody else.
pub fn handle(workspace: WorkspaceId, person: PersonId) -> [u8; 16] {
    let mut handle = [0; 16];
    handle[..8].copy_from_slice(&workspace.0.to_be_bytes());
    handle[8..].copy_from_slice(&person.0.to_be_bytes());
    handle
}

pub fn of_handle(handle: &[u8]) -> Option<(WorkspaceId, PersonId)> {
    let handle: [u8; 16] = handle.try_into().ok()?;
    let number = |half: &[u8]| half.try_into().map(i64::from_be_bytes).ok().filter(|number| *number > 0);
    Some((WorkspaceId(number(&handle[..8])?), PersonId(number(&handle[8..])?)))
}

/// One of a person's list.
#[derive(Debug)]
pub struct ListedPasskey {
    pub id: PasskeyId,
    pub name: String,
    pub credential_id: Vec<u8>,
    pub created_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
}

pub async fn list(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    person: PersonId,
) -> Result<Vec<ListedPasskey>> {
    Ok(sqlx::query_as!(
        ListedPasskey,
        r#"select id as "id: PasskeyId", name, credential_id, created_at, used_at from passkeys
           where workspace_id = $1 and person_id = $2 order by id limit $3"#,
        workspace.0,
        person.0,
        MOST
    )
    .fetch_all(conn)
    .await?)
}

/// Adds a passkey that was checked, and uses its challenge up.
pub async fn add(
    tx: &mut Tx<'_>,
    by: &By,
    person: PersonId,
    challenge: &Challenge,
    registered: &Registered,
    name: &str,
) -> Result<PasskeyId> {
    let name = a_name("Name", name, LONGEST_NAME)?;
    if !use_up(tx, challenge).await? {
        return Err(Error::problem("passkey", "This passkey was added already"));
    }
    let (workspace, now) = (tx.workspace(), tx.now());
    let id: PasskeyId = tx.mint();
    let made = sqlx::query!(
        "insert into passkeys (workspace_id, id, person_id, credential_id, public_key, counter, name, created_at)
         select $1, $2, $3, $4, $5, $6, $7, $8
         where (select count(*) from passkeys where workspace_id = $1 and person_id = $3) < $9
         on conflict do nothing",
        workspace.0,
        id.0,
        person.0,
        registered.credential_id,
        registered.public_key,
        i64::from(registered.counter),
        name,
        now,
        MOST
    )
    .execute(&mut **tx)
    .await?;
    if made.rows_affected() == 0 {
        let what = format!("This passkey is there already, or {MOST} are: remove one first");
        return Err(Error::problem("passkey", what));
    }
    tell(tx, person, "added to").await?;
    recorded(tx, by, person, Did::PasskeyAdded, &name).await?;
    Ok(id)
}

pub async fn rename(tx: &mut Tx<'_>, by: &By, person: PersonId, id: PasskeyId, name: &str) -> Result<()> {
    let name = a_name("Name", name, LONGEST_NAME)?;
    let workspace = tx.workspace().0;
    let renamed = sqlx::query!(
        "update passkeys set name = $4 where workspace_id = $1 and person_id = $2 and id = $3",
        workspace,
        person.0,
        id.0,
        name
    )
    .execute(&mut **tx)
    .await?;
    match renamed.rows_affected() {
        0 => Err(NONE),
        _ => recorded(tx, by, person, Did::PasskeyRenamed, &name).await,
    }
}

pub async fn remove(tx: &mut Tx<'_>, by: &By, person: PersonId, id: PasskeyId) -> Result<()> {
    let workspace = tx.workspace().0;
    let name = sqlx::query_scalar!(
        "delete from passkeys where workspace_id = $1 and person_id = $2 and id = $3 returning name",
        workspace,
        person.0,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NONE)?;
    tell(tx, person, "removed from").await?;
    recorded(tx, by, person, Did::PasskeyRemoved, &name).await
}

/// Takes away all that somebody has: they stand on the device that was lost, whichever that is.
pub async fn remove_all(tx: &mut Tx<'_>, by: &By, person: PersonId) -> Result<()> {
    let workspace = tx.workspace().0;
    let names = sqlx::query_scalar!(
        "delete from passkeys where workspace_id = $1 and person_id = $2 returning name",
        workspace,
        person.0
    )
    .fetch_all(&mut **tx)
    .await?;
    if !names.is_empty() {
        tell(tx, person, "removed from").await?;
    }
    for name in names {
        recorded(tx, by, person, Did::PasskeyRemoved, &name).await?;
    }
    Ok(())
}

/// A passkey that somebody wants to sign in with.
#[derive(Debug)]
pub struct Held {
    pub id: PasskeyId,
    pub person: PersonId,
    pub public_key: Vec<u8>,
}

/// Of somebody who is on the team and may sign in by it.
pub async fn find(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    person: PersonId,
    credential_id: &[u8],
) -> Result<Option<Held>> {
    Ok(sqlx::query_as!(
        Held,
        r#"select passkeys.id as "id: PasskeyId", person_id as "person: PersonId", public_key from passkeys
           join people on people.workspace_id = $1 and people.id = person_id and removed_at is null
           where passkeys.workspace_id = $1 and person_id = $2 and credential_id = $3
             and not exists (select from sso_connections where workspace_id = $1 and required)"#,
        workspace.0,
        person.0,
        credential_id
    )
    .fetch_optional(conn)
    .await?)
}

/// Whether an answer counts: its challenge was not answered before, and its counter is newer than the one that is kept.
pub async fn take(tx: &mut Tx<'_>, held: &Held, challenge: &Challenge, counter: u32) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let before = sqlx::query_scalar!(
        "select counter from passkeys where workspace_id = $1 and id = $2 for update",
        workspace,
        held.id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    if !before.is_some_and(|before| is_newer(counter, before)) || !use_up(tx, challenge).await? {
        return Ok(false);
    }
    sqlx::query!(
        "update passkeys set counter = $3, used_at = $4 where workspace_id = $1 and id = $2",
        workspace,
        held.id.0,
        i64::from(counter),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(true)
}

async fn use_up(tx: &mut Tx<'_>, challenge: &Challenge) -> Result<bool> {
    let (workspace, hash) = (tx.workspace().0, sha256(challenge.bytes));
    let used = sqlx::query!(
        "insert into used_challenges (workspace_id, challenge_hash, ends_at) values ($1, $2, $3) on conflict do nothing",
        workspace,
        hash.as_slice(),
        challenge.ends_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(used.rows_affected() == 1)
}

async fn tell(tx: &mut Tx<'_>, person: PersonId, what: &str) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let subject = format!("A passkey was {what} your account");
    let body = format!(
        "A passkey was {what} your account. If that was not you, sign in, remove what is not yours in your profile, end all \
         other sessions there, and tell an owner of your workspace.\n"
    );
    let notice = Notice { to: person, kind: "passkey", subject: &subject, body: &body };
    notices::write(tx, workspace, now, &random, notice).await
}

async fn recorded(tx: &mut Tx<'_>, by: &By, person: PersonId, did: Did, passkey: &str) -> Result<()> {
    let name = people::name_of(tx, person).await?;
    let data = json!({ "passkey": passkey });
    audit::record(tx, by, did, Subject { id: &person, name: &name }, data).await
}

/// Deletes what is noted of challenges that have ended.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "used_challenges", "ends_at", now, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_the_name_of_a_host() {
        let can = |url: &str| has_a_name(&url.parse().unwrap());
        assert!(can("https://mail.acme.example") && can("http://localhost:8080"));
        assert!(!can("http://mail.acme.example") && !can("https://192.0.2.7") && !can("http://127.0.0.1:80"));
    }

    #[test]
    fn a_handle_leads_back_to_its_person_and_nothing_else_leads_anywhere() {
        let ada = (WorkspaceId(7), PersonId(9));
        assert_eq!(of_handle(&handle(ada.0, ada.1)), Some(ada));
        assert_eq!(
            (of_handle(&[]), of_handle(&[0; 16]), of_handle(&[255; 16]), of_handle(&[1; 17])),
            (None, None, None, None)
        );
    }
}
