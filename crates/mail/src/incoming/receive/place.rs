//! Place: takes a classified mail and gives its place, the conversation that it joins, locked, or none when it starts one. A
//! conversation that had all the mail of its day takes no more. `thread` knows who may join by what the mail names.

use super::classify::Classified;
use crate::incoming::authenticate::Dmarc;
use crate::incoming::quota::{Joining, admit_to};
use crate::incoming::thread::{self, Placement, Why};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::lock::lock_in;

pub(super) struct Place {
    pub placement: Placement,
    /// The conversation that it joins.
    pub joined: Option<Locked>,
}

/// The conversation takes no more mail today.
pub(super) struct Full(pub ConversationId);

pub(super) async fn place(
    tx: &mut Tx<'_>,
    app: &App,
    classified: &Classified<'_>,
) -> Result<Result<Place, Full>> {
    let delivery = classified.delivery;
    let mailbox = &delivery.mailbox;
    let placement = placement(tx, app, classified).await?;
    let joined = match placement.joins {
        Some(conversation) => Some(lock_in(tx, mailbox, conversation).await?),
        None => None,
    };
    if let Some(joined) = joined.as_ref().filter(|_| !delivery.trace.is_empty()) {
        let joining = Joining {
            mailbox: mailbox.id,
            conversation: joined.id,
            is_proven: delivery.verdict.dmarc() == Dmarc::Pass,
            bytes: delivery.raw.len(),
        };
        if !admit_to(app, tx, joining).await? {
            return Ok(Err(Full(joined.id)));
        }
    }
    Ok(Ok(Place { placement, joined }))
}

async fn placement(tx: &mut Tx<'_>, app: &App, classified: &Classified<'_>) -> Result<Placement> {
    let Classified { delivery, mail, report, rsvp, bounced } = classified;
    let mailbox = &delivery.mailbox;
    let about = bounced.as_ref().and_then(|bounced| bounced.booking.conversation);
    let booked_in = match rsvp.and_then(|heard| heard.conversation).or(about) {
        Some(conversation) => thread::in_mailbox(tx, mailbox.id, conversation).await?,
        None => None,
    };
    Ok(match (delivery.joins.or(booked_in), report) {
        (Some(chosen), _) if booked_in.is_some() => Placement::joined(chosen, Why::Invitation),
        (Some(chosen), _) => Placement::joined(chosen, Why::Chosen),
        // Its sender takes no part in the conversation, but the proof shows that it is about our mail.
        (None, Some(proven)) => Placement::joined(proven.conversation, Why::Report),
        (None, None) => {
            let age = app.config.app_mail_retention().age;
            let recipient = delivery.recipient.as_deref();
            thread::place(tx, mailbox, recipient, mail, &delivery.verdict, age).await?
        }
    })
}
