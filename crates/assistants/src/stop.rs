//! The word that stops the three assistants of a workspace, and the one that starts them again. It stands in their
//! settings, which every assistant holds while it writes: once it is written, nothing of theirs is under way. Stopping every
//! agent (Settings, Agents) stops drafting too. All drafts that wait can be thrown away in one act.

use serde_json::json;
use sqlx::PgConnection;

use crate::settings::{make, record};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::TEAM;
use rookery_core::workspace::audit::Did;
use rookery_core::workspace::people::Person;
use rookery_product::replies::discard::discard;

/// False when they were stopped already.
pub async fn stop(tx: &mut Tx<'_>, person: &Person) -> Result<bool> {
    make(tx).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    let stopped = sqlx::query!(
        "update assistant_settings set stopped_at = $2, stopped_by = $3 where workspace_id = $1 and stopped_at is null",
        workspace,
        now,
        person.name
    )
    .execute(&mut **tx)
    .await?;
    if stopped.rows_affected() == 0 {
        return Ok(false);
    }
    tx.touch(TEAM, LiveTopic::Agents);
    record(tx, person, Did::AssistantsStopped, json!({})).await?;
    Ok(true)
}

/// False when they were not stopped.
pub async fn start(tx: &mut Tx<'_>, person: &Person) -> Result<bool> {
    let workspace = tx.workspace().0;
    let started = sqlx::query!(
        "update assistant_settings set stopped_at = null, stopped_by = null
         where workspace_id = $1 and stopped_at is not null",
        workspace
    )
    .execute(&mut **tx)
    .await?;
    if started.rows_affected() == 0 {
        return Ok(false);
    }
    tx.touch(TEAM, LiveTopic::Agents);
    record(tx, person, Did::AssistantsStarted, json!({})).await?;
    Ok(true)
}

/// Drafts of the assistant that wait for somebody.
pub async fn waiting(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<MessageId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "id: MessageId" from messages
           where workspace_id = $1 and status = 'draft' and author_type is distinct from 'user' and origin = 'assistant'
           order by id limit 10000"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

/// Throws all of them away, each in a transaction of its own; how many went.
pub async fn discard_all(app: &App, person: &Person) -> Result<i64> {
    let workspace = person.workspace;
    let waiting = waiting(&mut *app.connection().await?, workspace).await?;
    let mut gone = 0;
    for message in waiting {
        let mut tx = app.begin(workspace).await?;
        match discard(&mut tx, person, message, None).await {
            Ok(discarded) => {
                tx.commit().await?;
                app.blobs.discard(&discarded.files).await;
                gone += 1;
            }
            // Somebody was quicker.
            Err(Error::Missing(_) | Error::Problems(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut tx = app.begin(workspace).await?;
    record(&mut tx, person, Did::AssistantsDiscarded, json!({ "drafts": gone })).await?;
    tx.commit().await?;
    Ok(gone)
}
