//! The only way an event comes into being: inside the transaction of the change it tells of.
//! An event exists exactly if its change was committed (specification 6.1).

use url::Url;

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
    /// The service's public address, for links into the app.
    pub public_url: &'a Url,
}

pub async fn record(tx: &mut Tx<'_>, place: Place<'_>, event: &Event) -> Result<EventId> {
    let id: EventId = tx.mint();
    // People cannot open sandbox conversations, so those events carry no link.
    let url = place
        .conversation
        .filter(|_| place.livemode)
        .and_then(|conversation| place.public_url.join(&format!("conversations/{conversation}")).ok())
        .map(String::from);
    let body = envelope::body(id, event, tx.frame(), place.livemode, place.inbox, url)?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into events (workspace_id, id, kind, livemode, audience, conversation_id, created_at, body)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        workspace,
        id.0,
        event.kind(),
        place.livemode,
        place.audience,
        place.conversation.map(|conversation| conversation.0),
        now,
        body.get()
    )
    .execute(&mut **tx)
    .await?;
    Ok(id)
}
