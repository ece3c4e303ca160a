//! The second factor: a code of an authenticator app, or a recovery code. Once somebody has one, a password or a link by
//! mail is half a sign-in. The secret is sealed, recovery codes are hashed, and each code is good once.

pub mod half;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::notices::{self, Notice};
use crate::workspace::people;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::secrets::hashes::sha256;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::secrets::totp;
use rookery_base::store::db::Tx;

const PURPOSE: &str = "totp";
/// What is shown while somebody sets it up is sealed for another purpose: it is no secret of theirs yet.
const SETTING_UP: &str = "totp setting up";
/// How long the page with the QR code is good.
const SET_UP_WITHIN: TimeDelta = TimeDelta::minutes(30);
const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 10;

rookery_base::text_enum! {
    /// What was shown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SecondFactorMeans {
        App = "code",
        Recovery = "recovery code",
    }
}

/// What somebody has.
#[derive(Debug)]
pub struct SecondFactorStanding {
    pub since: Option<DateTime<Utc>>,
    pub recovery_codes: i64,
    /// The workspace asks everybody for one.
    pub required: bool,
}

pub async fn standing(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    person: PersonId,
) -> Result<SecondFactorStanding> {
    Ok(sqlx::query_as!(
        SecondFactorStanding,
        r#"select (select created_at from second_factors where workspace_id = $1 and person_id = $2) as since,
               (select count(*) from recovery_codes where workspace_id = $1 and person_id = $2) as "recovery_codes!",
               second_factor_required as required
           from workspaces where id = $1"#,
        workspace.0,
        person.0
    )
    .fetch_one(conn)
    .await?)
}

/// A secret that is being set up, as the page shows it and its form brings it back.
pub struct SettingUp {
    pub secret: [u8; totp::SECRET_BYTES],
    /// Sealed for this person and for half an hour, so that nothing is stored before the first code was right.
    pub sealed: String,
}

pub fn set_up(
    keys: &KeyRing,
    random: &Random,
    workspace: WorkspaceId,
    person: PersonId,
    now: DateTime<Utc>,
) -> Result<SettingUp> {
    let secret = random.bytes::<{ totp::SECRET_BYTES }>();
    let ends = (now + SET_UP_WITHIN).timestamp().to_be_bytes();
    let context = sealed::place(workspace, person);
    let sealed = sealed::seal(keys, random, SETTING_UP, &context, &[&ends[..], &secret].concat())?;
    Ok(SettingUp { secret, sealed: URL_SAFE_NO_PAD.encode(sealed) })
}

/// What the form brought back; nothing when it is not this person's or too old.
pub fn brought_back(
    keys: &KeyRing,
    text: &str,
    workspace: WorkspaceId,
    person: PersonId,
    now: DateTime<Utc>,
) -> Option<SettingUp> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
    let opened = sealed::open(keys, SETTING_UP, &sealed::place(workspace, person), &sealed).ok()?;
    let (ends, secret) = opened.split_first_chunk::<8>()?;
    let secret = secret.try_into().ok().filter(|_| i64::from_be_bytes(*ends) > now.timestamp())?;
    Some(SettingUp { secret, sealed: text.to_owned() })
}

/// Turns it on with the first code of the app. Gives the recovery codes, whose text is not kept; nothing when the code is
/// wrong.
pub async fn turn_on(
    tx: &mut Tx<'_>,
    by: &By,
    person: PersonId,
    setting_up: &SettingUp,
    code: &str,
) -> Result<Option<Vec<String>>> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let Some(step) = totp::step_of(&setting_up.secret, &digits(code), now, 0) else { return Ok(None) };
    let (keys, random) = (tx.frame().needs_keys()?.clone(), tx.frame().random.clone());
    let secret =
        sealed::seal(&keys, &random, PURPOSE, &sealed::place(workspace, person), &setting_up.secret)?;
    let made = sqlx::query!(
        "insert into second_factors (workspace_id, person_id, secret, newest_step, created_at)
         values ($1, $2, $3, $4, $5) on conflict do nothing",
        workspace.0,
        person.0,
        secret,
        step,
        now
    )
    .execute(&mut **tx)
    .await?;
    if made.rows_affected() == 0 {
        return Err(Error::problem("code", "Two-step verification is already on. Turn it off first"));
    }
    let codes = write_recovery_codes(tx, person).await?;
    tell(tx, person, "on").await?;
    recorded(tx, by, person, Did::SecondFactorOn).await?;
    Ok(Some(codes))
}

