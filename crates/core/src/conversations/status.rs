//! Status and turn (specification 3.1, 3.2). The turn is a pure function of the status; a change of it is
//! announced once, in the transaction that made it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::event::Turn;

rookery_base::text_enum! {
    /// `waiting` is waiting on the customer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, sqlx::Type)]
    #[serde(rename_all = "lowercase")]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Status {
        Open = "open",
        Waiting = "waiting",
        Closed = "closed",
    }
}

impl Status {
    pub fn turn(self) -> Turn {
        match self {
            Self::Open => Turn::Ours,
            Self::Waiting => Turn::Theirs,
            Self::Closed => Turn::Done,
        }
    }
}
