//! `POST /conversations/{id}/notes` (specification 4.4): a note for the team.
//! Each call makes a new one; the customer never sees it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::OkOutput;
use crate::input::NOT_BLANK;
use crate::operation::{Call, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::notes;

pub struct AddNote;

#[derive(Deserialize, JsonSchema)]
pub struct AddNoteInput {
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
    type Input = AddNoteInput;
    type Output = OkOutput;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        conversation: Locked,
        input: AddNoteInput,
    ) -> Result<OkOutput> {
        notes::add(&mut call.db, &conversation, call.actor, &input.body).await?;
        Ok(OkOutput::ok())
    }
}
