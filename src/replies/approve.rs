//! Approving a draft (specification 3.3): a person lets it go, edited perhaps, and it leaves after the undo
//! window. Anyone who sees the inbox may; nobody can in the sandbox, which people do not see.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::app::App;
use crate::conversations::messages::outbound::{lock_message, schedule};
use crate::conversations::timeline;
use crate::documents::request::{self, Carrier};
use crate::error::{Error, Result};
use crate::events::event::{Doer, DraftApproved, Event};
use crate::events::record::record;
use crate::ids::MessageId;
use crate::store::db::Tx;
use crate::text;
use crate::workspace::people::Person;

const LONGEST_BODY: usize = 50_000;

/// Gives the time it leaves. `edited` is the body as the person wants it; the checklist is not part of it.
pub async fn approve(
    app: &App,
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    edited: Option<&str>,
) -> Result<DateTime<Utc>> {
    let (conversation, draft) = lock_message(tx, person, message).await?;
    let before = draft.written.as_deref().unwrap_or(&draft.text);
    let body = match edited {
        Some(edited) => a_body(edited)?,
        None => before.to_owned(),
    };
    if conversation.contact.email.is_none() {
        return Err(Error::problem("message", "this conversation has no address to reply to"));
    }
    let carrier = Carrier { conversation: conversation.id, message };
    let whole = match request::of_message(tx, carrier).await? {
        Some(carried) => {
            let link = carried.link(app, tx.workspace())?;
            Some(carried.under(&body, Some(&link)))
        }
        None => None,
    };
    let sends_at = tx.now() + app.config.undo_window(conversation.livemode());
    let texts = (whole.as_deref().unwrap_or(&body), whole.as_ref().map(|_| body.as_str()));
    if !schedule(tx, &conversation, message, texts, sends_at).await? {
        return Err(Error::problem("message", "is not a draft"));
    }
    let edited = body != before;
    let data = json!({ "messageId": message, "edited": edited });
    timeline::append(tx, conversation.id, &person.by(), "approved", data).await?;
    let approved = DraftApproved {
        conversation_id: conversation.id,
        message_id: message,
        drafted_by: draft.author.of_draft(),
        approved_by: Doer::from(&person.by()),
        edited,
    };
    record(tx, conversation.event_context(), &Event::DraftApproved(approved)).await?;
    Ok(sends_at)
}

fn a_body(given: &str) -> Result<String> {
    if given.trim().is_empty() {
        return Err(Error::problem("body", "is required"));
    }
    if given.chars().count() > LONGEST_BODY {
        return Err(Error::problem("body", format!("must be at most {LONGEST_BODY} characters")));
    }
    Ok(text::lines(given))
}
