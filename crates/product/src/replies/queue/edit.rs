//! Changing a draft before it leaves (specification 3.3): what was drafted is kept beside it, and nobody writes over
//! what a colleague changed meanwhile.

use chrono::{DateTime, Utc};

use crate::documents::request::{self, Carrier};
use crate::replies::secure::SEALED;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MessageId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::conversations::messages::outbound::{Ours, lock_message};
use rookery_core::conversations::messages::revision::{self, Revised};
use rookery_core::workspace::people::Person;
use rookery_reading::text;

const LONGEST_BODY: usize = 50_000;
/// What is wrong with a message that somebody else decided about.
pub const NOT_A_DRAFT: &str = "is not a draft";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    /// It was last changed then.
    Kept(Option<DateTime<Utc>>),
    /// Somebody else changed it after it was shown.
    Crossed,
}

/// Keeps `body` as the draft's. `shown` is when the text that the person began with was last changed.
pub async fn edit(
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    body: &str,
    shown: Option<DateTime<Utc>>,
) -> Result<Edited> {
    let (conversation, draft) = lock_draft(tx, person, message).await?;
    let body = a_body(body)?;
    let before = draft.written.as_deref().unwrap_or(&draft.text);
    let edited_at = revision::edited_at(tx, &conversation, message).await?;
    if body == before {
        return Ok(Edited::Kept(edited_at));
    }
    if draft.secure && body != before {
        return Err(Error::problem("body", SEALED));
    }
    if edited_at != shown {
        return Ok(Edited::Crossed);
    }
    let carrier = Carrier { conversation: conversation.id, message };
    let carried = request::of_message(tx, person.workspace, carrier).await?;
    let whole = carried.map(|carried| carried.under(&body, None));
    let revised = Revised {
        text: whole.as_deref().unwrap_or(&body),
        written: whole.as_ref().map(|_| body.as_str()),
        before,
    };
    Ok(Edited::Kept(Some(revision::revise(tx, &conversation, message, person.id, revised).await?)))
}

/// Whether a draft is as the person was shown it.
pub async fn is_as_shown(
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    shown: Option<DateTime<Utc>>,
) -> Result<bool> {
    let (conversation, _) = lock_draft(tx, person, message).await?;
    Ok(revision::edited_at(tx, &conversation, message).await? == shown)
}

/// A draft that somebody can see, locked.
pub(in crate::replies) async fn lock_draft(
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
) -> Result<(Locked, Ours)> {
    let (conversation, draft) = lock_message(tx, person, message).await?;
    match draft.status {
        MessageStatus::Draft => Ok((conversation, draft)),
        _ => Err(Error::problem("message", NOT_A_DRAFT)),
    }
}

pub(in crate::replies) fn a_body(given: &str) -> Result<String> {
    if given.trim().is_empty() {
        return Err(Error::problem("body", "is required"));
    }
    if given.chars().count() > LONGEST_BODY {
        return Err(Error::problem("body", format!("must be at most {LONGEST_BODY} characters")));
    }
    Ok(text::lines(given))
}
