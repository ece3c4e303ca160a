//! Taking a conversation for a change: the row is locked, read, and dated after the wait. Only here is a `Locked` made,
//! which every verb that writes asks for.

use crate::conversations::conversation::{Conversation, Locked, fetch, merged_into};
use crate::conversations::transitions::{self, Trigger};
use crate::workspace::access::{Actor, By, SANDBOX};
use crate::workspace::mailboxes::Mailbox;
use rookery_base::error::{NO_CONVERSATION, Result};
use rookery_base::ids::ConversationId;
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;

/// A conversation someone can see, locked to change it.
pub async fn lock_visible(tx: &mut Tx<'_>, who: &Actor, id: &str) -> Result<Locked> {
    let id: ConversationId = id.parse().map_err(|_| NO_CONVERSATION)?;
    lock(tx, id, Some(&who.audiences())).await
}

/// Takes conversations that somebody sees before any of them is changed, in the order in which all who lock several do: that
/// of their ids, where they lead by now. So nobody who holds one waits for another that is held by somebody who waits for it.
pub async fn lock_in_order(tx: &mut Tx<'_>, who: &Actor, ids: &[String]) -> Result<()> {
    let ids: Vec<i64> = ids.iter().filter_map(|id| id.parse().ok().map(|ConversationId(id)| id)).collect();
    let workspace = tx.workspace().0;
    let lead_to = sqlx::query_scalar!(
        r#"select distinct coalesce((select into_id from merged_conversations
                                     where workspace_id = $1 and merged_conversations.id = given.id), given.id) as "id!"
           from unnest($2::bigint[]) given(id)"#,
        workspace,
        &ids
    )
    .fetch_all(&mut **tx)
    .await?;
    sqlx::query!(
        "select from conversations where workspace_id = $1 and id = any($2) and audience = any($3)
         order by id for no key update",
        workspace,
        &lead_to,
        &who.audiences()
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(())
}

/// Any conversation, locked for the service's own work on it.
pub async fn lock_any(tx: &mut Tx<'_>, id: ConversationId) -> Result<Locked> {
    lock(tx, id, None).await
}

/// A conversation of an inbox, locked for mail that belongs to it. One that took in a conversation of another inbox takes
/// in the mail of that too.
pub async fn lock_in(tx: &mut Tx<'_>, mailbox: &Mailbox, id: ConversationId) -> Result<Locked> {
    let locked = lock(tx, id, Some(&[mailbox.audience])).await?;
    if locked.mailbox_id == mailbox.id {
        return Ok(locked);
    }
    let workspace = tx.workspace().0;
    let took_in = sqlx::query_scalar!(
        r#"select exists (select from merged_conversations
                          where workspace_id = $1 and into_id = $2 and mailbox_id = $3) as "took_in!""#,
        workspace,
        locked.id.0,
        mailbox.id.0
    )
    .fetch_one(&mut **tx)
    .await?;
    if took_in { Ok(locked) } else { Err(NO_CONVERSATION) }
}

/// Keeps a conversation from becoming part of another until the transaction ends; others may change it. Gives the one
/// that it has become part of already, when that is so.
pub async fn keep_apart(
    tx: &mut Tx<'_>,
    who: &Actor,
    conversation: Option<&Conversation>,
) -> Result<Option<Conversation>> {
    let Some(conversation) = conversation else { return Ok(None) };
    let (workspace, mut id) = (tx.workspace(), conversation.id);
    let is_there = async |tx: &mut Tx<'_>, id: ConversationId| -> Result<bool> {
        let found = sqlx::query!(
            "select from conversations where workspace_id = $1 and id = $2 for key share",
            workspace.0,
            id.0
        );
        Ok(found.fetch_optional(&mut **tx).await?.is_some())
    };
    while !is_there(tx, id).await? {
        id = merged_into(tx, workspace, id).await?.ok_or(NO_CONVERSATION)?;
    }
    if id == conversation.id {
        Ok(None)
    } else {
        Ok(Some(fetch(tx, workspace, id, Some(&who.audiences())).await?))
    }
}

/// Locks first and reads then: what is read is what the last writer left, and the time is later than its.
/// A snooze that has run out is ended before anything else is done, as if the worker had been there already.
async fn lock(tx: &mut Tx<'_>, mut id: ConversationId, audiences: Option<&[i64]>) -> Result<Locked> {
    let workspace = tx.workspace();
    // While somebody waits for the lock, the conversation can become part of another, and that of a third.
    while !take(tx, id, audiences).await? {
        id = merged_into(tx, workspace, id).await?.ok_or(NO_CONVERSATION)?;
    }
    let locked = Locked(fetch(tx, workspace, id, audiences).await?);
    tx.waited(locked.last_item_at);
    // Whoever locks it changes it.
    tx.touch(locked.audience, LiveTopic::Conversation(id));
    if locked.snoozed_until.is_none_or(|until| until > tx.now()) {
        return Ok(locked);
    }
    transitions::apply(tx, &locked, Trigger::SnoozeRanOut, &By::System).await?;
    Ok(Locked(fetch(tx, workspace, id, audiences).await?))
}

/// False when there is none for these audiences.
async fn take(tx: &mut Tx<'_>, id: ConversationId, audiences: Option<&[i64]>) -> Result<bool> {
    let workspace = tx.workspace().0;
    let taken = sqlx::query!(
        "select from conversations
         where workspace_id = $1 and id = $2 and ($3::bigint[] is null or audience = any($3)) for no key update",
        workspace,
        id.0,
        audiences as _
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(taken.is_some())
}

/// Locks the conversations of the sandbox in which something waits for its time.
pub async fn lock_waiting_in_sandbox(tx: &mut Tx<'_>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "select id from conversations c where workspace_id = $1 and audience = $2
           and (snoozed_until is not null
                or exists (select from messages m where m.workspace_id = $1 and m.conversation_id = c.id
                           and status = 'scheduled')
                or exists (select from document_requests r where r.workspace_id = $1 and r.conversation_id = c.id
                           and state = 'open'))
         order by id for update",
        workspace,
        SANDBOX
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(())
}
