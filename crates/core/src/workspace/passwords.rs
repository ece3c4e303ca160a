//! Passwords of people: at least twelve characters, kept as a hash. A password belongs to a person of one workspace; at
//! sign-in an address may be several people, and each that has a password is tried.
//!
//! No connection to the database is held while a password is hashed.

use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::Person;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::secrets::password_hashes::PasswordVerdict;
use rookery_base::store::db::Tx;

const SHORTEST: usize = 12;
/// Longer ones would only cost; they are refused, never cut.
const LONGEST: usize = 256;
/// How many people of one address are tried. Each costs a hash.
const MOST_PEOPLE: i64 = 4;

/// Someone who said who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recognized {
    pub workspace: WorkspaceId,
    pub person: PersonId,
}

/// Who has this address and this password. It takes as long when nobody has the address.
pub async fn recognize(app: &App, email: &str, password: &str) -> Result<Option<Recognized>> {
    let mut people = with_password(&mut *app.connection().await?, email).await?;
    if people.is_empty() || password.chars().count() > LONGEST {
        people = vec![];
        app.password_hashes.check("", None).await?;
    }
    for (recognized, hash) in people {
        match app.password_hashes.check(password, Some(hash.clone())).await? {
            PasswordVerdict::Wrong => continue,
            PasswordVerdict::Right => {}
            PasswordVerdict::Outdated => renew(app, recognized, &hash, password).await?,
        }
        return Ok(Some(recognized));
    }
    Ok(None)
}

/// Whether a password is this person's.
pub async fn is_of(app: &App, of: Recognized, password: &str) -> Result<bool> {
    let hash = sqlx::query_scalar!(
        "select hash from passwords where workspace_id = $1 and person_id = $2",
        of.workspace.0,
        of.person.0
    )
    .fetch_optional(&mut *app.connection().await?)
    .await?;
    let password = if password.chars().count() > LONGEST { "" } else { password };
    Ok(app.password_hashes.check(password, hash).await? != PasswordVerdict::Wrong)
}

pub async fn has_one(conn: &mut PgConnection, of: Recognized) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from passwords where workspace_id = $1 and person_id = $2) as "has!""#,
        of.workspace.0,
        of.person.0
    )
    .fetch_one(conn)
    .await?)
}

/// The hash of a new password, for [`set`].
pub async fn hash(app: &App, field: &str, password: &str) -> Result<String> {
    match password.chars().count() {
        ..SHORTEST => Err(Error::problem(field, format!("must have at least {SHORTEST} characters"))),
        SHORTEST..=LONGEST => app.password_hashes.hash(password).await,
        _ => Err(Error::problem(field, format!("must have at most {LONGEST} characters"))),
    }
}

pub async fn set(tx: &mut Tx<'_>, person: PersonId, hash: &str) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into passwords (workspace_id, person_id, hash, changed_at) values ($1, $2, $3, $4)
         on conflict (workspace_id, person_id) do update set hash = excluded.hash, changed_at = excluded.changed_at",
        workspace,
        person.0,
        hash,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Notes in the audit log that somebody has a new password. A server without a secret key has no such log.
pub async fn record(tx: &mut Tx<'_>, person: &Person) -> Result<()> {
    if tx.frame().keys.is_none() {
        return Ok(());
    }
    let by = person.by();
    let subject = Subject { id: &person.id, name: by.name() };
    audit::record(tx, &by, Did::PasswordSet, subject, json!({})).await
}

async fn with_password(conn: &mut PgConnection, email: &str) -> Result<Vec<(Recognized, String)>> {
    let rows = sqlx::query!(
        r#"select people.workspace_id as "workspace: WorkspaceId", id as "person: PersonId", hash from people
           join passwords on passwords.workspace_id = people.workspace_id and person_id = id
           where email = $1 and removed_at is null
             and not exists (select from sso_connections where workspace_id = people.workspace_id and required)
           order by people.workspace_id limit $2"#,
        email,
        MOST_PEOPLE
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (Recognized { workspace: row.workspace, person: row.person }, row.hash))
        .collect())
}

/// Hashes a password anew with today's parameters, unless it was changed meanwhile.
async fn renew(app: &App, of: Recognized, outdated: &str, password: &str) -> Result<()> {
    let hash = app.password_hashes.hash(password).await?;
    let mut tx = app.begin(of.workspace).await?;
    sqlx::query!(
        "update passwords set hash = $4 where workspace_id = $1 and person_id = $2 and hash = $3",
        of.workspace.0,
        of.person.0,
        outdated,
        hash
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}
