//! Throwing a draft away: it leaves the timeline, and the documents it would have asked for are not asked
//! for. The timeline keeps that it was there.

use serde_json::json;

use crate::conversations::messages::message::MessageStatus;
use crate::conversations::messages::outbound::{self, lock_message};
use crate::conversations::timeline;
use crate::documents::request::{self, Carrier};
use crate::error::{Error, Result};
use crate::ids::MessageId;
use crate::store::db::Tx;
use crate::workspace::people::Person;

pub async fn discard(tx: &mut Tx<'_>, person: &Person, message: MessageId) -> Result<()> {
    let (conversation, draft) = lock_message(tx, person, message).await?;
    if draft.status != MessageStatus::Draft {
        return Err(Error::problem("message", "is not a draft"));
    }
    let data = json!({ "messageId": message });
    timeline::append(tx, conversation.id, &person.by(), "draft-discarded", data).await?;
    request::cancel(tx, Carrier { conversation: conversation.id, message }, &person.by()).await?;
    outbound::discard(tx, &conversation, message).await?;
    Ok(())
}
