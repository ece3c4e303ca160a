//! The only place that inserts events, in the transaction of the change they describe. So an event exists exactly
//! if its change was committed (specification 6.1).

use crate::events::envelope;
use crate::events::event::Event;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, EventId};
use rookery_base::store::db::Tx;

/// Where an event happened: who may see it, and the inbox name for its summary.
#[derive(Clone, Copy, Debug)]
pub struct EventContext<'a> {
    pub audience: i64,
    pub livemode: bool,
    pub conversation: Option<ConversationId>,
    /// The inbox's name.
    pub inbox: &'a str,
}

pub async fn record(tx: &mut Tx<'_>, place: EventContext<'_>, event: &Event) -> Result<EventId> {
    let id: EventId = tx.mint();
    record_all(tx, &[(id, place, event)]).await?;
    Ok(id)
}

/// Records several events, each under an id that was minted for it.
pub async fn record_all(tx: &mut Tx<'_>, events: &[(EventId, EventContext<'_>, &Event)]) -> Result<()> {
    let many = events.len();
    let (mut ids, mut kinds, mut bodies) =
        (Vec::with_capacity(many), Vec::with_capacity(many), Vec::with_capacity(many));
    let (mut livemodes, mut audiences, mut conversations, mut noted) = (
        Vec::with_capacity(many),
        Vec::with_capacity(many),
        Vec::with_capacity(many),
        Vec::with_capacity(many),
    );
    for (id, place, event) in events {
        ids.push(id.0);
        kinds.push(event.kind().name());
        let url = url(tx, *place);
        bodies.push(envelope::body(*id, event, tx.frame(), place.livemode, place.inbox, url)?);
        livemodes.push(place.livemode);
        audiences.push(place.audience);
        conversations.push(place.conversation.map(|conversation| conversation.0));
        // The note is for the fan-out to webhooks. A test event goes to one webhook only, which is scheduled
        // directly.
        noted.push(!matches!(event, Event::WebhookTest(_)));
    }
    let bodies: Vec<&str> = bodies.iter().map(|body| body.get()).collect();
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "with recorded as (
             insert into events (workspace_id, id, kind, livemode, audience, conversation_id, created_at, body)
             select $1, id, kind, livemode, audience, conversation_id, $9, body
             from unnest($2::bigint[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[], $7::text[])
                 as event (id, kind, livemode, audience, conversation_id, body))
         insert into unfanned_events (workspace_id, event_id, kind, livemode, audience)
         select $1, id, kind, livemode, audience
         from unnest($2, $3, $4, $5, $8::boolean[]) as event (id, kind, livemode, audience, noted) where noted",
        workspace,
        &ids,
        &kinds as &[&str],
        &livemodes,
        &audiences,
        &conversations as &[Option<i64>],
        &bodies as &[&str],
        &noted,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// People cannot open sandbox conversations, so those events carry no link.
fn url(tx: &Tx<'_>, place: EventContext<'_>) -> Option<String> {
    let conversation = place.conversation.filter(|_| place.livemode)?;
    tx.frame().public_url.join(&format!("conversations/{conversation}")).ok().map(String::from)
}
