//! The entries of a timeline as the page shows them: a message with all that stands with it, a note, a run of events, and
//! the line before what is new.

use askama::filters::Safe;
use chrono::{DateTime, Utc};

use crate::conversation::ask::AskCard;
use crate::conversation::explain::TimelineSentence;
use crate::conversation::files::Chip;
use crate::conversation::secure::SecureCard;
use crate::outgoing::clock::Clock;
use rookery_base::ids::{MessageId, NoteId};

pub enum TimelineEntry {
    Message(Box<Message>),
    Note {
        id: NoteId,
        at: DateTime<Utc>,
        who: String,
        text: Safe<String>,
    },
    /// One or more events in a row; `by` are those who made them, when there are several.
    Events {
        id: String,
        lines: Vec<EventLine>,
        by: String,
    },
    /// The line between what the person has seen and what is new.
    Since,
}

pub struct EventLine {
    pub at: DateTime<Utc>,
    pub told: TimelineSentence,
}

pub struct Message {
    pub id: MessageId,
    /// The CSS class for the kind of entry.
    pub kind: &'static str,
    /// The label beside the name, such as Sent, Sending or Draft.
    pub state: Option<(&'static str, &'static str)>,
    pub who: String,
    pub is_agent: bool,
    /// The sender's address, if `who` is a name. Of a message of ours only one that is not the inbox's own.
    pub email: Option<String>,
    /// Whether the sender's domain vouches for the mail; None if it does so for none.
    pub is_confirmed: Option<bool>,
    pub address: String,
    /// The same with every address: when pointed at, and in print.
    pub addresses: String,
    pub at: DateTime<Utc>,
    /// How it begins, for its line while it is folded.
    pub start: String,
    /// Whether it was read and something came after it. Its line unfolds it.
    pub is_folded: bool,
    pub summary: Option<String>,
    pub body: Body,
    /// The link to the other form of it, plain text or HTML, and the words of the link.
    pub other: Option<(String, &'static str)>,
    /// The link to the whole text, if `body` is only its beginning.
    pub whole: Option<String>,
    /// What it quotes of earlier mail.
    pub quoted: Option<Safe<String>>,
    pub files: Vec<Chip>,
    pub why: Vec<(&'static str, String)>,
    /// Whether the person who looks wrote and sent it.
    pub is_own: bool,
    /// The countdown until it leaves.
    pub clock: Option<Clock>,
    /// For a draft: when it was last edited, as forms carry it.
    pub version: String,
    /// The documents it asks for.
    pub ask: Option<AskCard>,
    pub secure: Option<SecureCard>,
    /// For a draft: whether the customer wrote or somebody answered after it was written.
    pub is_outdated: bool,
    /// Whether only a part of it is shown; then it cannot be approved here.
    pub is_cut: bool,
    pub failure: Option<String>,
    /// Whether it failed and was sent again.
    pub is_again: bool,
}

pub enum Body {
    Text(Safe<String>),
    /// As a person of the team formatted it.
    Formatted(Safe<String>),
    /// The address of the frame, and what the bar over it offers.
    Frame {
        source: String,
        images: RemoteImages,
        /// Whether its links lead anywhere.
        follow: bool,
        /// A class for its estimated height, if it is on the content origin, where the page cannot measure it.
        apart: Option<&'static str>,
    },
}

pub enum RemoteImages {
    None,
    /// A link that shows them.
    Off(String),
    On,
}

impl Message {
    /// What a screen reader calls it.
    pub fn label(&self) -> String {
        let what = match self.kind {
            "entry--in" => "Mail from",
            "entry--draft" => "Draft by",
            "entry--out entry--scheduled" => "Leaving soon, by",
            "entry--out entry--failed" => "Not delivered, by",
            _ => "Sent by",
        };
        format!("{what} {}", self.who)
    }

    pub fn is_draft(&self) -> bool {
        self.kind == "entry--draft"
    }

    /// Whether there is something below its text: what it quotes, or its other form.
    pub fn has_foot(&self) -> bool {
        self.quoted.is_some() || (matches!(self.body, Body::Text(_)) && self.other.is_some())
    }

    /// Whether nothing about it waits for anybody.
    pub fn is_over(&self) -> bool {
        matches!(self.kind, "entry--in" | "entry--out")
            && self.clock.is_none()
            && self.failure.is_none()
            && self.ask.is_none()
            && self.secure.is_none()
    }
}
