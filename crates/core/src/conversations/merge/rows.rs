//! Moves what conversations own from the one that goes to the one that stays, and then takes the first away. What other
//! rooms own has moved before; a test knows every table that names a conversation.

use serde_json::json;

use crate::conversations::conversation::Locked;
use crate::conversations::keeping::holds;
use crate::conversations::merge::pair::Pair;
use crate::conversations::notifications;
use crate::conversations::search::pending;
use crate::conversations::status::Status;
use crate::conversations::{assign, snooze, timeline, transitions, unread};
use crate::events::event::{Assignee, Event, Turn, TurnChanged};
use crate::events::record::record;
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;

/// Nobody writes a row that names it until the transaction ends, and the worker takes none of its messages.
pub async fn keep_others_out(tx: &mut Tx<'_>, gone: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    // What hangs on a message or a note is checked when everything has moved.
    sqlx::query("set constraints all deferred").execute(&mut **tx).await?;
    sqlx::query!(
        "select from conversations where workspace_id = $1 and id = $2 for update",
        workspace,
        gone.0
    )
    .fetch_one(&mut **tx)
    .await?;
    sqlx::query!(
        "select id from messages
         where workspace_id = $1 and conversation_id = $2 and status in ('draft', 'scheduled', 'sending') for update",
        workspace,
        gone.0
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(())
}

/// The other rooms have moved what is theirs.
pub async fn take_in(tx: &mut Tx<'_>, person: &Person, pair: &Pair) -> Result<()> {
    let (kept, gone) = (pair.kept.id, pair.gone.id);
    // What somebody has not seen is told by where its mail is.
    move_reads(tx, kept, gone).await?;
    move_timeline(tx, kept, gone).await?;
    move_tags(tx, kept, gone).await?;
    move_notifications(tx, kept, gone).await?;
    holds::move_to(tx, gone, kept).await?;
    join_heads(tx, kept, gone).await?;
    lead_on(tx, kept, gone).await?;
    sqlx::query("set constraints all immediate").execute(&mut **tx).await?;
    pending::note(tx, kept).await?;
    let data = json!({ "conversationId": gone, "subject": pair.gone.subject });
    timeline::append(tx, kept, &person.by(), "merged", data).await?;
    go_on(tx, person, pair).await?;
    end(tx, &pair.gone).await
}

/// Numbers of items only order what happened in one instant: those that come are counted on from those that are there.
/// Mail of ours that names nobody went to the contact. When that is another on the one that stays, it names them from now
/// on: whom it reached does not change.
async fn move_timeline(tx: &mut Tx<'_>, kept: ConversationId, gone: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    let after = sqlx::query_scalar!(
        "select last_item from conversations where workspace_id = $1 and id = $2",
        workspace,
        kept.0
    )
    .fetch_one(&mut **tx)
    .await?;
    sqlx::query!(
        "with moved_messages as (
             update messages set conversation_id = $2, item = item + $4,
                 to_addresses = case when direction = 'outbound' and to_addresses is null and contacts.differ
                                     then contacts.went_to else to_addresses end
             from (select gone.contact_email is distinct from kept.contact_email as differ,
                          array_remove(array[gone.contact_email], null) as went_to
                   from conversations gone join conversations kept on kept.workspace_id = $1 and kept.id = $2
                   where gone.workspace_id = $1 and gone.id = $3) contacts
             where workspace_id = $1 and conversation_id = $3),
         moved_replies as (
             update withheld_replies set conversation_id = $2 where workspace_id = $1 and conversation_id = $3),
         moved_notes as (
             update notes set conversation_id = $2, item = item + $4
             where workspace_id = $1 and conversation_id = $3),
         moved_mentions as (
             update mentions set conversation_id = $2 where workspace_id = $1 and conversation_id = $3)
         update timeline_events set conversation_id = $2, item = item + $4
         where workspace_id = $1 and conversation_id = $3",
        workspace,
        kept.0,
        gone.0,
        after
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn move_tags(tx: &mut Tx<'_>, kept: ConversationId, gone: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into conversation_tags (workspace_id, conversation_id, tag_id, audience)
         select $1, $2, tag_id, audience from conversation_tags where workspace_id = $1 and conversation_id = $3
         on conflict do nothing",
        workspace,
        kept.0,
        gone.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Whoever has not seen all of the one that goes has not seen all of the whole: for them it is seen up to the first mail
/// of it that is new to them. Who never opened the one that stays, and had nothing to read there, has seen what they saw
/// of the other.
async fn move_reads(tx: &mut Tx<'_>, kept: ConversationId, gone: ConversationId) -> Result<()> {
    let (workspace, fresh) = (tx.workspace().0, tx.now() - unread::FRESH);
    sqlx::query!(
        "update conversation_reads kept set seen_to = least(kept.seen_to, unseen.seen_to)
         from (select reader.person_id,
                      case when gone.seen_to = '-infinity' then gone.seen_to
                           else (select min(at) - interval '1 microsecond' from messages
                                 where workspace_id = $1 and conversation_id = $3 and item >= 0
                                   and at > coalesce(gone.seen_to, $4) and direction = 'inbound') end as seen_to
               from conversation_reads reader left join conversation_reads gone
                   on gone.workspace_id = $1 and gone.conversation_id = $3 and gone.person_id = reader.person_id
               where reader.workspace_id = $1 and reader.conversation_id = $2) unseen
         where kept.workspace_id = $1 and kept.conversation_id = $2 and kept.person_id = unseen.person_id",
        workspace,
        kept.0,
        gone.0,
        fresh
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "insert into conversation_reads (workspace_id, conversation_id, person_id, seen_to)
         select $1, $2, person_id, seen_to from conversation_reads gone
         where workspace_id = $1 and conversation_id = $3
           and (seen_to = '-infinity' or not exists (
                    select from messages where workspace_id = $1 and conversation_id = $2 and item >= 0
                      and at > $4 and direction = 'inbound'))
         on conflict do nothing",
        workspace,
        kept.0,
        gone.0,
        fresh
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What either told of, the whole tells of; who chose whether to follow the one that stays has chosen for the whole.
async fn move_notifications(tx: &mut Tx<'_>, kept: ConversationId, gone: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    notifications::hold(tx, &[kept, gone]).await?;
    sqlx::query!(
        "insert into follows (workspace_id, conversation_id, person_id, following, at)
         select $1, $2, person_id, following, at from follows where workspace_id = $1 and conversation_id = $3
         on conflict do nothing",
        workspace,
        kept.0,
        gone.0
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "insert into notifications as told (workspace_id, conversation_id, person_id, reason, by_name, at, read_at, mailed_at)
         select $1, $2, person_id, reason, by_name, at, read_at, mailed_at
         from notifications where workspace_id = $1 and conversation_id = $3
         on conflict (workspace_id, conversation_id, person_id, reason) do update set
             by_name = case when excluded.at > told.at then excluded.by_name else told.by_name end,
             at = greatest(told.at, excluded.at),
             read_at = case when told.read_at is null or excluded.read_at is null then null
                            else greatest(told.read_at, excluded.read_at) end",
        workspace,
        kept.0,
        gone.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Subject, contact and inbox stay as they are. Of the rest, what the one lacks comes from the other; a hold
/// always does, and what a person said of the topic before what an assistant did.
async fn join_heads(tx: &mut Tx<'_>, kept: ConversationId, gone: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update conversations kept set
             message_count = kept.message_count + gone.message_count,
             last_item = kept.last_item + gone.last_item,
             last_item_at = greatest(kept.last_item_at, gone.last_item_at),
             created_at = least(kept.created_at, gone.created_at),
             snippet = case when gone.last_message_at > kept.last_message_at then gone.snippet else kept.snippet end,
             last_message_at = greatest(kept.last_message_at, gone.last_message_at),
             reference = coalesce(kept.reference, gone.reference),
             topic = case when takes_topic then gone.topic else kept.topic end,
             topic_by = case when takes_topic then gone.topic_by else kept.topic_by end,
             topic_at = case when takes_topic then gone.topic_at else kept.topic_at end,
             topic_person = case when takes_topic then gone.topic_person else kept.topic_person end,
             urgency = case when takes_urgency then gone.urgency else kept.urgency end,
             urgency_by = case when takes_urgency then gone.urgency_by else kept.urgency_by end,
             urgency_at = case when takes_urgency then gone.urgency_at else kept.urgency_at end,
             urgency_person = case when takes_urgency then gone.urgency_person else kept.urgency_person end,
             answers_in = nullif(kept.answers_in, gone.id),
             risk = case when takes then gone.risk else kept.risk end,
             risk_reasons = case when takes then gone.risk_reasons else kept.risk_reasons end,
             held_at = case when takes then gone.held_at else kept.held_at end
         from conversations gone cross join lateral (
             select gone.risk is not null and (held.risk is null or (gone.held_at is not null and held.held_at is null)) as takes,
                    held.topic_person is null and (gone.topic_person is not null or held.topic is null) as takes_topic,
                    held.urgency_person is null
                        and (gone.urgency_person is not null or held.urgency is null) as takes_urgency
             from conversations held where held.workspace_id = $1 and held.id = $2) risks
         where kept.workspace_id = $1 and kept.id = $2 and gone.workspace_id = $1 and gone.id = $3",
        workspace,
        kept.0,
        gone.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The id of the one that goes leads to the one that stays, and so do those that led to it.
async fn lead_on(tx: &mut Tx<'_>, kept: ConversationId, gone: ConversationId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update merged_conversations set into_id = $2 where workspace_id = $1 and into_id = $3",
        workspace,
        kept.0,
        gone.0
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "with gone as (
             delete from conversations where workspace_id = $1 and id = $3 returning mailbox_id, contact_email, subject)
         insert into merged_conversations (workspace_id, id, into_id, mailbox_id, contact_email, subject, merged_at)
         select $1, $3, $2, mailbox_id, contact_email, subject, $4 from gone",
        workspace,
        kept.0,
        gone.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Whoever had to act on either has to act on the whole; somebody who had the one that went has it when nobody else does.
async fn go_on(tx: &mut Tx<'_>, person: &Person, pair: &Pair) -> Result<()> {
    let (kept, gone) = (&pair.kept, &pair.gone);
    let rank = |status| match status {
        Status::Open => 2,
        Status::Waiting => 1,
        Status::Closed => 0,
    };
    if rank(gone.status) > rank(kept.status) {
        transitions::set_status(tx, kept, person, gone.status).await?;
    } else if kept.snoozed_until.is_some() && gone.status == Status::Open && gone.snoozed_until.is_none() {
        snooze::wake(tx, kept, person).await?;
    }
    match (&kept.assignee, &gone.assignee) {
        (None, Some(member)) => assign::give(tx, kept, &person.by(), Some(member)).await,
        _ => Ok(()),
    }
}

/// Whoever listens from outside hears that nothing is to be done any more under the id that went.
async fn end(tx: &mut Tx<'_>, gone: &Locked) -> Result<()> {
    if gone.announced_turn == Some(Turn::Done) {
        return Ok(());
    }
    let ended = TurnChanged {
        conversation_id: gone.id,
        turn: Turn::Done,
        previous: gone.announced_turn,
        assignee: gone.assignee.as_ref().map(Assignee::from),
    };
    record(tx, gone.event_context(), &Event::TurnChanged(ended)).await?;
    Ok(())
}
