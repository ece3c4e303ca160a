//! Messages that agents send by themselves while every agent is stopped (docs/decisions/stop-agents.md): they are held,
//! with a time that never comes, until a person lets them leave or has them as drafts. What a person approved is that
//! person's, and leaves.
//!
//! A node that is about to hand one over says so first, in a transaction of the agent; so stopping can wait for it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::workspace::agents::stop;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;

/// A message that a node has claimed.
#[derive(Clone, Copy, Debug)]
pub struct InHand {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
    pub message: MessageId,
    pub claim: i32,
}

/// The time of what is held: the last day that every calendar knows.
const NEVER: DateTime<Utc> = match DateTime::from_timestamp(253_402_214_400, 0) {
    Some(never) => never,
    None => DateTime::UNIX_EPOCH,
};

/// Whether a message with this time to leave is held.
pub fn is_held(sends_at: Option<DateTime<Utc>>) -> bool {
    sends_at == Some(NEVER)
}

/// Holds everything that agents send by themselves and no node is handing over at this moment, if they are still stopped.
/// Gives how many.
pub async fn hold_all(tx: &mut Tx<'_>) -> Result<i64> {
    if !stop::stands(tx).await? {
        return Ok(0);
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let held = sqlx::query!(
        "update messages set status = 'scheduled', sends_at = $2, due_at = $2, claim = claim + 1
         where workspace_id = $1 and status in ('scheduled', 'sending') and author_type = 'agent'
           and approved_by is null and sends_at < $2
           and not exists (select from agent_handovers h
                           where h.workspace_id = $1 and h.message_id = messages.id and h.until > $3)",
        workspace,
        NEVER,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(held.rows_affected() as i64)
}

/// Messages that are held, in the order of conversations; so many.
pub async fn some(tx: &mut Tx<'_>, most: i64) -> Result<Vec<(ConversationId, MessageId)>> {
    let workspace = tx.workspace().0;
    let rows = sqlx::query!(
        r#"select conversation_id as "conversation: ConversationId", id as "message: MessageId" from messages
           where workspace_id = $1 and status = 'scheduled' and sends_at = $2 order by conversation_id, id limit $3"#,
        workspace,
        NEVER,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.conversation, row.message)).collect())
}

/// How many are held that somebody with these audiences can see, counted up to `most`.
pub async fn count(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    audiences: &[i64],
    most: i64,
) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "n!" from mailboxes cross join lateral (
               select from messages
               where workspace_id = $1 and mailbox_id = mailboxes.id and status = 'scheduled' and sends_at = $3
               limit $4) held
           where mailboxes.workspace_id = $1 and mailboxes.audience = any($2)"#,
        workspace.0,
        audiences,
        NEVER,
        most
    )
    .fetch_one(conn)
    .await?)
}

/// Gives everything that is held a new time to leave, live mail one and mail of the sandbox another. Gives how many.
pub async fn let_go(tx: &mut Tx<'_>, live: DateTime<Utc>, sandbox: DateTime<Utc>) -> Result<i64> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!(
        "update messages set sends_at = case when sandbox then $4::timestamptz else $3::timestamptz end,
             due_at = case when sandbox then $4::timestamptz else $3::timestamptz end
         where workspace_id = $1 and status = 'scheduled' and sends_at = $2",
        workspace,
        NEVER,
        live,
        sandbox
    )
    .execute(&mut **tx)
    .await?;
    Ok(gone.rows_affected() as i64)
}

/// Whether a claimed message of an agent may be handed over now. If so that is written down, and [`over`] ends it; else
/// it is held, or somebody else has it.
pub async fn may_leave(app: &App, one: InHand) -> Result<bool> {
    let workspace = one.workspace;
    let mut tx = match app.begin_as_agent(workspace).await {
        Err(error) if error.is_agents_stopped() => {
            let mut tx = app.begin(workspace).await?;
            hold_one(&mut tx, one).await?;
            tx.commit().await?;
            return Ok(false);
        }
        begun => begun?,
    };
    // The rest of its lease: to hand it over, and to write down what came of it.
    let until = tx.now() + app.config.handover() * 2;
    let noted = sqlx::query!(
        "insert into agent_handovers (workspace_id, message_id, claim, until)
         select $1, $3, $4, $5 from messages
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sending' and claim = $4
         on conflict (workspace_id, message_id) do update set claim = excluded.claim, until = excluded.until",
        workspace.0,
        one.conversation.0,
        one.message.0,
        one.claim,
        until
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(noted.rows_affected() == 1)
}

/// Gives the claim back: held, or due at once when the agents were started again meanwhile.
async fn hold_one(tx: &mut Tx<'_>, one: InHand) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let time = stop::stands(tx).await?.then_some(NEVER);
    sqlx::query!(
        "update messages set status = 'scheduled', sends_at = coalesce($5, sends_at), due_at = coalesce($5, $6),
             claim = claim + 1
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'sending' and claim = $4",
        workspace,
        one.conversation.0,
        one.message.0,
        one.claim,
        time,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Handing it over has ended, however it did.
pub async fn over(tx: &mut Tx<'_>, one: InHand) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from agent_handovers where workspace_id = $1 and message_id = $2 and claim = $3",
        workspace,
        one.message.0,
        one.claim
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// How many are being handed over at this moment.
pub async fn in_hand(conn: &mut PgConnection, workspace: WorkspaceId, now: DateTime<Utc>) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "n!" from agent_handovers where workspace_id = $1 and until > $2"#,
        workspace.0,
        now
    )
    .fetch_one(conn)
    .await?)
}
