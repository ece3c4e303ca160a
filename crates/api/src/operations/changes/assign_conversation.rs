//! `POST /conversations/{id}/assign` (specification 4.7): to a teammate, to this agent, or to nobody.
//! Whoever cannot see the inbox cannot be given its conversations, and is not told apart from a stranger.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::operation::{Call, Operation, Spec};
use crate::operations::OkOutput;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::assign::{assign, not_on_the_team};
use rookery_core::conversations::conversation::Locked;

/// Whom a conversation can be given to, as it is written.
pub(super) const TO_PATTERN: &str = "^(me|none|user:usr_[0-9a-z]+|agent:agt_[0-9a-z]+)$";
pub(super) const TO_SAYS: &str = "must be me, none, user:usr_… or agent:agt_…";

pub struct AssignConversation;

#[derive(Deserialize, JsonSchema)]
pub struct AssignConversationInput {
    /// `user:usr_…` or `agent:agt_…` from the conversation's `team`, `me`, or `none`.
    #[schemars(length(max = 80), regex(pattern = TO_PATTERN), extend("x-says" = TO_SAYS))]
    to: String,
}

impl Operation for AssignConversation {
    const SPEC: Spec = Spec {
        title: "Assign a conversation",
        about: "Gives a conversation to a person or an agent of its team, to this agent (`me`), or to nobody (`none`).",
        ..Spec::write("assign_conversation", "/conversations/{id}/assign")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = AssignConversationInput;
    type Output = OkOutput;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        conversation: Locked,
        input: AssignConversationInput,
    ) -> Result<OkOutput> {
        let to = input.to.parse().map_err(|_| not_on_the_team())?;
        assign(&mut call.db, &conversation, call.actor, to).await?;
        Ok(OkOutput::ok())
    }
}
