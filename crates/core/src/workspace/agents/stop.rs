//! The word that stops every agent of a workspace, and the one that starts them again (docs/decisions/stop-agents.md).
//!
//! It stands in the workspace's row. An agent's transaction looks at it while it shares a lock until it ends, so once the
//! word is written and that lock was had alone, nothing of any agent is under way and nothing begins.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::workspace::access::TEAM;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::Person;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::{Across, Tx};

/// How long calls that were under way may take to end. A transaction of ours ends sooner, or its connection is closed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Since when, and who said so.
#[derive(Clone, Debug)]
pub struct Stopped {
    pub at: DateTime<Utc>,
    pub by: String,
}

impl Stopped {
    pub fn stored(at: Option<DateTime<Utc>>, by: Option<String>) -> Option<Self> {
        at.map(|at| Self { at, by: by.unwrap_or_default() })
    }
}

/// Whether they are stopped now.
pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<Stopped>> {
    let row = sqlx::query!(
        "select agents_stopped_at, agents_stopped_by from workspaces where id = $1",
        workspace.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.and_then(|row| Stopped::stored(row.agents_stopped_at, row.agents_stopped_by)))
}

/// Writes the word. False when it stood there already. Calls that are under way may still end: [`drain`] waits for them.
pub async fn say(tx: &mut Tx<'_>, person: &Person) -> Result<bool> {
    may(person, "stop")?;
    let (workspace, now) = (tx.workspace(), tx.now());
    let name = sqlx::query_scalar!(
        "update workspaces set agents_stopped_at = $2, agents_stopped_by = $3
         where id = $1 and agents_stopped_at is null returning name",
        workspace.0,
        now,
        person.name
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(name) = name else { return Ok(false) };
    tx.touch(TEAM, LiveTopic::Agents);
    let subject = Subject { id: &workspace, name: &name };
    audit::record(tx, &person.by(), Did::AgentsStopped, subject, json!({})).await?;
    Ok(true)
}

/// Whether the word stands, and does so until this transaction ends: whoever holds messages because of it looks first.
pub async fn stands(tx: &mut Tx<'_>) -> Result<bool> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "select id from workspaces where id = $1 and agents_stopped_at is not null for share",
        workspace
    );
    Ok(row.fetch_optional(&mut **tx).await?.is_some())
}

/// Whether the word stands; nobody holds a message because of it while this transaction goes on.
pub async fn lock(tx: &mut Tx<'_>) -> Result<bool> {
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "select id from workspaces where id = $1 and agents_stopped_at is not null for no key update",
        workspace
    );
    Ok(row.fetch_optional(&mut **tx).await?.is_some())
}

/// Takes the word back. False when it did not stand there.
pub async fn take_back(tx: &mut Tx<'_>, person: &Person, data: Value) -> Result<bool> {
    may(person, "start")?;
    let workspace = tx.workspace();
    let name = sqlx::query_scalar!(
        "update workspaces set agents_stopped_at = null, agents_stopped_by = null
         where id = $1 and agents_stopped_at is not null returning name",
        workspace.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(name) = name else { return Ok(false) };
    tx.touch(TEAM, LiveTopic::Agents);
    let subject = Subject { id: &workspace, name: &name };
    audit::record(tx, &person.by(), Did::AgentsStarted, subject, data).await?;
    Ok(true)
}

/// Waits until everything that agents had begun before the word has ended. Those who come later are refused by it, and
/// stand in nobody's way.
pub async fn drain(app: &App, workspace: WorkspaceId) -> Result<()> {
    let begun = Instant::now();
    loop {
        let mut conn = app.connection().await?;
        let mut alone = Across::begin(&mut conn).await?;
        let had = sqlx::query!("select pg_advisory_xact_lock(-($1::bigint))", workspace.0)
            .execute(&mut *alone)
            .await
            .map_err(Error::from);
        match had {
            Ok(_) => return alone.commit().await,
            // The statement was given up after its time; the word stands.
            Err(error) if error.may_pass() && begun.elapsed() < PATIENCE => {}
            Err(error) => return Err(error),
        }
    }
}

pub fn may(person: &Person, what: &str) -> Result<()> {
    if person.role.administers() {
        Ok(())
    } else {
        Err(Error::Forbidden(format!("Only owners and admins can {what} agents.")))
    }
}