/// Whether a code is good now, of the app or for recovery; then it is used up.
pub async fn take(tx: &mut Tx<'_>, person: PersonId, code: &str) -> Result<Option<SecondFactorMeans>> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let Some(held) = sqlx::query!(
        "select secret, newest_step from second_factors where workspace_id = $1 and person_id = $2 for update",
        workspace.0,
        person.0
    )
    .fetch_optional(&mut **tx)
    .await?
    else {
        return Ok(None);
    };
    let keys = tx.frame().needs_keys()?.clone();
    let secret = sealed::open(&keys, PURPOSE, &sealed::place(workspace, person), &held.secret)?;
    if let Some(step) = totp::step_of(&secret, &digits(code), now, held.newest_step) {
        sqlx::query!(
            "update second_factors set newest_step = $3 where workspace_id = $1 and person_id = $2",
            workspace.0,
            person.0,
            step
        )
        .execute(&mut **tx)
        .await?;
        return Ok(Some(SecondFactorMeans::App));
    }
    let hash = hash(workspace, person, code);
    let used = sqlx::query!(
        "delete from recovery_codes where workspace_id = $1 and person_id = $2 and code_hash = $3",
        workspace.0,
        person.0,
        hash.as_slice()
    )
    .execute(&mut **tx)
    .await?;
    Ok((used.rows_affected() == 1).then_some(SecondFactorMeans::Recovery))
}

/// Ten new recovery codes; the ones before open nothing any more.
pub async fn make_recovery_codes(tx: &mut Tx<'_>, by: &By, person: PersonId) -> Result<Vec<String>> {
    let codes = write_recovery_codes(tx, person).await?;
    recorded(tx, by, person, Did::RecoveryCodesMade).await?;
    Ok(codes)
}

async fn write_recovery_codes(tx: &mut Tx<'_>, person: PersonId) -> Result<Vec<String>> {
    let (workspace, random) = (tx.workspace(), tx.frame().random.clone());
    let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| recovery_code(&random)).collect();
    let hashes: Vec<Vec<u8>> = codes.iter().map(|code| hash(workspace, person, code).to_vec()).collect();
    sqlx::query!(
        "delete from recovery_codes where workspace_id = $1 and person_id = $2",
        workspace.0,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "insert into recovery_codes (workspace_id, person_id, code_hash) select $1, $2, unnest($3::bytea[])",
        workspace.0,
        person.0,
        &hashes
    )
    .execute(&mut **tx)
    .await?;
    Ok(codes)
}

/// Turns it off. Whoever asks has shown a code, or manages the person.
pub async fn turn_off(tx: &mut Tx<'_>, by: &By, person: PersonId) -> Result<()> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "with codes as (delete from recovery_codes where workspace_id = $1 and person_id = $2),
              halves as (delete from half_sign_ins where workspace_id = $1 and person_id = $2)
         delete from second_factors where workspace_id = $1 and person_id = $2",
        workspace,
        person.0
    )
    .execute(&mut **tx)
    .await?;
    if gone.rows_affected() == 0 {
        return Ok(());
    }
    tell(tx, person, "off").await?;
    recorded(tx, by, person, Did::SecondFactorOff).await
}

/// Whether everybody of the workspace has to have one.
pub async fn require(tx: &mut Tx<'_>, by: &By, required: bool) -> Result<()> {
    let workspace = tx.workspace();
    let name = sqlx::query_scalar!(
        "update workspaces set second_factor_required = $2
         where id = $1 and second_factor_required <> $2 returning name",
        workspace.0,
        required
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(name) = name else { return Ok(()) };
    let did = if required { Did::SecondFactorRequired } else { Did::SecondFactorOptional };
    audit::record(tx, by, did, Subject { id: &workspace, name: &name }, json!({})).await
}

async fn tell(tx: &mut Tx<'_>, person: PersonId, state: &str) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let subject = format!("Two-step verification is {state}");
    let body = format!(
        "Two-step verification was turned {state} for your account. If that wasn’t you, sign in, end all other \
         sessions in your profile, and contact an owner of your workspace.\n"
    );
    let notice = Notice { to: person, kind: "second-factor", subject: &subject, body: &body };
    notices::write(tx, workspace, now, &random, notice).await
}

async fn recorded(tx: &mut Tx<'_>, by: &By, person: PersonId, did: Did) -> Result<()> {
    let name = people::name_of(tx, person).await?;
    audit::record(tx, by, did, Subject { id: &person, name: &name }, json!({})).await
}

/// Eighty bits, in fours.
fn recovery_code(random: &Random) -> String {
    let text = totp::base32(&random.bytes::<RECOVERY_BYTES>()).to_lowercase();
    let fours: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
    fours.join("-")
}

/// However it was typed.
fn hash(workspace: WorkspaceId, person: PersonId, code: &str) -> [u8; 32] {
    let plain: String = code.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    sha256(format!("{workspace} {person} {}", plain.to_ascii_lowercase()))
}

/// Apps show codes with a gap.
fn digits(code: &str) -> String {
    code.chars().filter(|letter| !letter.is_whitespace()).take(16).collect()
}

/// The sealed secrets of these workspaces, for resealing.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<PersonId>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", person_id as "person: PersonId", secret
           from second_factors where workspace_id = any($1)"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, row.person, PURPOSE, row.secret)).collect())
}

pub async fn replace(tx: &mut Tx<'_>, person: PersonId, before: &[u8], anew: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update second_factors set secret = $4 where workspace_id = $1 and person_id = $2 and secret = $3",
        workspace,
        person.0,
        before,
        anew
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}
