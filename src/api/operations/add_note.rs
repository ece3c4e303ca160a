//! `POST /conversations/{id}/notes` (specification 4.4): a note for the team.
//! Each call makes a new one; the customer never sees it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Done;
use crate::api::input::NOT_BLANK;
use crate::api::operation::{Call, Operation, Spec};
use crate::conversations::conversation::Locked;
use crate::conversations::notes;
use crate::error::Result;
use crate::store::db::Tx;

pub struct AddNote;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Plain text. People are mentioned with @FirstName.
    #[schemars(length(max = 10_000), regex(pattern = NOT_BLANK))]
    body: String,
}

impl Operation for AddNote {
    const SPEC: Spec = Spec {
        title: "Add a note",
        about: "Adds an internal note, seen by the team and never by the customer. Mention people with @FirstName.",
        status: 201,
        repeatable: false,
        ..Spec::write("add_note", "/conversations/{id}/notes")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = Input;
    type Output = Done;

    async fn run(call: &mut Call<'_, Tx<'static>>, conversation: Locked, input: Input) -> Result<Done> {
        notes::add(&mut call.db, &conversation, call.actor, &input.body).await?;
        Ok(Done::ok())
    }
}
