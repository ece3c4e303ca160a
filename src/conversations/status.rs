//! Status and turn (specification 3.1, 3.2). The turn is a pure function of the status; a change of it is
//! announced once, in the transaction that made it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::event::Turn;

/// `waiting` is waiting on the customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, sqlx::Type)]
#[serde(rename_all = "lowercase")]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Status {
    Open,
    Waiting,
    Closed,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Closed => "closed",
        }
    }

    pub fn turn(self) -> Turn {
        match self {
            Self::Open => Turn::Ours,
            Self::Waiting => Turn::Theirs,
            Self::Closed => Turn::Done,
        }
    }
}
