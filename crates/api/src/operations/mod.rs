//! One file for each operation, named as its MCP tool where it has one.
//! Each states its place, scope, input and output, and runs one verb of the product.

pub mod add_note;
pub mod agents;
pub mod bookings;
pub mod changes;
pub mod contacts;
pub mod documents;
pub mod events;
pub mod get_conversation;
pub mod list_conversations;
pub mod list_mailboxes;
pub mod list_tags;
pub mod me;
pub mod openapi;
pub mod record_sent;
pub mod reply;
pub mod request_documents;
pub mod sandbox;
pub mod simulate_decision;
pub mod simulate_inbound;
pub mod webhooks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::NOT_BLANK;
use crate::wire::Timestamp;
use rookery_base::ids::{DocumentRequestId, MessageId};
use rookery_product::documents::items::ChecklistItem;
use rookery_product::replies::write;
use rookery_reading::text;

/// An operation without parameters.
#[derive(Deserialize, JsonSchema)]
pub struct NoInput {}

/// `{"ok": true}`: it is done, and there is nothing more to say.
#[derive(Serialize, JsonSchema)]
pub struct OkOutput {
    ok: bool,
    #[serde(skip)]
    again: bool,
}

impl OkOutput {
    pub fn ok() -> Self {
        Self { ok: true, again: false }
    }

    /// It was done before.
    pub fn again() -> Self {
        Self { ok: true, again: true }
    }
}

/// A document that is asked for.
#[derive(Deserialize, JsonSchema)]
pub struct AskedItem {
    #[schemars(length(max = 120), regex(pattern = NOT_BLANK))]
    label: String,
    #[schemars(length(max = 500))]
    description: Option<String>,
    /// False marks it nice to have.
    #[serde(default = "yes")]
    required: bool,
}

fn yes() -> bool {
    true
}

impl AskedItem {
    fn stored(self) -> ChecklistItem {
        let description = self.description.map(|description| text::lines(&description).trim().to_owned());
        ChecklistItem {
            label: text::line(&self.label),
            description: description.filter(|description| !description.is_empty()),
            required: self.required,
        }
    }
}

/// What became of a reply or a document request.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenMessage {
    message_id: MessageId,
    status: WrittenStatus,
    /// When it leaves, after the undo window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    sends_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DocumentRequestId")]
    request_id: Option<DocumentRequestId>,
    /// The addresses it goes to.
    to: Vec<String>,
    /// What happens next.
    note: String,
}

/// `draft` waits for a person's approval; `scheduled` goes out on its own.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WrittenStatus {
    Draft,
    Scheduled,
}

impl From<write::WrittenReply> for WrittenMessage {
    fn from(written: write::WrittenReply) -> Self {
        let (status, note) = match written.sends_at {
            None => (WrittenStatus::Draft, "A person has to approve this before it goes out.".to_owned()),
            Some(at) => {
                let at = rookery_base::clock::written(at);
                (WrittenStatus::Scheduled, format!("Goes out at {at} unless someone stops it."))
            }
        };
        Self {
            message_id: written.message,
            status,
            sends_at: written.sends_at.map(Timestamp),
            request_id: written.request,
            to: vec![written.to],
            note,
        }
    }
}
