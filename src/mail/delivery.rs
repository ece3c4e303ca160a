//! Mail on its way into one inbox, and what became of it.
//! Whoever brings mail in makes one of these, whether a server, an import or the sandbox.

use bytes::Bytes;

use crate::conversations::inbound::Stored;
use crate::ids::ConversationId;
use crate::mail::authenticate::{Dmarc, Verdict};
use crate::mail::parse::Refusal;
use crate::workspace::mailboxes::Mailbox;

/// Mail for one inbox.
pub struct Delivery {
    pub mailbox: Mailbox,
    pub raw: Bytes,
    /// Header lines of our own: how the mail came here. They are kept in front of it.
    pub trace: Bytes,
    /// The address it was handed over for, when that is known apart from the header.
    pub recipient: Option<String>,
    /// A conversation the sandbox's caller chose; other mail is placed by what it answers.
    pub joins: Option<ConversationId>,
    pub verdict: Verdict,
}

impl Delivery {
    /// Mail that did not come from outside.
    pub fn of(mailbox: Mailbox, raw: Vec<u8>, dmarc: Dmarc) -> Self {
        let verdict = Verdict::unchecked(dmarc);
        Self { mailbox, raw: raw.into(), trace: Bytes::new(), recipient: None, joins: None, verdict }
    }
}

#[derive(Debug)]
pub enum Outcome {
    Stored(Stored),
    /// The inbox has this very mail already.
    Duplicate(Stored),
    Refused(Refusal),
}
