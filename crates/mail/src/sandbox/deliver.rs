//! The sandbox's mailer (specification 8.3): sent mail is written to a table and goes nowhere. Each handover is a
//! row, as each would be a mail at a relay, so that a repeat is visible.

use crate::sandbox::magic::Magic;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{EventId, Id};
use rookery_base::relay::mailer::{Handover, OutgoingLetter, Refusal};

pub async fn deliver(app: &App, letter: &OutgoingLetter) -> Result<Handover> {
    if Magic::from_address(&letter.to) == Magic::Bounce {
        return Ok(Handover::Refused(Refusal::Bounce));
    }
    let mut tx = app.begin(letter.workspace).await?;
    // The row's number only has to be new and in time order.
    let (number, now) = (tx.mint::<EventId>().number(), tx.now());
    sqlx::query!(
        "insert into sandbox_mail
             (workspace_id, id, conversation_id, message_id, rfc_message_id, recipient, at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        letter.workspace.0,
        number,
        letter.conversation.0,
        letter.message.0,
        letter.rfc_message_id,
        letter.to,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(Handover::Accepted)
}
