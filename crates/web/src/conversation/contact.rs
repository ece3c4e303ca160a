//! Who writes, and what came before: the panel beside a conversation. Earlier conversations and documents are those that the
//! person can see, in any inbox.

use askama::Template;
use sqlx::PgConnection;
use url::form_urlencoded;

use crate::library::list;
use crate::show::{Times, filters};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::earlier::{self, Earlier, Past};
use rookery_product::bookings::read::{BookingRow, BookingState, of_conversation};
use rookery_product::documents::library::{self, LibraryDocument};

const SHOWN: usize = 5;

#[derive(Template)]
#[template(path = "conversation/_contact.html")]
pub struct ContactPanel {
    pub name: String,
    pub email: Option<String>,
    pub reference: Option<String>,
    pub earlier: Vec<Past>,
    pub earlier_count: String,
    pub documents: Vec<LibraryDocument>,
    /// Booked out of this conversation, also what was cancelled.
    pub bookings: Vec<BookingRow>,
    pub times: Times,
}

impl ContactPanel {
    pub async fn load(
        conn: &mut PgConnection,
        asked: &MemberRequest,
        conversation: &Conversation,
    ) -> Result<Self> {
        let Earlier { newest, all } =
            earlier::with_contact(conn, &asked.person, conversation, SHOWN as i64).await?;
        let conversations: Vec<_> = all.iter().copied().chain([conversation.id]).collect();
        let documents = library::of_conversations(conn, &asked.person, &conversations, SHOWN as i64).await?;
        let bookings = of_conversation(conn, asked.person.workspace, conversation.id).await?;
        let earlier_count = match all.len() as i64 {
            earlier::MOST => format!("{}+", earlier::MOST),
            n => n.to_string(),
        };
        let contact = &conversation.contact;
        let name = contact.name.clone().or(contact.email.clone()).unwrap_or_else(|| "Nobody".to_owned());
        Ok(Self {
            name,
            email: contact.email.clone(),
            reference: conversation.reference.clone(),
            earlier: newest,
            earlier_count,
            documents,
            bookings,
            times: asked.times(),
        })
    }

    /// A new message to this address.
    fn compose(&self, email: &str) -> String {
        format!(
            "/compose?{}",
            form_urlencoded::Serializer::new(String::new()).append_pair("to", email).finish()
        )
    }

    /// What became of a booking.
    fn state(&self, booking: &BookingRow) -> String {
        let with = format!("{} with {}", booking.type_name, booking.host_name);
        match booking.state {
            BookingState::Booked if booking.ends_at <= self.times.now => format!("{with} · over"),
            BookingState::Booked => match booking.rsvp.as_deref() {
                Some("accepted") => format!("{with} · accepted"),
                Some(_) => format!("{with} · maybe"),
                None => with,
            },
            BookingState::Moved | BookingState::Cancelled => format!("{with} · cancelled"),
        }
    }

    fn gist(&self, document: &LibraryDocument) -> String {
        list::gist(document)
    }

    /// Where all of them are listed.
    pub fn all(&self) -> String {
        let email = self.email.as_deref().unwrap_or_default();
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("q", email).finish();
        format!("/search?{query}")
    }
}
