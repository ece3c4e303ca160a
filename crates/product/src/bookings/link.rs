//! The links of bookings: one that offers times to the customer of a conversation, and one with which a visitor looks after
//! what they booked. Both are made from the server's key, so nothing secret is stored, and neither opens the other's page.

pub mod token;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::bookings::link::token::{OfferMade, OfferToken};
use crate::bookings::read::{self, BookingRow};
use crate::bookings::schedule::{self, Bookable};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingId, BookingTypeId, ConversationId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::link_tokens;
use rookery_base::secrets::secret::SecretKey;
use rookery_core::conversations::conversation::Conversation;

/// What the long addresses of offers were made for.
const OFFER: &str = "book";
const MANAGE: &str = "booking";
/// Where short addresses lead.
pub const SHORT: &str = "/b/";
/// How long offered times can be taken.
const OFFER_LIVES: TimeDelta = TimeDelta::days(30);

pub const NO_TYPE: Error = Error::Missing("No such booking type.");

/// Who was offered times: booked by the link it belongs to the conversation, and to this address.
#[derive(Clone, Debug)]
pub struct Offer {
    pub conversation: ConversationId,
    pub email: String,
}

/// Makes the links to the times of a type, for whoever writes in a conversation.
pub struct OfferLinks<'a> {
    pub bookable: Bookable,
    /// In lower case.
    pub email: String,
    conversation: ConversationId,
    until: DateTime<Utc>,
    key: &'a SecretKey,
    origin: &'a str,
}

impl OfferLinks<'_> {
    /// The page of all times, or the one of a time.
    pub fn link(&self, at: Option<DateTime<Utc>>) -> String {
        let made = OfferMade {
            bookable: &self.bookable,
            conversation: self.conversation,
            email: &self.email,
            until: self.until,
            at,
        };
        format!("{}{SHORT}{}", self.origin, OfferToken::make(self.key, &made))
    }
}

/// The link fixes the conversation and the address, so no code is asked for: only send it to that address. Of the sandbox
/// there is none (D279).
pub async fn offer_links<'a>(
    app: &'a App,
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: BookingTypeId,
    conversation: &Conversation,
) -> Result<OfferLinks<'a>> {
    let bookable = schedule::of_type(conn, workspace, id).await?.filter(|bookable| bookable.is_active);
    let bookable = bookable.ok_or(NO_TYPE)?;
    if conversation.audience < 0 {
        return Err(Error::Conflict("Times are booked in live inboxes only, not in the sandbox.".to_owned()));
    }
    let Some(email) = &conversation.contact.email else {
        return Err(Error::Conflict("The contact of this conversation has no address any more.".to_owned()));
    };
    Ok(OfferLinks {
        bookable,
        email: email.to_lowercase(),
        conversation: conversation.id,
        until: app.clock.now() + OFFER_LIVES,
        key: app.config.needs_secret_key()?.newest(),
        origin: app.config.public_url.as_str().trim_end_matches('/'),
    })
}

/// The page of a type for whoever writes in a conversation.
pub async fn offer_link(
    app: &App,
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: BookingTypeId,
    conversation: &Conversation,
) -> Result<String> {
    Ok(offer_links(app, conn, workspace, id, conversation).await?.link(None))
}

/// What the address of a page says about an offer.
#[derive(Clone, Copy, Debug)]
pub enum OfferClaim<'a> {
    Short(OfferToken),
    /// As addresses were before. Those that were sent go on working.
    Long {
        conversation: &'a str,
        until: &'a str,
        token: &'a str,
    },
}

/// The offer behind a link, if it is ours, has not ended, and the conversation still has the contact it was made for.
pub async fn offered(
    conn: &mut PgConnection,
    keys: &KeyRing,
    bookable: &Bookable,
    claimed: OfferClaim<'_>,
    now: DateTime<Utc>,
) -> Result<Option<Offer>> {
    let conversation = match claimed {
        OfferClaim::Short(token) => Some(token.conversation),
        OfferClaim::Long { conversation, .. } => conversation.parse().ok(),
    };
    let Some(conversation) = conversation else { return Ok(None) };
    let row = sqlx::query!(
        r#"select c.id as "id: ConversationId", lower(c.contact_email) as email from conversations c
           where c.workspace_id = $1 and c.audience >= 0 and c.id = coalesce(
               (select into_id from merged_conversations where workspace_id = $1 and id = $2), $2)"#,
        bookable.workspace.0,
        conversation.0
    )
    .fetch_optional(conn)
    .await?;
    let Some((id, email)) = row.and_then(|row| Some((row.id, row.email?))) else { return Ok(None) };
    let is_good = match claimed {
        OfferClaim::Short(token) => token.is_good(keys, bookable, &email, now),
        OfferClaim::Long { until, token, .. } => until.parse::<i64>().is_ok_and(|until| {
            let of = format!("{}/{}/{conversation}/{until}/{email}", bookable.workspace, bookable.id);
            until > now.timestamp() && link_tokens::is_ours(keys, OFFER, &of, token)
        }),
    };
    Ok(is_good.then_some(Offer { conversation: id, email }))
}

/// The private page of a booking, which stays the same however often it is moved.
pub fn manage_link(app: &App, workspace: WorkspaceId, series: BookingId, generation: i32) -> Result<String> {
    let here = app.config.public_url.as_str().trim_end_matches('/').to_owned();
    let token = manage_token(app.config.needs_secret_key()?.newest(), workspace, series, generation);
    Ok(format!("{here}/booking/{workspace}/{series}/{token}"))
}

pub fn manage_token(key: &SecretKey, workspace: WorkspaceId, series: BookingId, generation: i32) -> String {
    link_tokens::token(key, MANAGE, &booking_is_of(workspace, series, generation))
}

/// What became of the booking behind a private link.
pub async fn managed(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    series: BookingId,
    token: &str,
) -> Result<Option<BookingRow>> {
    let row = read::newest(conn, workspace, series).await?;
    // What is not there takes as long as what was altered.
    let generation = row.as_ref().map_or(0, |row| row.generation);
    let is_ours = link_tokens::is_ours(keys, MANAGE, &booking_is_of(workspace, series, generation), token);
    Ok(row.filter(|_| is_ours))
}

fn booking_is_of(workspace: WorkspaceId, series: BookingId, generation: i32) -> String {
    format!("{workspace}/{series}/{generation}")
}
