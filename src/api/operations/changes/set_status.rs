//! `POST /conversations/{id}/status` (specification 4.5): open, waiting or closed.
//! Any status can move to any other; the same one again changes nothing.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::operation::{Call, Operation, Spec};
use crate::api::operations::Done;
use crate::conversations::conversation::Locked;
use crate::conversations::status::Status;
use crate::conversations::transitions::set_status;
use crate::error::Result;
use crate::store::db::Tx;

pub struct SetStatus;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
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
    type Input = Input;
    type Output = Done;

    async fn run(call: &mut Call<'_, Tx<'static>>, conversation: Locked, input: Input) -> Result<Done> {
        set_status(&mut call.db, &conversation, call.actor, input.status.into()).await?;
        Ok(Done::ok())
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
