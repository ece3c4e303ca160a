//! One line of the log for every mail that comes to the door, for each of its recipients: where it came from, what was found
//! out about its sender, what was answered, and where it is kept. No word of the mail is in it.

use std::time::Duration;

use super::door::Door;
use super::origin::MailOrigin;
use super::recipients::{Envelope, EnvelopeRecipient, Home};
use crate::incoming::authenticate::AuthenticationVerdict;
use rookery_base::figures::{logged_address::LoggedAddress, verdict};
use rookery_core::conversations::messages::inbound::Stored;

/// A whole mail, as far as it is known.
pub(super) struct SeenMail<'a> {
    pub origin: &'a MailOrigin,
    pub envelope: &'a Envelope,
    /// Also in the answer and in the mail's trace.
    pub id: String,
    pub bytes: usize,
    /// What the sender's domain says of it, once that was asked.
    pub checked: Option<AuthenticationVerdict>,
}

/// What became of it at one recipient.
pub(super) struct RecipientOutcome {
    pub answer: String,
    /// Where it is kept in a workspace of this node.
    pub stored: Option<Stored>,
}

impl RecipientOutcome {
    pub fn nowhere(answer: String) -> Self {
        Self { answer, stored: None }
    }
}

impl Door {
    pub(super) fn log_filed(
        &self,
        seen: &SeenMail<'_>,
        recipient: &EnvelopeRecipient,
        filed: &RecipientOutcome,
        took: Duration,
    ) {
        let SeenMail { origin, envelope, .. } = seen;
        let (workspace, inbox) = match &recipient.home {
            Home::Here { workspace, mailbox, .. } => (Some(*workspace), Some(mailbox.id)),
            Home::Elsewhere(_) | Home::Nowhere | Home::Unproven => (None, None),
        };
        let checked = seen.checked.as_ref();
        tracing::info!(
            mail = seen.id,
            protocol = self.protocol.as_str(),
            client = %origin.address.unwrap_or(origin.peer),
            from = %self.logged(&envelope.from),
            to = %self.logged(&recipient.address),
            bytes = seen.bytes,
            spf = checked.map(|checked| checked.spf.as_str()),
            dkim = checked.map(|checked| checked.dkim.as_str()),
            dmarc = checked.map(|checked| checked.dmarc.as_str()),
            verdict = verdict(&filed.answer),
            answer = filed.answer,
            workspace = workspace.map(|workspace| workspace.to_string()),
            inbox = inbox.map(|inbox| inbox.to_string()),
            conversation = filed.stored.map(|stored| stored.conversation.to_string()),
            message_id = filed.stored.map(|stored| stored.message.to_string()),
            milliseconds = took.as_millis() as u64,
            "mail in"
        );
    }

    /// Refused before there was a whole mail: the sender, a recipient, or what came of the mail.
    pub(super) fn log_refused(&self, origin: &MailOrigin, from: &str, to: Option<&str>, answer: &str) {
        tracing::info!(
            protocol = self.protocol.as_str(),
            client = %origin.address.unwrap_or(origin.peer),
            from = %self.logged(from),
            to = to.map(|to| self.logged(to).to_string()),
            verdict = verdict(answer),
            answer,
            "mail in"
        );
    }

    fn logged<'a>(&self, address: &'a str) -> LoggedAddress<'a> {
        LoggedAddress { address, whole: self.app.config.log_addresses }
    }
}
