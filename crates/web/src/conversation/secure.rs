//! What the team sees of a secure message: its words, which are opened for them, that it is one, when it was read, until when
//! its link lives, and the button that takes the link back.

use std::collections::HashMap;

use axum::response::Response;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::bulk::asked_action::where_from;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::MessageId;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::messages::message::Direction;
use rookery_core::conversations::secure::page::{self, Way};
use rookery_core::conversations::secure::visits::{self, Seen, VisitEvent};
use rookery_core::conversations::secure::words::{self, ThreadReader};
use rookery_core::conversations::timeline::TimelinePiece;

/// What stands under a secure message. Of what the customer wrote, only that it is one.
pub struct SecureCard {
    pub page: Option<SecurePageState>,
}

pub struct SecurePageState {
    pub read_at: Option<DateTime<Utc>>,
    pub ends_at: DateTime<Utc>,
    /// Why its link opens nothing any more.
    pub over: Option<&'static str>,
    pub way: &'static str,
    /// Its mail has left, so there is something to take back.
    pub has_left: bool,
    pub visits: Vec<(DateTime<Utc>, &'static str)>,
}

/// Opens the secure messages of a timeline in their place, and gives what stands under each.
pub async fn cards(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    conversation: &Conversation,
    items: &mut [TimelinePiece],
) -> Result<HashMap<MessageId, SecureCard>> {
    if !items.iter().any(|item| matches!(item, TimelinePiece::Message(message) if message.secure)) {
        return Ok(HashMap::new());
    }
    let app = asked.visit.app();
    let workspace = asked.person.workspace;
    words::open_items(conn, app.config.secret_key.as_ref(), workspace, items, ThreadReader::Person).await?;
    let mut seen = visits::seen(conn, workspace, conversation.id).await?;
    let now = app.clock.now();
    let cards = items.iter().filter_map(|item| match item {
        TimelinePiece::Message(message) if message.secure => {
            let own = seen.remove(&message.id).filter(|_| message.direction == Direction::Outbound);
            Some((message.id, SecureCard { page: own.map(|own| SecurePageState::from_stored(own, now)) }))
        }
        _ => None,
    });
    Ok(cards.collect())
}

impl SecurePageState {
    fn from_stored(seen: Seen, now: DateTime<Utc>) -> Self {
        let over = match seen.revoked_at {
            Some(_) => Some("Its link was taken back."),
            None if seen.expires_at <= now => Some("Its link has ended."),
            None => None,
        };
        let told = |what| match what {
            VisitEvent::CodeSent => "a code was sent",
            VisitEvent::Wrong => "a wrong try",
            VisitEvent::Read => "read",
            VisitEvent::File => "a file was saved",
            VisitEvent::Replied => "answered",
            VisitEvent::Locked => "locked for 15 minutes",
            VisitEvent::Ended => "ended after too many wrong tries",
        };
        Self {
            read_at: seen.first_read_at,
            ends_at: seen.expires_at,
            over,
            way: match seen.way {
                Way::Code => "A code by mail opens it.",
                Way::Passphrase => "The agreed passphrase opens it.",
            },
            has_left: seen.has_left,
            visits: seen.visits.into_iter().map(|(at, what)| (at, told(what))).collect(),
        }
    }
}

/// `POST /messages/{id}/revoke`: takes the link of a secure message back.
pub async fn revoke(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let (revoked, conversation) = page::revoke(&mut tx, &asked.person, message).await?;
    tx.commit().await?;
    let done = if revoked { Done::LinkRevoked } else { Done::LinkOver };
    let back = where_from(&asked).unwrap_or_else(|| format!("/conversations/{conversation}"));
    Ok(respond::see_other_with(&back, Toast::new(done, message)))
}
