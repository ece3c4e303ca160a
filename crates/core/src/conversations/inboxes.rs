//! The inboxes an actor can see, each with its number of open conversations (specification 2.5, 4.10).
//! The number agrees with what `view=open` lists. When an inbox gets another owner, its conversations follow; a person
//! moves one to another inbox (docs/decisions/merging.md).

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::conversations::lock::lock_visible;
use crate::conversations::timeline;
use crate::workspace::access::Actor;
use crate::workspace::people::Person;
use rookery_base::error::{NO_MAILBOX, Result};
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;

#[derive(Debug)]
pub struct CountedMailbox {
    pub id: MailboxId,
    pub address: String,
    pub name: String,
    /// Only its owner sees it.
    pub private: bool,
    /// The same conversations that `view=open` lists: snoozes that have run out are among them.
    pub open: i64,
}

pub async fn list(conn: &mut PgConnection, actor: &Actor, now: DateTime<Utc>) -> Result<Vec<CountedMailbox>> {
    Ok(sqlx::query_as!(
        CountedMailbox,
        r#"select id as "id: MailboxId", address, name, kind = 'private' as "private!",
               (coalesce(counted.n, 0) + coalesce(expired.n, 0))::bigint as "open!"
           from mailboxes
           left join (
               select subject_id, audience, sum(n) as n from (
                   select subject_id, audience, n from counts
                   where workspace_id = $1 and what = 'open' and audience = any($2)
                   union all
                   select subject_id, audience, change from count_changes
                   where workspace_id = $1 and what = 'open' and audience = any($2)) parts
               group by subject_id, audience) counted
               on counted.subject_id = mailboxes.id and counted.audience = mailboxes.audience
           left join (
               select mailbox_id, count(*) as n from conversations
               where workspace_id = $1 and snoozed_until <= $3
               group by mailbox_id) expired on expired.mailbox_id = mailboxes.id
           where workspace_id = $1 and mailboxes.audience = any($2)
           order by name, id"#,
        actor.workspace.0,
        &actor.audiences(),
        now
    )
    .fetch_all(conn)
    .await?)
}

/// Conversations of private inboxes that somebody else owns now, a batch at a time. False when none are left.
pub async fn follow_owner(tx: &mut Tx<'_>, from: PersonId) -> Result<bool> {
    let workspace = tx.workspace().0;
    // Whoever owns the inbox now, who need not be the first to take it over.
    let moved = sqlx::query!(
        "with them as (
             select conversations.id, mailboxes.owner_id from conversations
             join mailboxes on mailboxes.workspace_id = $1 and mailboxes.id = mailbox_id and owner_id <> $2
             where conversations.workspace_id = $1 and conversations.audience = $2
             order by conversations.id limit 500 for no key update of conversations)
         update conversations set audience = them.owner_id from them
         where workspace_id = $1 and conversations.id = them.id returning conversations.id, audience",
        workspace,
        from.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let (ids, audiences): (Vec<i64>, Vec<i64>) = moved.iter().map(|row| (row.id, row.audience)).unzip();
    sqlx::query!(
        "with moved as (
             update conversation_tags set audience = them.audience
             from unnest($2::bigint[], $3::bigint[]) as them (id, audience)
             where workspace_id = $1 and conversation_id = them.id
             returning tag_id, them.audience)
         update tags set audiences = audiences || array(
             select distinct moved.audience from moved where tag_id = tags.id and not tags.audiences @> array[moved.audience])
         where workspace_id = $1 and id in (select tag_id from moved)",
        workspace,
        &ids,
        &audiences
    )
    .execute(&mut **tx)
    .await?;
    for audience in audiences.iter().collect::<BTreeSet<_>>() {
        tx.touch(*audience, LiveTopic::List);
    }
    Ok(!moved.is_empty())
}

/// A person moves a conversation to another inbox of the same people, and where it is already nothing changes. Drafts are sent
/// from the new inbox, and an approver who had one on the screen is shown it again; what is scheduled keeps its address.
/// Answers that come to the earlier inbox still join.
pub async fn move_to(tx: &mut Tx<'_>, person: &Person, id: &str, to: &str) -> Result<ConversationId> {
    let workspace = tx.workspace().0;
    let to: MailboxId = to.parse().map_err(|_| NO_MAILBOX)?;
    // Before the conversation, as whoever hands over an inbox does: its owner stays the same until this is done.
    let inbox = sqlx::query!(
        r#"select audience as "audience!", address, name from mailboxes
           where workspace_id = $1 and id = $2 and audience = any($3) and closed_at is null for share"#,
        workspace,
        to.0,
        &person.audiences()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_MAILBOX)?;
    let conversation = lock_visible(tx, person, id).await?;
    if inbox.audience != conversation.audience {
        return Err(NO_MAILBOX);
    }
    if to == conversation.mailbox_id {
        return Ok(conversation.id);
    }
    sqlx::query!(
        "with moved as (
             update conversations set mailbox_id = $3 where workspace_id = $1 and id = $2),
         binned as (
             update trash set mailbox_id = $3 where workspace_id = $1 and conversation_id = $2)
         update messages set mailbox_id = $3, from_name = $4, from_email = $5, from_further = false, edited_by = $6, edited_at = $7
         where workspace_id = $1 and conversation_id = $2 and direction = 'outbound' and status = 'draft'",
        workspace,
        conversation.id.0,
        to.0,
        inbox.name,
        inbox.address,
        person.id.0,
        tx.now()
    )
    .execute(&mut **tx)
    .await?;
    remember(tx, conversation.id, conversation.mailbox_id).await?;
    let data = json!({
        "from": { "id": conversation.mailbox_id, "name": conversation.mailbox_name },
        "to": { "id": to, "name": inbox.name },
    });
    timeline::append(tx, conversation.id, &person.by(), "moved", data).await?;
    tx.touch(conversation.audience, LiveTopic::Messages);
    Ok(conversation.id)
}

/// Email to an inbox that a conversation was in goes on joining it: as if it had taken in one there that nobody had seen, under
/// an id that was never given out. An older node finds it too.
async fn remember(tx: &mut Tx<'_>, conversation: ConversationId, inbox: MailboxId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let unseen: ConversationId = tx.mint();
    sqlx::query!(
        "insert into merged_conversations (workspace_id, id, into_id, mailbox_id, subject, merged_at)
         select $1, $2, $3, $4, '', $5
         where not exists (select from merged_conversations
                           where workspace_id = $1 and into_id = $3 and mailbox_id = $4)",
        workspace,
        unseen.0,
        conversation.0,
        inbox.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
