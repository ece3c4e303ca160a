//! `POST /sandbox/drafts/{id}/approve`: what a person of the team does with a draft, simulated, because people see nothing of
//! the sandbox. The person is the one who made the key, and the timeline and the event say that it was simulated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::input::NOT_BLANK;
use crate::api::operation::{Call, Named, Needs, Operation, Spec};
use crate::api::wire::Timestamp;
use crate::conversations::messages::outbound::Draft;
use crate::error::{Error, Result};
use crate::ids::MessageId;
use crate::replies::approve::{Approved, approve};
use crate::store::db::Tx;
use crate::workspace::access::Scope;
use crate::workspace::people;

pub struct Approve;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What it says instead, as a person would edit it.
    #[schemars(length(max = 50_000), regex(pattern = NOT_BLANK))]
    body: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    message_id: MessageId,
    /// When it leaves, if nobody stops it.
    sends_at: Timestamp,
}

impl Operation for Approve {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "Approve a draft of the sandbox",
        about: "Test keys only. Does what a person of the team does with a draft: it leaves after the undo window.",
        names: Named::Draft,
        needs: Needs::TestKey(Scope::Write),
        repeatable: false,
        ..Spec::write("simulate_approval", "/sandbox/drafts/{id}/approve")
    };
    type Db = Tx<'static>;
    type Target = Draft;
    type Input = Input;
    type Output = Output;

    async fn run(call: &mut Call<'_, Tx<'static>>, draft: Draft, input: Input) -> Result<Output> {
        let tx = &mut call.db;
        let person = people::simulated(tx, call.actor).await?;
        match approve(call.app, tx, &person, draft.0, input.body.as_deref(), None).await? {
            Approved::Leaves(at) => Ok(Output { message_id: draft.0, sends_at: Timestamp(at) }),
            _ => Err(Error::problem("id", "is a draft that somebody has to look at again")),
        }
    }
}
