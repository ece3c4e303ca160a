//! Handing a mail over to whatever carries it. A carrier may be handed the same mail again after a crash: the
//! Message-ID is then the same, and so is every byte.

use futures::future::BoxFuture;
use url::Host;

use crate::error::Result;
use crate::ids::{ConversationId, MessageId, WorkspaceId};

/// A mail that is ready to leave.
#[derive(Clone, Debug)]
pub struct Letter {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
    pub message: MessageId,
    /// The Message-ID without its brackets, fixed when the message was written.
    pub rfc_message_id: String,
    pub from_name: Option<String>,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub text: String,
}

/// A letter in its final form, and the addresses of its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Where a bounce goes.
    pub return_path: String,
    pub to: String,
    pub raw: Vec<u8>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// It has left: the carrier has taken it on.
    Accepted,
    /// It never will.
    Refused(Refusal),
    /// Not now; a later try may succeed.
    Later,
}

/// Why a mail failed for good, as the timeline says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Bounce,
    Rejected,
    /// Rejected because nobody has that address: it is not written to again.
    NoSuchAddress,
    Suppressed,
    GaveUp,
}

impl Refusal {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bounce => "bounce",
            Self::Rejected | Self::NoSuchAddress => "rejected",
            Self::Suppressed => "suppressed",
            Self::GaveUp => "gave-up",
        }
    }
}

pub trait Mailer: Send + Sync {
    /// Takes on a letter as it is written in `mail`. May be dropped at any moment; then nobody knows whether
    /// the mail has left.
    fn hand_over<'a>(&'a self, letter: &'a Letter, mail: &'a Mail) -> BoxFuture<'a, Result<Handover>>;
}

/// Live mail of a service that was given no relay waits for one, as long as tries go on.
pub struct NoRelay;

impl Mailer for NoRelay {
    fn hand_over<'a>(&'a self, letter: &'a Letter, _: &'a Mail) -> BoxFuture<'a, Result<Handover>> {
        tracing::warn!(workspace = %letter.workspace, message = %letter.message,
            "there is no relay, so live mail waits: set ROOKERY_RELAY");
        Box::pin(async { Ok(Handover::Later) })
    }
}

/// An address with its domain as DNS has it.
pub fn on_the_wire(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else { return address.to_owned() };
    match Host::parse(domain) {
        Ok(host) if !domain.is_ascii() => format!("{local}@{host}"),
        _ => address.to_owned(),
    }
}
