//! Bookings as they are read: one, those to come, those of a conversation. One that belongs to a conversation is seen by
//! those who see the conversation, any other by the whole team.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::bookings::questions::BookingAnswer;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingId, BookingTypeId, ConversationId, PersonId, WorkspaceId};
use rookery_base::zone::Zone;

pub const NO_BOOKING: Error = Error::Missing("No such booking.");

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum BookingState {
    Booked,
    Moved,
    Cancelled,
}

#[derive(Clone, Debug)]
pub struct BookingRow {
    pub id: BookingId,
    pub type_id: BookingTypeId,
    pub type_name: String,
    pub type_slug: String,
    pub place: String,
    pub host: PersonId,
    pub host_name: String,
    pub host_email: String,
    pub host_zone: String,
    pub conversation: Option<ConversationId>,
    /// The first of those that it was moved from: what calendars know it by.
    pub series: BookingId,
    pub sequence: i32,
    pub starts_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
    pub state: BookingState,
    pub ended_at: Option<DateTime<Utc>>,
    pub ended_by: Option<String>,
    pub reason: Option<String>,
    /// A cancellation was taken back.
    pub is_back: bool,
    /// Null after an erasure, as all that the visitor wrote.
    pub name: Option<String>,
    pub email: Option<String>,
    pub note: Option<String>,
    pub answers: Option<Json<Vec<BookingAnswer>>>,
    /// The visitor's.
    pub time_zone: Option<String>,
    pub rsvp: Option<String>,
    pub generation: i32,
    pub created_at: DateTime<Utc>,
}

impl BookingRow {
    /// `Monday, 16 November 2026, 10:30 to 11:00 (Europe/Berlin)`
    pub fn when(&self, zone: &Zone) -> String {
        let (starts, ends) = (zone.shows(self.starts_at), zone.shows(self.ends_at));
        let mut name = zone.name().to_owned();
        if zone.comes_twice(self.starts_at) {
            let minutes = zone.ahead(self.starts_at).num_minutes();
            name = format!(
                "{name}, UTC{}{:02}:{:02}",
                if minutes < 0 { '-' } else { '+' },
                minutes.abs() / 60,
                minutes.abs() % 60
            );
        }
        format!("{} to {} ({name})", starts.format("%A, %-d %B %Y, %H:%M"), ends.format("%H:%M"))
    }
}

macro_rules! bookings {
    ($where:literal, $($value:expr),*) => {
        sqlx::query_as!(
            BookingRow,
            r#"select b.id as "id: BookingId", b.type_id as "type_id: BookingTypeId", t.name as type_name,
                   t.slug as type_slug, t.place, b.host_id as "host: PersonId", p.name as host_name,
                   p.email as host_email, h.time_zone as host_zone,
                   b.conversation_id as "conversation: ConversationId", b.series_id as "series: BookingId",
                   b.sequence, b.starts_at, b.ends_at, b.state as "state: BookingState", b.ended_at, b.ended_by,
                   b.reason, b.is_back, b.name, b.email, b.note, b.answers as "answers: Json<Vec<BookingAnswer>>", b.time_zone,
                   b.rsvp, b.link_generation as generation, b.created_at
               from bookings b
               join booking_types t on t.workspace_id = b.workspace_id and t.id = b.type_id
               join people p on p.workspace_id = b.workspace_id and p.id = b.host_id
               join booking_hosts h on h.workspace_id = b.workspace_id and h.person_id = b.host_id
               where b.workspace_id = $1 and "# + $where,
            $($value),*
        )
    };
}

pub async fn find(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: BookingId,
) -> Result<Option<BookingRow>> {
    Ok(bookings!("b.id = $2", workspace.0, id.0).fetch_optional(conn).await?)
}

/// What became of a booking, however often it was moved.
pub async fn newest(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    series: BookingId,
) -> Result<Option<BookingRow>> {
    Ok(bookings!("b.series_id = $2 order by b.sequence desc limit 1", workspace.0, series.0)
        .fetch_optional(conn)
        .await?)
}

/// Where a list goes on: after a booking that begins then.
#[derive(Clone, Copy, Debug)]
pub struct After {
    pub starts_at: DateTime<Utc>,
    pub id: BookingId,
}

/// Who reads a list: somebody with these audiences. A person also reads what they host themselves.
pub struct BookingReader<'a> {
    pub audiences: &'a [i64],
    pub person: Option<PersonId>,
}

/// Those that are not over, soonest first: of one host or of all, as far as the reader sees them.
pub async fn upcoming(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
    host: Option<PersonId>,
    reader: BookingReader<'_>,
    after: Option<After>,
    most: i64,
) -> Result<Vec<BookingRow>> {
    Ok(bookings!(
        "b.state = 'booked' and b.starts_at > $2 and b.ends_at > $3 and ($4::bigint is null or b.host_id = $4)
             and ($5::timestamptz is null or (b.starts_at, b.id) > ($5, $6))
             and (b.conversation_id is null or b.host_id = $9 or exists (select from conversations c
                  where c.workspace_id = b.workspace_id and c.id = b.conversation_id and c.audience = any($7)))
         order by b.starts_at, b.id limit $8",
        workspace.0,
        now - chrono::TimeDelta::days(1),
        now,
        host.map(|host| host.0),
        after.map(|after| after.starts_at),
        after.map_or(0, |after| after.id.0),
        reader.audiences,
        most,
        reader.person.map(|person| person.0)
    )
    .fetch_all(conn)
    .await?)
}

/// The newest of each that belong to a conversation, soonest first.
pub async fn of_conversation(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<Vec<BookingRow>> {
    Ok(bookings!(
        "b.conversation_id = $2 and b.state <> 'moved' order by b.starts_at, b.id limit 100",
        workspace.0,
        conversation.0
    )
    .fetch_all(conn)
    .await?)
}

/// When the next one of a type begins that was booked out of a conversation.
pub async fn next_of_type(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    type_id: BookingTypeId,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "select starts_at from bookings
         where workspace_id = $1 and conversation_id = $2 and type_id = $3 and state = 'booked' and starts_at > $4
         order by starts_at limit 1",
        workspace.0,
        conversation.0,
        type_id.0,
        now
    )
    .fetch_optional(conn)
    .await?)
}

/// The zone in which whoever has this address booked last.
pub async fn zone_of_address(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    email: &str,
) -> Result<Option<Zone>> {
    let name = sqlx::query_scalar!(
        r#"select time_zone as "time_zone!" from bookings
           where workspace_id = $1 and email = $2 and time_zone is not null order by created_at desc, id desc limit 1"#,
        workspace.0,
        email
    )
    .fetch_optional(conn)
    .await?;
    Ok(name.and_then(|name| Zone::known(&name)))
}

/// Leaves out the conversations that nobody with these audiences sees: a host has bookings from colleagues' private ones.
pub async fn hide_conversations(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    audiences: &[i64],
    bookings: &mut [BookingRow],
) -> Result<()> {
    let ids: Vec<i64> = bookings.iter().filter_map(|own| own.conversation.map(|id| id.0)).collect();
    let seen = sqlx::query_scalar!(
        "select id from conversations where workspace_id = $1 and id = any($2) and audience = any($3)",
        workspace.0,
        &ids,
        audiences
    )
    .fetch_all(conn)
    .await?;
    for own in bookings {
        own.conversation = own.conversation.filter(|id| seen.contains(&id.0));
    }
    Ok(())
}
