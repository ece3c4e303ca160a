//! What a message is: which way it goes, what carries it, how far it has got and who wrote it (specification 2.4, 3.3,
//! 6.2). docs/decisions/origins.md says why each stands in a column of its own.

use crate::events::event::{self, Drafter, MemberKind};
use crate::workspace::access::MemberId;
use rookery_base::ids::{AgentId, PersonId};

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Direction {
        /// The customer wrote it.
        Inbound = "inbound",
        /// A message of ours.
        Outbound = "outbound",
    }
}

/// What carries a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Channel {
    Mail,
    /// A page behind a link; the mail only tells of it.
    Secure,
}

rookery_base::text_enum! {
    /// How far a message of ours has got. What came in has no status.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum MessageStatus {
        /// Waits for a person.
        Draft = "draft",
        /// Leaves at its time, unless somebody stops it.
        Scheduled = "scheduled",
        /// A node has it, or will try again.
        Sending = "sending",
        Sent = "sent",
        Failed = "failed",
    }
}

/// What kind of author a message of ours has, as its column says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Origin {
    Person,
    Agent,
    /// The drafting assistant, which writes drafts and nothing else.
    Assistant,
    /// The service itself: reminders.
    Service,
}

/// Who wrote a message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Person(PersonId),
    Agent(AgentId),
    Assistant,
    Service,
}

impl Author {
    /// From its columns. The version before this one writes no origin: then a message without a member is the service's.
    pub fn stored(origin: Option<Origin>, author_type: Option<&str>, author_id: Option<i64>) -> Self {
        match MemberId::stored(author_type, author_id.unwrap_or_default()) {
            Some(member) => member.into(),
            None if origin == Some(Origin::Assistant) => Self::Assistant,
            None => Self::Service,
        }
    }

    pub fn origin(self) -> Origin {
        match self {
            Self::Person(_) => Origin::Person,
            Self::Agent(_) => Origin::Agent,
            Self::Assistant => Origin::Assistant,
            Self::Service => Origin::Service,
        }
    }

    /// The person or the agent it is.
    pub fn member(self) -> Option<MemberId> {
        match self {
            Self::Person(id) => Some(MemberId::Person(id)),
            Self::Agent(id) => Some(MemberId::Agent(id)),
            Self::Assistant | Self::Service => None,
        }
    }

    /// As `message.sent` tells it: an assistant has no id (D149), and nobody wrote the service's own mail.
    pub fn of_sent(self) -> Option<event::Author> {
        let (r#type, id) = match self {
            Self::Person(id) => (MemberKind::User, Some(id.to_string())),
            Self::Agent(id) => (MemberKind::Agent, Some(id.to_string())),
            Self::Assistant => (MemberKind::Agent, None),
            Self::Service => return None,
        };
        Some(event::Author { r#type, id })
    }

    /// As `draft.approved` tells it: of an assistant nothing at all (D150).
    pub fn of_draft(self) -> Drafter {
        match self.member().and(self.of_sent()) {
            Some(author) => Drafter { r#type: Some(author.r#type), id: author.id },
            None => Drafter { r#type: None, id: None },
        }
    }
}

impl From<MemberId> for Author {
    fn from(member: MemberId) -> Self {
        match member {
            MemberId::Person(id) => Self::Person(id),
            MemberId::Agent(id) => Self::Agent(id),
        }
    }
}
