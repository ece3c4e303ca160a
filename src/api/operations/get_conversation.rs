//! `GET /conversations/{id}` (specification 4.3): one conversation, whole, as of one instant.
//! Reading changes nothing and leaves no trace that others could see.

use super::NoInput;
use crate::api::operation::{Call, Operation, Spec};
use crate::api::wire;
use crate::conversations::conversation::Conversation;
use crate::conversations::read;
use crate::db::Snapshot;
use crate::error::Result;

pub struct GetConversation;

impl Operation for GetConversation {
    const SPEC: Spec = Spec {
        title: "Read a conversation",
        about: "The whole conversation: its timeline of messages, notes and events, oldest first, and the team it can be assigned to.",
        ..Spec::read("get_conversation", "/conversations/{id}")
    };
    type Db = Snapshot;
    type Target = Conversation;
    type Input = NoInput;
    type Output = wire::Conversation;

    async fn run(
        call: &mut Call<'_, Snapshot>,
        conversation: Conversation,
        _: NoInput,
    ) -> Result<Self::Output> {
        Ok(read::whole(&mut call.db, conversation).await?.into())
    }
}
