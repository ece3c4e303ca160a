//! Leaves one line in the log for every mail that is handed over, with its ids and what came of it: accepted, refused or later;
//! and one for every mail that is refused before. Why a relay did not take one stands in a line of the relay's own.

use std::time::Instant;

use futures::future::BoxFuture;

use crate::error::Result;
use crate::figures::logged_address::LoggedAddress;
use crate::ids::{ConversationId, MessageId, WorkspaceId};
use crate::relay::mailer::{FinalMail, Handover, Mailer, OutgoingLetter, Refusal};

/// Carries everything as the mailer in it does.
pub struct LogsMail<M> {
    pub mailer: M,
    /// Lines have whole addresses, not only their domains.
    pub whole_addresses: bool,
}

impl<M: Mailer> Mailer for LogsMail<M> {
    fn hand_over<'a>(
        &'a self,
        letter: &'a OutgoingLetter,
        mail: &'a FinalMail,
    ) -> BoxFuture<'a, Result<Handover>> {
        Box::pin(async move {
            let started = Instant::now();
            let handed_over = self.mailer.hand_over(letter, mail).await;
            let verdict = match &handed_over {
                Ok(Handover::Accepted) => "accepted",
                Ok(Handover::Refused(refusal)) => refusal.as_str(),
                Ok(Handover::Later) => "later",
                Err(_) => "error",
            };
            let shown = |address| LoggedAddress { address, whole: self.whole_addresses };
            tracing::info!(
                workspace = %letter.workspace,
                // Mail of the service itself belongs to none.
                conversation = (letter.conversation.0 != 0).then(|| letter.conversation.to_string()),
                message_id = %letter.message,
                rfc_message_id = letter.rfc_message_id,
                from = %shown(&letter.from),
                to = %shown(&mail.to),
                recipients = 1 + mail.copies_to.len(),
                bytes = mail.raw.len(),
                verdict,
                milliseconds = started.elapsed().as_millis() as u64,
                "mail out"
            );
            handed_over
        })
    }
}

/// A mail that no relay was given.
pub struct Withheld<'a> {
    pub workspace: WorkspaceId,
    /// Mail about a booking belongs to none.
    pub conversation: Option<ConversationId>,
    pub message: MessageId,
    pub from: &'a str,
    pub to: &'a str,
    pub refusal: Refusal,
}

impl Withheld<'_> {
    pub fn log(&self, whole: bool) {
        tracing::info!(
            workspace = %self.workspace,
            conversation = self.conversation.map(|conversation| conversation.to_string()),
            message_id = %self.message,
            from = %LoggedAddress { address: self.from, whole },
            to = %LoggedAddress { address: self.to, whole },
            verdict = self.refusal.as_str(),
            "mail out"
        );
    }
}
