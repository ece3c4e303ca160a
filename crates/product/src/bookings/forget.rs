//! Bookings of somebody who is erased: who they were and what they wrote go, and what is still to come is cancelled without a
//! mail. That a time was booked, with whom and when, stays. What goes or moves with a conversation is here too.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::bookings::read::{self, BookingState};
use crate::bookings::{cancel, lock, tell};
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, ConversationId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::By;

const BATCH: i64 = 200;

/// Forgets a batch of somebody's. True when there may be more, also when one was moved meanwhile.
pub async fn erase(tx: &mut Tx<'_>, address: &str) -> Result<bool> {
    let workspace = tx.workspace().0;
    let found = sqlx::query_scalar!(
        r#"select id as "id: BookingId" from bookings where workspace_id = $1 and email = $2 order by id limit $3"#,
        workspace,
        address,
        BATCH
    )
    .fetch_all(&mut **tx)
    .await?;
    forget(tx, &found).await?;
    Ok(!found.is_empty())
}

/// Forgets those of conversations that are taken away as a whole.
pub async fn of_conversations(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<()> {
    let workspace = tx.workspace().0;
    let conversations: Vec<i64> = conversations.iter().map(|id| id.0).collect();
    let found = sqlx::query_scalar!(
        r#"select id as "id: BookingId" from bookings where workspace_id = $1 and conversation_id = any($2) order by id"#,
        workspace,
        &conversations
    )
    .fetch_all(&mut **tx)
    .await?;
    forget(tx, &found).await
}

async fn forget(tx: &mut Tx<'_>, found: &[BookingId]) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    for id in found {
        let Some(seen) = read::find(tx, workspace, *id).await? else { continue };
        let conversation = lock::conversation(tx, seen.conversation).await?;
        let booking = lock::booking(tx, *id).await?;
        if booking.state == BookingState::Booked && booking.ends_at > now {
            tell::cancelled(
                tx,
                &cancel::news_of(&booking),
                conversation.as_ref(),
                &By::System,
                Some("erasure"),
            )
            .await?;
        }
    }
    let ids: Vec<i64> = found.iter().map(|id| id.0).collect();
    // The private links end, and nothing that was cancelled is taken back any more.
    sqlx::query!(
        "with unsent as (delete from booking_mail where workspace_id = $1 and booking_id = any($2))
         update bookings set name = null, email = null, note = null, answers = null, time_zone = null, reason = null,
             rsvp = null, press = null, link_generation = link_generation + 1,
             state = case when state = 'booked' and ends_at > $3 then 'cancelled' else state end,
             ended_at = case when state = 'booked' and ends_at > $3 then $3 else ended_at end,
             ended_by = case when state = 'booked' and ends_at <= $3 then null else 'erasure' end
         where workspace_id = $1 and id = any($2)",
        workspace.0,
        &ids,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Whether a conversation has a booking that is still to come.
pub async fn is_booked(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    now: DateTime<Utc>,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from bookings where workspace_id = $1 and conversation_id = $2 and state = 'booked'
                            and ends_at > $3) as "is_booked!""#,
        workspace.0,
        conversation.0,
        now
    )
    .fetch_one(conn)
    .await?)
}

/// Those of a conversation that becomes part of another.
pub async fn move_to(tx: &mut Tx<'_>, from: ConversationId, to: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update bookings set conversation_id = $3 where workspace_id = $1 and conversation_id = $2",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
