//! The ten kinds of event and what each tells (specification 6.2): a closed list.
//!
//! Data is thin by design: ids, names of inboxes, people and keys, and fixed words. Nothing a customer or
//! a note wrote may stand in a field here.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::written;
use crate::ids::{
    AgentId, BookingId, BookingTypeId, ConversationId, DocumentRequestId, MailboxId, MessageId, PersonId,
    WebhookId,
};
use crate::workspace::access::By;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    AskCompleted(AskCompleted),
    ClientReplied(ClientReplied),
    ConversationAssigned(ConversationAssigned),
    TurnChanged(TurnChanged),
    DraftApproved(DraftApproved),
    MessageSent(MessageSent),
    BookingCreated(Booking),
    BookingCancelled(Booking),
    ScoutHeld(ScoutHeld),
    WebhookTest(WebhookTest),
}

/// Everything asked of a client is in.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AskCompleted {
    pub ask_id: DocumentRequestId,
    pub kind: AskKind,
    pub conversation_id: ConversationId,
}

/// What was asked for. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskKind {
    Documents,
}

/// Someone wrote back on a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClientReplied {
    pub conversation_id: ConversationId,
    pub message_id: MessageId,
    pub mailbox_id: MailboxId,
    /// True when the reply was written on a secure page.
    pub secure: bool,
    /// The app's reference, on conversations that have one. It names the address written to, not the writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// A conversation was given to someone or to nobody.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConversationAssigned {
    pub conversation_id: ConversationId,
    pub assignee: Option<Assignee>,
    pub assigned_by: Doer,
}

/// Whose turn it is changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnChanged {
    pub conversation_id: ConversationId,
    pub turn: Turn,
    pub previous: Option<Turn>,
    pub assignee: Option<Assignee>,
}

/// `ours` is the team's turn, `theirs` the customer's, `done` a closed conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, sqlx::Type)]
#[serde(rename_all = "lowercase")]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Turn {
    Ours,
    Theirs,
    Done,
}

/// A person approved a helper's or an agent's draft.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DraftApproved {
    pub conversation_id: ConversationId,
    /// The message, which goes out after the undo window.
    pub message_id: MessageId,
    pub drafted_by: Drafter,
    pub approved_by: Doer,
    pub edited: bool,
}

/// An email went out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MessageSent {
    pub conversation_id: ConversationId,
    pub message_id: MessageId,
    pub mailbox_id: MailboxId,
    /// Null for the service's own mail.
    pub author: Option<Author>,
    /// True when it was sent as a secure link.
    pub secure: bool,
}

/// Someone booked a time, or a booking was cancelled.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Booking {
    pub booking_id: BookingId,
    pub booking_type_id: BookingTypeId,
    pub host_user_id: PersonId,
    pub conversation_id: Option<ConversationId>,
    #[serde(serialize_with = "as_timestamp")]
    pub starts_at: DateTime<Utc>,
    #[serde(serialize_with = "as_timestamp")]
    pub ends_at: DateTime<Utc>,
}

/// A likely scam was held.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScoutHeld {
    pub conversation_id: ConversationId,
}

/// "Send test event" was pressed on a webhook's page.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WebhookTest {
    pub endpoint_id: WebhookId,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Assignee {
    User { id: PersonId, name: Option<String> },
    Agent { id: AgentId, name: Option<String> },
}

/// Who did it. The service itself has no id.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Doer {
    User { id: Option<PersonId>, name: String },
    Agent { id: Option<AgentId>, name: String },
    System { id: Option<AgentId>, name: String },
}

/// Who wrote a draft; both null for the drafting helper.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Drafter {
    pub r#type: Option<MemberKind>,
    pub id: Option<String>,
}

/// Who wrote a message; the id is null for the drafting helper.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Author {
    pub r#type: MemberKind,
    pub id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    User,
    Agent,
}

impl Event {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AskCompleted(_) => "ask.completed",
            Self::ClientReplied(_) => "client.replied",
            Self::ConversationAssigned(_) => "conversation.assigned",
            Self::TurnChanged(_) => "turn.changed",
            Self::DraftApproved(_) => "draft.approved",
            Self::MessageSent(_) => "message.sent",
            Self::BookingCreated(_) => "booking.created",
            Self::BookingCancelled(_) => "booking.cancelled",
            Self::ScoutHeld(_) => "scout.held",
            Self::WebhookTest(_) => "webhook.test",
        }
    }
}

impl From<&By> for Doer {
    fn from(by: &By) -> Self {
        let name = by.name().to_owned();
        match by {
            By::Agent { id, .. } => Self::Agent { id: Some(*id), name },
            By::Person { id, .. } => Self::User { id: Some(*id), name },
            By::System => Self::System { id: None, name },
        }
    }
}

fn as_timestamp<S: serde::Serializer>(at: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&written(*at))
}
