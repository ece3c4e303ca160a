//! Reads recorded events: one for a redelivery, or the sandbox's events after a cursor, for a developer who
//! follows them.

use chrono::TimeDelta;
use sqlx::PgConnection;

use crate::workspace::access::SANDBOX;
use rookery_base::error::Result;
use rookery_base::ids::{EventId, Id, WorkspaceId, lowest_at, made_at};

/// A transaction may commit after one that began up to this much later, so ids of this period are read again.
const OVERLAP: TimeDelta = TimeDelta::seconds(10);
const MOST: i64 = 100;

pub struct Recorded {
    pub kind: String,
    pub livemode: bool,
    pub audience: i64,
    pub body: String,
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: EventId) -> Result<Option<Recorded>> {
    Ok(sqlx::query_as!(
        Recorded,
        "select kind, livemode, audience, body from events where workspace_id = $1 and id = $2",
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?)
}

/// The cursor of a follower: where to read from, and the events from there on that it already has.
#[derive(Clone, Debug, PartialEq)]
pub struct EventCursor {
    from: i64,
    has: Vec<i64>,
}

impl EventCursor {
    /// A cursor for events from a moment on.
    pub fn at(moment: chrono::DateTime<chrono::Utc>) -> Self {
        Self { from: lowest_at(moment), has: Vec::new() }
    }

    fn after(self, seen: &[i64]) -> Self {
        let newest = seen.iter().copied().max().unwrap_or(self.from);
        let from = self.from.max(lowest_at(made_at(newest) - OVERLAP));
        let has = self.has.into_iter().chain(seen.iter().copied()).filter(|id| *id >= from).collect();
        Self { from, has }
    }
}

/// The sandbox's events after a cursor, and the next cursor.
pub async fn since(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    place: EventCursor,
) -> Result<(Vec<String>, EventCursor)> {
    let rows = sqlx::query!(
        "select id, body from events
         where workspace_id = $1 and id >= $2 and audience = $3 and id <> all($4)
         order by id limit $5",
        workspace.0,
        place.from,
        SANDBOX,
        &place.has,
        MOST
    )
    .fetch_all(conn)
    .await?;
    let seen: Vec<i64> = rows.iter().map(|row| row.id).collect();
    Ok((rows.into_iter().map(|row| row.body).collect(), place.after(&seen)))
}

impl std::fmt::Display for EventCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(EventId(self.from).to_string().trim_start_matches(EventId::PREFIX))?;
        self.has
            .iter()
            .try_for_each(|id| write!(f, ".{}", EventId(*id).to_string().trim_start_matches(EventId::PREFIX)))
    }
}

impl std::str::FromStr for EventCursor {
    type Err = rookery_base::ids::NotAnId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| format!("{}{part}", EventId::PREFIX).parse::<EventId>().map(|id| id.0);
        let mut parts = text.split('.');
        let from = number(parts.next().unwrap_or_default())?;
        Ok(Self { from, has: parts.map(number).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn a_cursor_reads_back_from_its_text() {
        let place = EventCursor { from: 7, has: vec![8, i64::MAX] };
        assert_eq!(place.to_string().parse::<EventCursor>().unwrap(), place);
        assert!("".parse::<EventCursor>().is_err());
        assert!("evt_0000000000001".parse::<EventCursor>().is_err());
    }

    #[test]
    fn a_cursor_lists_only_events_that_may_still_be_overtaken() {
        let start = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let id = |seconds| lowest_at(start + TimeDelta::seconds(seconds)) + 1;
        let place = EventCursor::at(start).after(&[id(1), id(5)]);
        assert_eq!(place, EventCursor { from: lowest_at(start), has: vec![id(1), id(5)] });
        let place = place.after(&[id(14)]);
        assert_eq!(place.has, [id(5), id(14)]);
        assert_eq!(place.from, lowest_at(start + TimeDelta::seconds(4)));
        assert_eq!(place.clone().after(&[]), place);
    }
}
