//! The answers' form (specification 2): camelCase, nullable fields present as null, optional ones left out.
//! Only what stands here is serialised; domain types have no wire form of their own.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::dry_run::NO_SECRET;
use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::ids::{ConversationId, DocumentId, MessageId, NoteId};
use rookery_core::conversations::conversation;
use rookery_core::conversations::list;
use rookery_core::conversations::messages::message::{Direction, MessageStatus};
use rookery_core::conversations::read::{self, WholeConversation};
use rookery_core::conversations::status::Status;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::signatures::pictures::is_signature_picture;

/// A moment as `yyyy-mm-ddThh:mm:ss.mmmZ`.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp(pub DateTime<Utc>);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&written(self.0))
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A link or a secret that gives access to anyone who has it. A dry run has none to show: a link works without a row, and a
/// secret that was never stored looks like one that was.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Secret(String);

impl Secret {
    pub fn shown(app: &App, secret: String) -> Self {
        Self(if app.is_dry() { NO_SECRET.to_owned() } else { secret })
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    pub id: ConversationId,
    pub subject: String,
    /// The start of the latest message.
    pub snippet: String,
    pub status: Status,
    pub contact: Contact,
    /// The inbox's name.
    pub mailbox: String,
    pub last_message_at: Timestamp,
    pub message_count: i32,
    pub assignee: Option<Assignee>,
    pub tags: Vec<String>,
    /// Set by the sorting helper.
    pub topic: Option<String>,
    /// `low`, `normal` or `high`, set by the sorting helper on new mail.
    pub urgency: Option<String>,
    /// A warning such as `phishing`; null when nothing looks wrong. New labels may be added.
    pub risk: Option<String>,
    /// The app's reference, on conversations that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reference: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Contact {
    pub name: Option<String>,
    pub email: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Assignee {
    /// `usr_…` or `agt_…`
    pub id: String,
    pub name: String,
    pub r#type: AssigneeType,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AssigneeType {
    User,
    Agent,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    pub id: ConversationId,
    pub subject: String,
    pub status: Status,
    pub contact: Contact,
    /// The inbox's address.
    pub mailbox: String,
    pub last_message_at: Timestamp,
    pub assignee: Option<Assignee>,
    /// By name, the first 500.
    pub tags: Vec<String>,
    pub topic: Option<String>,
    /// `low`, `normal` or `high`.
    pub urgency: Option<String>,
    pub risk: Option<String>,
    /// Up to three plain reasons for `risk`.
    #[schemars(length(max = 3))]
    pub risk_reasons: Vec<String>,
    pub snoozed_until: Option<Timestamp>,
    /// Oldest first. Of a long timeline the newest 500 items, or as many of them as have four million bytes of text.
    #[schemars(length(max = timeline::MOST.items))]
    pub timeline: Vec<TimelineItem>,
    /// There are items before these: give this as `before` to read them. Left out when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub earlier: Option<String>,
    /// The people and agents it can be assigned to.
    pub team: Team,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reference: Option<String>,
    /// The email the app sent, when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AppSent")]
    pub app_sent: Option<AppSent>,
    /// The conversation whose email this one answers. It is separate because its sender was not part of that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConversationId")]
    pub answers_in: Option<ConversationId>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppSent {
    pub message_id: String,
    /// Left out when a sending service reported the email without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reference: Option<String>,
    pub to: Vec<String>,
    pub subject: String,
    /// When it was sent, if a sending service reported that; otherwise when it was recorded.
    pub sent_at: Timestamp,
    /// Null when it is not known, cut after 8,000 characters.
    pub text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum TimelineItem {
    Message {
        id: MessageId,
        at: Timestamp,
        /// `inbound` or `outbound`
        direction: &'static str,
        from: MailSender,
        /// `draft`, `scheduled`, `sending`, `sent` or `failed`; null for mail that came in.
        status: Option<&'static str>,
        /// Plain text without quoted history, cut after 8,000 characters.
        #[schemars(length(max = 8000))]
        text: String,
        attachments: Vec<Attachment>,
        /// The addresses that a message of ours goes to, or went to; those in the header of mail that came in. Left out
        /// when they are not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Vec<String>")]
        to: Option<Vec<String>>,
        /// The same of copies.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Vec<String>")]
        cc: Option<Vec<String>>,
        /// Whether the sender's domain confirms that the mail is from it (DMARC). Left out for messages of ours.
        #[serde(rename = "senderConfirmed", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "bool")]
        sender_confirmed: Option<bool>,
        /// It was sent as a secure link, or written on a secure page. Its text then reads `Secure message` and names no
        /// files, unless an owner of the workspace allows agents to read secure words.
        secure: bool,
    },
    Note {
        id: NoteId,
        at: Timestamp,
        author: String,
        body: String,
    },
    /// Something that happened. New names may be added.
    Event {
        at: Timestamp,
        actor: String,
        event: String,
        data: Map<String, Value>,
    },
}

#[derive(Serialize, JsonSchema)]
pub struct MailSender {
    pub name: Option<String>,
    pub email: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub filename: String,
    pub content_type: String,
    /// Bytes.
    pub size: i64,
    /// The document that it is filed as in this conversation. Left out when it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DocumentId")]
    pub document_id: Option<DocumentId>,
}

#[derive(Serialize, JsonSchema)]
pub struct Team {
    pub people: Vec<TeamMember>,
    pub agents: Vec<TeamMember>,
}

#[derive(Serialize, JsonSchema)]
pub struct TeamMember {
    /// `user:usr_…` or `agent:agt_…`, as assigning takes it.
    pub id: String,
    pub name: String,
    /// Out of office now. Left out when they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Away")]
    pub away: Option<Away>,
}

#[derive(Serialize, JsonSchema)]
pub struct Away {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl From<list::ListedConversation> for ConversationSummary {
    fn from(summary: list::ListedConversation) -> Self {
        Self {
            id: summary.id,
            subject: summary.subject,
            snippet: summary.snippet,
            status: summary.status,
            contact: summary.contact.into(),
            mailbox: summary.mailbox_name,
            last_message_at: Timestamp(summary.last_message_at),
            message_count: summary.message_count,
            assignee: summary.assignee.map(Assignee::from),
            tags: summary.tags,
            topic: summary.topic,
            urgency: summary.urgency,
            risk: summary.risk,
            reference: summary.reference,
        }
    }
}

impl From<WholeConversation> for Conversation {
    fn from(whole: WholeConversation) -> Self {
        let conversation = whole.conversation;
        let to: Vec<String> = conversation.contact.email.iter().cloned().collect();
        Self {
            id: conversation.id,
            subject: conversation.subject,
            status: conversation.status,
            contact: conversation.contact.into(),
            mailbox: conversation.mailbox_address,
            last_message_at: Timestamp(conversation.last_message_at),
            assignee: conversation.assignee.map(Assignee::from),
            tags: conversation.tags,
            topic: conversation.topic,
            urgency: conversation.urgency,
            risk: conversation.risk,
            risk_reasons: conversation.risk_reasons,
            snoozed_until: conversation.snoozed_until.map(Timestamp),
            timeline: whole
                .timeline
                .items
                .into_iter()
                .map(|item| TimelineItem::from_timeline(item, &to))
                .collect(),
            earlier: whole.timeline.earlier.map(|earlier| earlier.to_string()),
            team: Team::from(whole.team),
            reference: conversation.reference,
            app_sent: whole.app_sent.map(AppSent::from),
            answers_in: conversation.answers_in,
        }
    }
}

impl From<read::AppSent> for AppSent {
    fn from(sent: read::AppSent) -> Self {
        Self {
            message_id: sent.message_id,
            reference: sent.reference,
            to: sent.recipients,
            subject: sent.subject,
            sent_at: Timestamp(sent.sent_at),
            text: sent.text,
        }
    }
}

impl From<conversation::Contact> for Contact {
    fn from(contact: conversation::Contact) -> Self {
        Self { name: contact.name, email: contact.email }
    }
}

impl From<conversation::Member> for Assignee {
    fn from(member: conversation::Member) -> Self {
        let (id, kind) = match member.id {
            MemberId::Person(id) => (id.to_string(), AssigneeType::User),
            MemberId::Agent(id) => (id.to_string(), AssigneeType::Agent),
        };
        Self { id, name: member.name, r#type: kind }
    }
}

impl From<Vec<conversation::Member>> for Team {
    fn from(members: Vec<conversation::Member>) -> Self {
        let (people, agents): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|member| matches!(member.id, MemberId::Person(_)));
        let named = |members: Vec<conversation::Member>| {
            members
                .into_iter()
                .map(|member| TeamMember {
                    id: member.id.to_string(),
                    away: member
                        .absence
                        .map(|away| Away { from: Timestamp(away.from), until: Timestamp(away.until) }),
                    name: member.name,
                })
                .collect()
        };
        Self { people: named(people), agents: named(agents) }
    }
}

/// Without the pictures of our own signature, which are no files of the message.
fn files(direction: Direction, attachments: Vec<timeline::Attachment>) -> Vec<Attachment> {
    let is_signature = |file: &timeline::Attachment| {
        direction == Direction::Outbound && file.content_id.as_deref().is_some_and(is_signature_picture)
    };
    attachments.into_iter().filter(|file| !is_signature(file)).map(Attachment::from).collect()
}

impl TimelineItem {
    /// What we send goes to the contact, unless somebody chose whom.
    fn from_timeline(item: timeline::TimelinePiece, to: &[String]) -> Self {
        match item {
            timeline::TimelinePiece::Message(message) => Self::Message {
                to: message.to.or_else(|| message.status.is_some().then(|| to.to_vec())),
                cc: message.cc.or_else(|| message.status.is_some().then(Vec::new)),
                sender_confirmed: message.sender_confirmed,
                secure: message.secure,
                id: message.id,
                at: Timestamp(message.at),
                direction: message.direction.as_str(),
                from: MailSender { name: message.from_name, email: message.from_email },
                status: message.status.map(MessageStatus::as_str),
                text: message.text,
                attachments: files(message.direction, message.attachments),
            },
            timeline::TimelinePiece::Note { id, at, author, body } => {
                Self::Note { id, at: Timestamp(at), author, body }
            }
            timeline::TimelinePiece::Event { at, actor, event, data } => {
                let data = match data {
                    Value::Object(data) => data,
                    _ => Map::new(),
                };
                Self::Event { at: Timestamp(at), actor, event, data }
            }
        }
    }
}

impl From<timeline::Attachment> for Attachment {
    fn from(attachment: timeline::Attachment) -> Self {
        Self {
            filename: attachment.filename,
            content_type: attachment.content_type,
            size: attachment.size,
            document_id: attachment.document,
        }
    }
}
