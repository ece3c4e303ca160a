//! Setting a workspace up, as far as the workspace itself tells: its name and zone, whether somebody else was invited,
//! whether there is a key. Only what somebody left out is written down.

use std::str::FromStr;

use serde_json::json;
use sqlx::PgConnection;

use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::{Person, another_mailed_name};
use crate::workspace::preferences::a_zone;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::db::Tx;

rookery_base::text_enum! {
    /// What can be left out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FirstRunStep {
        Inbox = "inbox",
        Dns = "dns",
        TestMail = "test-mail",
        People = "people",
        Key = "key",
    }
}

impl FromStr for FirstRunStep {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::named(text).ok_or_else(|| Error::problem("step", "is none of the steps"))
    }
}

#[derive(Debug)]
pub struct FirstRunProgress {
    pub name: String,
    pub zone: String,
    /// Somebody else is on the team, or is asked to be.
    pub has_team: bool,
    /// There is a live key.
    pub has_key: bool,
    pub skipped: Vec<FirstRunStep>,
}

pub async fn standing(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<FirstRunProgress> {
    let row = sqlx::query!(
        r#"select name, time_zone,
               exists (select from people where workspace_id = $1 and removed_at is null offset 1)
                   or exists (select from invitations where workspace_id = $1) as "has_team!",
               exists (select from agents where workspace_id = $1 and livemode and revoked_at is null) as "has_key!",
               array(select step from skipped_steps where workspace_id = $1) as "skipped!"
           from workspaces where id = $1"#,
        workspace.0
    )
    .fetch_one(conn)
    .await?;
    Ok(FirstRunProgress {
        name: row.name,
        zone: row.time_zone,
        has_team: row.has_team,
        has_key: row.has_key,
        skipped: row.skipped.iter().filter_map(|step| step.parse().ok()).collect(),
    })
}

/// Leaves a step out, or takes it up again. Safe to repeat.
pub async fn skip(tx: &mut Tx<'_>, person: &Person, step: FirstRunStep, skips: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "with taken_up as (delete from skipped_steps where workspace_id = $1 and step = $2 and not $5)
         insert into skipped_steps (workspace_id, step, skipped_by, skipped_at)
         select $1, $2, $3, $4 where $5::boolean on conflict do nothing",
        workspace,
        step.as_str(),
        person.id.0,
        now,
        skips
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What the workspace is called, and the zone that business hours and days go by.
pub async fn rename(tx: &mut Tx<'_>, person: &Person, name: &str, zone: &str) -> Result<()> {
    let zone = a_zone("zone", zone)?;
    let workspace = tx.workspace();
    let before =
        sqlx::query!("select name, time_zone from workspaces where id = $1 for no key update", workspace.0)
            .fetch_one(&mut **tx)
            .await?;
    let name = another_mailed_name("name", name, 100, &before.name)?;
    if (&before.name, &before.time_zone) == (&name, &zone) {
        return Ok(());
    }
    sqlx::query!("update workspaces set name = $2, time_zone = $3 where id = $1", workspace.0, name, zone)
        .execute(&mut **tx)
        .await?;
    let data = json!({ "name": [before.name, name], "zone": [before.time_zone, zone] });
    audit::record(tx, &person.by(), Did::WorkspaceChanged, Subject { id: &workspace, name: &name }, data)
        .await
}
