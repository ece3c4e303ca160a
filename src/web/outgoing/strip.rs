//! The strip on every page, for as long as something is leaving: what leaves next, with its clock and a way to stop it.
//! It counts down in the server's time.

use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{ConversationId, MessageId};
use crate::replies::leaving::{self, MOST};
use crate::web::outgoing::clock::Clock;
use crate::web::visit::Asked;

pub struct Strip {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub who: String,
    pub clock: Clock,
    /// How many leave soon beside it.
    pub more: i64,
}

impl Strip {
    pub async fn load(conn: &mut PgConnection, asked: &Asked) -> Result<Option<Self>> {
        let app = asked.app();
        let until = app.clock.now() + app.config.undo_window(true);
        let next = leaving::next(conn, &asked.person, until).await?;
        Ok(next.map(|next| Self {
            message: next.message,
            conversation: next.conversation,
            clock: Clock::new(asked, next.sends_at),
            who: next.to.or(next.contact.name).or(next.contact.email).unwrap_or_default(),
            more: next.soon - 1,
        }))
    }

    /// `2`, `98+`
    pub fn others(&self) -> String {
        if self.more >= MOST - 1 { format!("{}+", MOST - 2) } else { self.more.to_string() }
    }
}
