//! `POST /conversations/{id}/status` (specification 4.5): open, waiting or closed.
//! Any status can move to any other; the same one again changes nothing.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::operation::{Call, Operation, Spec};
use crate::operations::OkOutput;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::transitions::set_status;

pub struct SetStatus;

#[derive(Deserialize, JsonSchema)]
pub struct SetStatusInput {
    /// `waiting` is waiting on the customer.
    status: StatusName,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum StatusName {
    Open,
    Waiting,
    Closed,
}

impl Operation for SetStatus {
    const SPEC: Spec = Spec {
        title: "Set the status",
        about: "Opens, parks or closes a conversation. Ends a snooze when the status really changes.",
        ..Spec::write("set_status", "/conversations/{id}/status")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = SetStatusInput;
    type Output = OkOutput;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        conversation: Locked,
        input: SetStatusInput,
    ) -> Result<OkOutput> {
        set_status(&mut call.db, &conversation, call.actor, input.status.into()).await?;
        Ok(OkOutput::ok())
    }
}

impl From<StatusName> for Status {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Open => Self::Open,
            StatusName::Waiting => Self::Waiting,
            StatusName::Closed => Self::Closed,
        }
    }
}
