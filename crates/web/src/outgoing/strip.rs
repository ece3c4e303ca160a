//! The strip on every page, for as long as something is leaving: what leaves next, with its clock, a way to read it and a way to
//! stop it.
//! It counts down in the server's time.

use sqlx::PgConnection;

use crate::outgoing::clock::Clock;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_mail::outgoing::whole_mail::{self, WholeMail};
use rookery_product::replies::leaving::{self, MOST};

pub struct Strip {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub who: String,
    pub clock: Clock,
    /// Whether the person who sees it wrote and sent it, and so can send it now.
    pub is_own: bool,
    /// How many other messages leave soon.
    pub more: i64,
    /// The mail that leaves.
    pub mail: WholeMail,
}

/// Most characters of a mail in the strip, which is on every page. If the mail is longer, the strip links to the rest.
const SHOWN: usize = 4_000;

impl Strip {
    pub async fn load(conn: &mut PgConnection, asked: &MemberRequest) -> Result<Option<Self>> {
        let app = asked.app();
        let until = app.clock.now() + app.config.undo_window(true);
        let next = leaving::next(conn, &asked.person, until).await?;
        let Some(next) = next else { return Ok(None) };
        let mail = whole_mail::of_message(conn, asked.person.workspace, next.message).await?;
        Ok(Some(Self {
            mail,
            message: next.message,
            conversation: next.conversation,
            clock: Clock::new(asked, next.at, next.sends_at),
            is_own: next.is_own,
            who: next.to.or(next.contact.name).or(next.contact.email).unwrap_or_default(),
            more: next.soon - 1,
        }))
    }

    /// The beginning of its text.
    pub fn words(&self) -> &str {
        let plain = &self.mail.wording.written;
        plain.char_indices().nth(SHOWN).map_or(plain.as_str(), |(end, _)| &plain[..end])
    }

    /// How many characters of it are not shown in the strip.
    pub fn hidden(&self) -> usize {
        self.mail.wording.written.chars().count().saturating_sub(SHOWN)
    }

    /// `2`, `98+`
    pub fn others(&self) -> String {
        if self.more >= MOST - 1 { format!("{}+", MOST - 2) } else { self.more.to_string() }
    }
}
