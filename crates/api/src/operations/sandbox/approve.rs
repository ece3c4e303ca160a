//! `POST /sandbox/drafts/{id}/approve`: what a person of the team does with a draft, simulated, because people see nothing of
//! the sandbox. The person is the one who made the key, and the timeline and the event say that it was simulated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::NOT_BLANK;
use crate::operation::{Call, Needs, Operation, PathSubject, Spec};
use crate::wire::Timestamp;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MessageId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::outbound::Draft;
use rookery_core::workspace::access::Scope;
use rookery_core::workspace::people;
use rookery_product::replies::approve::{Approved, approve};

pub struct Approve;

#[derive(Deserialize, JsonSchema)]
pub struct ApproveInput {
    /// What it says instead, as a person would edit it.
    #[schemars(length(max = 50_000), regex(pattern = NOT_BLANK))]
    body: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedDraft {
    message_id: MessageId,
    /// When it leaves, if nobody stops it.
    sends_at: Timestamp,
}

impl Operation for Approve {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "Approve a draft of the sandbox",
        about: "Test keys only. Does what a person of the team does with a draft: it leaves after the undo window.",
        names: PathSubject::Draft,
        needs: Needs::TestKey(Scope::Write),
        repeatable: false,
        ..Spec::write("simulate_approval", "/sandbox/drafts/{id}/approve")
    };
    type Db = Tx<'static>;
    type Target = Draft;
    type Input = ApproveInput;
    type Output = ApprovedDraft;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        draft: Draft,
        input: ApproveInput,
    ) -> Result<ApprovedDraft> {
        let tx = &mut call.db;
        let person = people::simulated(tx, call.actor).await?;
        match approve(call.app, tx, &person, draft.0, input.body.as_deref()).await? {
            Approved::Leaves(at) => Ok(ApprovedDraft { message_id: draft.0, sends_at: Timestamp(at) }),
            _ => Err(Error::problem("id", "is a draft that somebody has to look at again")),
        }
    }
}
