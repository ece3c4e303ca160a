//! The ten kinds of event and what each tells (specification 6.2): a closed list.
//!
//! Data is thin by design: ids, names of inboxes, people and keys, and fixed words. Nothing a customer or
//! a note wrote may stand in a field here.

use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::workspace::access::By;
use rookery_base::clock::written;
use rookery_base::ids::{
    AgentId, BookingId, BookingTypeId, ConversationId, DocumentRequestId, MailboxId, MessageId, PersonId,
    WebhookId,
};

/// The one list of kinds. Events, their names, what webhooks can choose and what the OpenAPI document tells all come
/// from it.
macro_rules! kinds {
    ($($kind:ident($data:ty), $name:literal, $about:literal;)*) => {
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $($kind($data),)*
        }

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($kind,)*
        }

        impl Event {
            pub fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind,)* }
            }

            /// What it tells, as JSON.
            pub fn data(&self) -> serde_json::Result<Value> {
                match self { $(Self::$kind(data) => serde_json::to_value(data),)* }
            }
        }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];
            pub const NAMES: &[&str] = &[$($name,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// One sentence for whoever chooses what to hear.
            pub fn about(self) -> &'static str {
                match self { $(Self::$kind => $about,)* }
            }

            /// The schema of what it tells.
            pub fn schema(self, generator: SchemaGenerator) -> Schema {
                match self { $(Self::$kind => generator.into_root_schema_for::<$data>(),)* }
            }
        }
    };
}

kinds! {
    AskCompleted(AskCompleted), "ask.completed", "Everything asked of a client is in.";
    ClientReplied(ClientReplied), "client.replied", "Someone wrote back on a conversation.";
    ConversationAssigned(ConversationAssigned), "conversation.assigned",
        "A conversation was given to someone or to nobody.";
    TurnChanged(TurnChanged), "turn.changed", "Whose turn it is changed.";
    DraftApproved(DraftApproved), "draft.approved", "A person approved a draft.";
    MessageSent(MessageSent), "message.sent", "An email went out.";
    BookingCreated(Booking), "booking.created", "Someone booked a time.";
    BookingCancelled(Booking), "booking.cancelled", "A booking was cancelled.";
    ScoutHeld(ScoutHeld), "scout.held", "A likely scam was held.";
    WebhookTest(WebhookTest), "webhook.test", "A test event.";
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

impl From<&By> for Doer {
    fn from(by: &By) -> Self {
        let name = by.name().to_owned();
        match by {
            By::Agent { id, .. } => Self::Agent { id: Some(*id), name },
            By::Person { id, .. } => Self::User { id: Some(*id), name },
            // To apps a rule is the service itself: only timelines name it.
            By::Rule { .. } | By::System => Self::System { id: None, name: By::System.name().to_owned() },
        }
    }
}

fn as_timestamp<S: serde::Serializer>(at: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&written(*at))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    /// proves: EVT-1
    #[test]
    fn there_are_exactly_ten_kinds_each_with_a_name_of_its_own() {
        assert_eq!(Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(), Kind::NAMES);
        assert_eq!(BTreeSet::from_iter(Kind::NAMES).len(), 10);
    }

    #[test]
    fn the_page_on_webhooks_tells_every_kind_and_every_field_of_it() {
        let page = include_str!("../../../../docs/webhooks.md");
        let table = page.split("| event |").nth(1).unwrap().split("\n\n").next().unwrap();
        let rows: Vec<(&str, &str)> =
            table.lines().filter_map(|row| row.strip_prefix("| ")?.split_once(" | ")).collect();
        let told: BTreeSet<&str> = rows.iter().flat_map(|(kinds, _)| quoted(kinds)).collect();
        let told: BTreeSet<&str> = told.into_iter().filter(|word| word.contains('.')).collect();
        assert_eq!(told, BTreeSet::from_iter(Kind::NAMES.iter().copied()));
        for kind in Kind::ALL {
            let (_, fields) =
                rows.iter().find(|(kinds, _)| quoted(kinds).any(|name| name == kind.name())).unwrap();
            let schema = kind.schema(SchemaGenerator::default()).to_value();
            for field in schema["properties"].as_object().unwrap().keys() {
                assert!(quoted(fields).any(|name| name == field), "{} has {field}", kind.name());
            }
        }
    }
}
