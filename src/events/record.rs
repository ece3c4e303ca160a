//! The only way an event comes into being: inside the transaction of the change it tells of.
//! An event exists exactly if its change was committed (specification 6.1).

use crate::db::Tx;
use crate::error::Result;
use crate::events::envelope;
use crate::events::event::Event;
use crate::ids::{ConversationId, EventId};

/// Where it happened: who may hear of it, and the name its summary uses.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub audience: i64,
    pub livemode: bool,
    pub conversation: Option<ConversationId>,
    /// The inbox's name.
    pub inbox: &'a str,
}

pub async fn record(tx: &mut Tx<'_>, place: Place<'_>, event: &Event) -> Result<EventId> {
    let id: EventId = tx.mint();
    // People cannot open sandbox conversations, so those events carry no link.
    let url = place
        .conversation
        .filter(|_| place.livemode)
        .and_then(|conversation| tx.frame().public_url.join(&format!("conversations/{conversation}")).ok())
        .map(String::from);
    let body = envelope::body(id, event, tx.frame(), place.livemode, place.inbox, url)?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    // The note tells the webhooks' fan-out. A test is for one webhook alone, which is told directly.
    let noted = !matches!(event, Event::WebhookTest(_));
    sqlx::query!(
        "with recorded as (
             insert into events (workspace_id, id, kind, livemode, audience, conversation_id, created_at, body)
             values ($1, $2, $3, $4, $5, $6, $7, $8))
         insert into unfanned_events (workspace_id, event_id, kind, livemode, audience)
         select $1, $2, $3, $4, $5 where $9",
        workspace,
        id.0,
        event.kind(),
        place.livemode,
        place.audience,
        place.conversation.map(|conversation| conversation.0),
        now,
        body.get(),
        noted
    )
    .execute(&mut **tx)
    .await?;
    Ok(id)
}
