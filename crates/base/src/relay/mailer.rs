//! The interface to whatever carries mail (a relay, the sandbox). After a crash the same mail may be handed over
//! again, with the same Message-ID and the same bytes.

use futures::future::BoxFuture;
use url::Host;

use crate::error::Result;
use crate::ids::{ConversationId, MessageId, WorkspaceId};

/// A mail that is ready to leave.
#[derive(Clone, Debug)]
pub struct OutgoingLetter {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
    pub message: MessageId,
    /// The Message-ID without its brackets, fixed when the message was written.
    pub rfc_message_id: String,
    pub from_name: Option<String>,
    pub from: String,
    pub to: String,
    pub copies: Copies,
    pub subject: String,
    pub text: String,
}

/// Recipients beside the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    pub to: Vec<String>,
    pub cc: Vec<String>,
    /// In the envelope only: no header and no answer names them.
    pub bcc: Vec<String>,
}

impl Copies {
    /// Everybody who gets one.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }
}

/// A letter in its final form, and the addresses of its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalMail {
    /// The envelope sender, where bounces go.
    pub return_path: String,
    pub to: String,
    pub copies_to: Vec<String>,
    pub raw: Vec<u8>,
}

/// The result of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The carrier has accepted the mail.
    Accepted,
    /// Permanently refused.
    Refused(Refusal),
    /// Temporarily refused; a retry may succeed.
    Later,
}

crate::text_enum! {
    /// Why a mail failed permanently, as shown on the timeline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refusal {
        Bounce = "bounce",
        Rejected = "rejected",
        /// Rejected because the address does not exist; it will be suppressed.
        NoSuchAddress = "rejected",
        Suppressed = "suppressed",
        GaveUp = "gave-up",
        /// The link of a secure message, before its mail had left.
        TakenBack = "taken-back",
        /// The inbox's domain is not proven to be the workspace's.
        Unproven = "unproven-domain",
    }
}

pub trait Mailer: Send + Sync {
    /// Hands over a letter, rendered as `mail`. The future may be dropped at any time; then it is unknown whether
    /// the mail has left.
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        mail: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>>;
}

/// Used when no relay is configured: live mail is retried until it is given up.
pub struct NoRelay;

impl Mailer for NoRelay {
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        _: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>> {
        tracing::warn!(workspace = %letter.workspace, message_id = %letter.message,
            "there is no relay, so live mail waits: set ROOKERY_RELAY");
        Box::pin(async { Ok(Handover::Later) })
    }
}

/// An address with its domain in ASCII form.
pub fn on_the_wire(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else { return address.to_owned() };
    match Host::parse(domain) {
        Ok(host) if !domain.is_ascii() => format!("{local}@{host}"),
        _ => address.to_owned(),
    }
}
