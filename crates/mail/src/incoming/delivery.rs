//! Mail to be delivered into one inbox, and the result. A `Delivery` is made for every mail, whether it comes by
//! SMTP or LMTP, from an import or from the sandbox.

use bytes::Bytes;

use crate::incoming::authenticate::{AuthenticationVerdict, Dmarc};
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Frame;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::mailboxes::Mailbox;
use rookery_reading::mail::parse::{ParsedMail, Refusal};

/// Mail for one inbox.
pub struct Delivery {
    pub mailbox: Mailbox,
    pub raw: Bytes,
    /// Trace header lines of our own. They are stored in front of the mail.
    pub trace: Bytes,
    /// The envelope recipient, when there is one.
    pub recipient: Option<String>,
    /// The conversation that a sandbox caller chose; other mail is threaded by its headers.
    pub joins: Option<ConversationId>,
    pub verdict: AuthenticationVerdict,
    /// An agent simulates it, which is refused when agents are stopped.
    pub asked: Option<Asking>,
    /// It has just been written, so the inbox may answer it by itself. What is imported is old.
    pub may_be_answered: bool,
}

impl Delivery {
    /// Mail that did not arrive over the network: imported or simulated.
    pub fn from_raw(mailbox: Mailbox, raw: Vec<u8>, dmarc: Dmarc) -> Self {
        let verdict = AuthenticationVerdict::unchecked(dmarc);
        Self {
            mailbox,
            raw: raw.into(),
            trace: Bytes::new(),
            recipient: None,
            joins: None,
            verdict,
            asked: None,
            may_be_answered: false,
        }
    }
}

/// A parsed mail and the inbox it is for: what the stages of `receive` begin with.
#[derive(Clone, Copy)]
pub struct Incoming<'m> {
    pub delivery: &'m Delivery,
    pub mail: &'m ParsedMail,
}

/// The request of an agent that simulates mail.
pub struct Asking {
    /// Of the request: whether it is done once however often it is asked for, and what is written down with it.
    pub frame: Frame,
    /// The status and the body it is answered with.
    pub answer: fn(Stored) -> Result<(u16, String)>,
}

impl Asking {
    /// Says what is answered, before the mail is stored for good.
    pub fn answered(&self, stored: Stored) -> Result<()> {
        if let Some(keyed) = self.frame.keyed() {
            let (status, body) = (self.answer)(stored)?;
            keyed.answer(status, &body);
        }
        Ok(())
    }
}

#[derive(Debug)]
pub enum Received {
    Stored(Stored),
    /// The inbox already has this mail.
    Duplicate(Stored),
    Refused(Refusal),
}
