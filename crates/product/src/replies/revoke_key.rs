//! Revoking a key (specification 5.3): no further request, no further mail. What it had scheduled becomes a
//! draft again in the same commit; the conversations it holds are given back after it, a batch at a time.
//!
//! The keys of somebody who left the team end with them (docs/decisions/keys-of-the-removed.md).

use crate::replies::undo::stop;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{AgentId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::assign;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::outbound;
use rookery_core::workspace::access::{By, MemberId};
use rookery_core::workspace::clients::grants;
use rookery_core::workspace::notices::{self, Notice};
use rookery_core::workspace::{keys, people};

/// Makes the very next request with the key answer 401, and stops what it has not sent yet.
pub async fn revoke(app: &App, workspace: WorkspaceId, by: &By, agent: AgentId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    stop_scheduled(&mut tx, agent).await?;
    keys::revoke(&mut tx, by, agent).await?;
    tx.commit().await
}

/// Ends the agent of a client that can never come again.
pub async fn end_client(tx: &mut Tx<'_>, agent: AgentId) -> Result<()> {
    stop_scheduled(tx, agent).await?;
    grants::end(tx, agent).await?;
    keys::revoke(tx, &By::System, agent).await
}

/// Closes the keys of somebody who left the team, and tells the owners which. Gives their ids.
pub async fn end_keys_of(tx: &mut Tx<'_>, maker: PersonId) -> Result<Vec<AgentId>> {
    let ended = keys::revoke_all_of(tx, maker).await?;
    if ended.is_empty() {
        return Ok(Vec::new());
    }
    for (agent, _) in &ended {
        stop_scheduled(tx, *agent).await?;
    }
    let name = people::name_of(tx, maker).await?;
    let mut names: Vec<&str> = ended.iter().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    let body = format!(
        "{name} has left the team. These keys were made by {name} and do not work any more: {}.\n\n\
         If a program still needs one, make it a new key. Messages that a key had scheduled are drafts again.",
        names.join(", ")
    );
    let notice = Notice { to: maker, kind: "keys-ended", subject: "Keys have ended", body: &body };
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    notices::write(tx, workspace, now, &random, notice).await?;
    Ok(ended.into_iter().map(|(agent, _)| agent).collect())
}

/// Gives back what a revoked agent holds. A request that was running when its key was revoked may have
/// written something since, so an agent is done with only a while later.
pub async fn release(tx: &mut Tx<'_>, agent: AgentId) -> Result<()> {
    stop_scheduled(tx, agent).await?;
    let held = assign::held_by(tx, MemberId::Agent(agent)).await?;
    for conversation in &held {
        let conversation = lock_any(tx, *conversation).await?;
        assign::give(tx, &conversation, &By::System, None).await?;
    }
    if held.is_empty() {
        keys::released(tx, agent).await?;
    }
    Ok(())
}

async fn stop_scheduled(tx: &mut Tx<'_>, agent: AgentId) -> Result<()> {
    stop_all_of(tx, MemberId::Agent(agent), "key-revoked").await
}

/// Stops everything that somebody has scheduled: it is a draft again.
pub async fn stop_all_of(tx: &mut Tx<'_>, member: MemberId, reason: &str) -> Result<()> {
    for (conversation, message) in outbound::scheduled_by(tx, member).await? {
        let conversation = lock_any(tx, conversation).await?;
        if let Some(message) = outbound::find(tx, &conversation, message).await? {
            stop(tx, &conversation, &message, &By::System, reason).await?;
        }
    }
    Ok(())
}
