//! The address of a document's file that needs no key: a ticket, signed, for one document and the key that asked for it, good
//! for a quarter of an hour. Whoever has it sees what that key sees at that moment, and nothing else: a key that was revoked,
//! a document that was erased or went to another inbox end it.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::documents::library::{self, DocumentFile};
use rookery_base::app::App;
use rookery_base::error::{NO_ENDPOINT, Result};
use rookery_base::ids::{AgentId, DocumentId, WorkspaceId};
use rookery_base::secrets::link_tokens;
use rookery_core::workspace::keys::{self, Agent};

/// Where files are given to whoever has a ticket.
pub const PATH: &str = "/files";
const PURPOSE: &str = "document file";
const LIVES: TimeDelta = TimeDelta::minutes(15);

pub struct Address {
    pub url: String,
    pub ends_at: DateTime<Utc>,
}

/// For a key that can see the document.
pub fn address(app: &App, agent: &Agent, document: DocumentId) -> Result<Address> {
    let ends_at = app.clock.now() + LIVES;
    let ticket =
        Ticket { document, workspace: agent.workspace, agent: agent.id, until: ends_at.timestamp_millis() };
    let said = ticket.said();
    let token = link_tokens::token(app.config.needs_secret_key()?.newest(), PURPOSE, &said);
    let here = app.config.public_url.as_str().trim_end_matches('/');
    Ok(Address { url: format!("{here}{PATH}/{said}.{token}"), ends_at })
}

/// What an address names.
pub struct Ticket {
    document: DocumentId,
    /// In plain sight, so that the request finds its cell.
    pub workspace: WorkspaceId,
    pub agent: AgentId,
    until: i64,
}

impl Ticket {
    fn said(&self) -> String {
        let Self { document, workspace, agent, until } = self;
        format!("{document}.{workspace}.{agent}.{until}")
    }

    /// One of ours that has not ended. Nothing is asked of the database for it.
    pub fn read(app: &App, text: &str) -> Option<Self> {
        let (said, token) = text.rsplit_once('.')?;
        if !link_tokens::is_ours(app.config.secret_key.as_ref()?, PURPOSE, said, token) {
            return None;
        }
        let mut parts = said.split('.');
        let ticket = Self {
            document: parts.next()?.parse().ok()?,
            workspace: parts.next()?.parse().ok()?,
            agent: parts.next()?.parse().ok()?,
            until: parts.next()?.parse().ok()?,
        };
        (ticket.until > app.clock.now().timestamp_millis()).then_some(ticket)
    }

    /// The file, if the key that asked is good and sees it now. Hidden, gone and ended are the same error.
    pub async fn open(&self, conn: &mut PgConnection) -> Result<DocumentFile> {
        let agent = keys::at_work(conn, self.workspace, self.agent).await?.ok_or(NO_ENDPOINT)?;
        agent.may_work().map_err(|_| NO_ENDPOINT)?;
        library::find_visible(conn, &agent, self.document).await
    }
}
