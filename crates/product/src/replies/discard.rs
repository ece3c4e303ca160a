//! Throwing a draft away: it leaves the timeline, and the documents it would have asked for are not asked
//! for. The timeline keeps that it was there, and a word to whoever drafted it is a note that they can read.

use serde_json::json;

use crate::documents::request::{self, Carrier};
use crate::replies::drafts::files::{self, LeftBlob};
use crate::replies::queue::edit::lock_draft;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::outbound;
use rookery_core::conversations::{notes, timeline};
use rookery_core::workspace::agents::days::{self, AgentMessageFate};
use rookery_core::workspace::people::Person;

/// As long as a note may be.
const LONGEST_WORD: usize = 10_000;

pub struct Discarded {
    pub conversation: ConversationId,
    /// Files that nobody names any more, to be removed once this is committed.
    pub files: Vec<String>,
}

pub async fn discard(
    tx: &mut Tx<'_>,
    person: &Person,
    message: MessageId,
    word: Option<&str>,
) -> Result<Discarded> {
    let (conversation, draft) = lock_draft(tx, person, message).await?;
    let data = json!({ "messageId": message });
    timeline::append(tx, conversation.id, &person.by(), "draft-discarded", data).await?;
    if let Some(word) = word.map(str::trim).filter(|word| !word.is_empty()) {
        if word.chars().count() > LONGEST_WORD {
            return Err(Error::problem("word", format!("must be at most {LONGEST_WORD} characters")));
        }
        notes::add(tx, &conversation, person, &format!("About the discarded draft: {word}")).await?;
    }
    request::cancel(tx, Carrier { conversation: conversation.id, message }, &person.by()).await?;
    outbound::discard(tx, &conversation, message).await?;
    if let Author::Agent(agent) = draft.author {
        days::count(tx, agent, conversation.audience, AgentMessageFate::Discarded).await?;
    }
    let own = draft.attachments.into_iter().filter(|file| !file.borrowed);
    let left = own.map(|file| LeftBlob { conversation: Some(conversation.id), blob: file.blob }).collect();
    Ok(Discarded { conversation: conversation.id, files: files::unheld(tx, left).await? })
}
