//! The delivery log (specification 6.1): the last 30 days of a webhook, newest first, with every try. What still
//! waits is part of it.
//!
//! What waits stands where its event happened, what has ended where it ended. Both are numbers in time order, so a page
//! begins below a number.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;

use crate::redeliver::LOG;
use crate::webhook::find_open;
use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_base::ids::{DeliveryId, EventId, NotAnId, WebhookId, WorkspaceId, lowest_at, made_at};
use rookery_base::store::db::{Handle, Snapshot};
use rookery_core::events::event::Kind;
use rookery_core::workspace::access::By;

const MOST: i64 = 100;
/// Of what waits, so many of the newest are looked at.
const MOST_WAITING: i64 = 10_000;
const STATES: &[&str] = &["delivered", "failed", "skipped"];

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Status {
        /// Tried in vain, whether or not another try follows.
        Failed = "failed",
        Delivered = "delivered",
        /// A try is still to come.
        Waiting = "waiting",
        /// Not sent, because the webhook was stopped.
        Skipped = "skipped",
    }
}

impl Status {
    /// As the log's rows have it.
    fn ended(self) -> &'static [&'static str] {
        match self {
            Self::Failed => &["failed"],
            Self::Delivered => &["delivered"],
            Self::Skipped => &["skipped"],
            Self::Waiting => &[],
        }
    }
}

pub struct LogFilter {
    pub outcome: Option<Status>,
    pub kind: Option<String>,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
    /// Below this place.
    pub before: Option<LogPlace>,
    pub most: i64,
}

impl Default for LogFilter {
    fn default() -> Self {
        Self { outcome: None, kind: None, since: None, until: None, before: None, most: MOST }
    }
}

impl LogFilter {
    /// The numbers of the places it asks for.
    fn range(&self, now: DateTime<Utc>) -> Range<i64> {
        let since = self.since.unwrap_or_default().max(now - LOG);
        let until = self.until.map_or(i64::MAX, lowest_at);
        lowest_at(since)..self.before.map_or(until, |place| place.number().min(until))
    }
}

/// Where an entry stands: by its event while it waits, then by its own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPlace {
    Waiting(EventId),
    Ended(DeliveryId),
}

impl LogPlace {
    fn number(self) -> i64 {
        match self {
            Self::Waiting(event) => event.0,
            Self::Ended(delivery) => delivery.0,
        }
    }

    /// When its event happened, or when it ended.
    pub fn at(self) -> DateTime<Utc> {
        made_at(self.number())
    }
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(event) => event.fmt(f),
            Self::Ended(delivery) => delivery.fmt(f),
        }
    }
}

impl FromStr for LogPlace {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        text.parse().map(Self::Waiting).or_else(|_| text.parse().map(Self::Ended))
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    pub event: EventId,
    pub r#type: String,
    pub created_at: String,
    /// `pending`, `delivered`, `failed` or `skipped`.
    pub state: String,
    /// Each with `at`, `duration` in milliseconds, `status` or `error`, the first 1 KB of the `answer` and the `signature`
    /// that was sent.
    pub tries: Value,
    pub next_try_at: Option<String>,
    #[serde(skip)]
    pub place: LogPlace,
    #[serde(skip)]
    pub due_at: Option<DateTime<Utc>>,
}

/// All of one instant: a delivery that ends between two looks would be in neither.
pub async fn read(
    instant: &mut Snapshot,
    by: &By,
    webhook: WebhookId,
    filter: &LogFilter,
) -> Result<Vec<LogEntry>> {
    let (workspace, now) = (instant.frame().workspace, instant.frame().now);
    find_open(instant, workspace, by, webhook).await?;
    let range = filter.range(now);
    let mut entries = ended(instant, workspace, webhook, filter, &range).await?;
    entries.extend(waiting(instant, workspace, webhook, filter, &range).await?);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.place.number()));
    entries.truncate(filter.most as usize);
    Ok(entries)
}

/// What several webhooks got since a time, newest first. The time keeps it to few of the log's days.
pub async fn newest_of(
    instant: &mut Snapshot,
    by: &By,
    webhooks: &[WebhookId],
    since: DateTime<Utc>,
    most: i64,
) -> Result<Vec<(WebhookId, LogEntry)>> {
    let mut all = Vec::new();
    for webhook in webhooks {
        let filter = LogFilter { since: Some(since), most, ..LogFilter::default() };
        let entries = read(instant, by, *webhook, &filter).await?;
        all.extend(entries.into_iter().map(|entry| (*webhook, entry)));
    }
    all.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.place.number()));
    all.truncate(most as usize);
    Ok(all)
}

async fn ended(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: WebhookId,
    filter: &LogFilter,
    range: &Range<i64>,
) -> Result<Vec<LogEntry>> {
    let states = filter.outcome.map_or(STATES, Status::ended);
    let kinds = match &filter.kind {
        Some(kind) => vec![kind.as_str()],
        None => Kind::NAMES.to_vec(),
    };
    // One branch for each state and kind, so that every filter is a prefix of the key.
    let rows = sqlx::query!(
        r#"select entry.state, entry.kind, entry.id as "id: DeliveryId", entry.event_id as "event: EventId", entry.tries
           from unnest($3::text[]) as wanted (state), unnest($4::text[]) as chosen (kind)
           cross join lateral (
               select state, kind, id, event_id, tries from delivery_log
               where workspace_id = $1 and webhook_id = $2 and delivery_log.state = wanted.state
                 and delivery_log.kind = chosen.kind and id >= $6 and id < $7
               order by id desc limit $5) entry
           order by entry.id desc limit $5"#,
        workspace.0,
        webhook.0,
        states as &[&str],
        &kinds as &[&str],
        filter.most,
        range.start,
        range.end
    )
    .fetch_all(conn)
    .await?;
    let entries = rows.into_iter().map(|row| LogEntry {
        event: row.event,
        r#type: row.kind,
        created_at: written(made_at(row.event.0)),
        state: row.state,
        tries: row.tries,
        next_try_at: None,
        place: LogPlace::Ended(row.id),
        due_at: None,
    });
    Ok(entries.collect())
}

async fn waiting(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: WebhookId,
    filter: &LogFilter,
    range: &Range<i64>,
) -> Result<Vec<LogEntry>> {
    if matches!(filter.outcome, Some(Status::Delivered | Status::Skipped)) {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"select kind, event_id as "event: EventId", tries, due_at from (
               select kind, event_id, tries, due_at from deliveries
               where workspace_id = $1 and webhook_id = $2 and event_id >= $7 and event_id < $8
               order by event_id desc limit $5) newest
           where ($3::text is null or kind = $3) and (not $4 or tries <> '[]') order by event_id desc limit $6"#,
        workspace.0,
        webhook.0,
        filter.kind,
        filter.outcome == Some(Status::Failed),
        MOST_WAITING,
        filter.most,
        range.start,
        range.end
    )
    .fetch_all(conn)
    .await?;
    let entries = rows.into_iter().map(|row| LogEntry {
        event: row.event,
        r#type: row.kind,
        created_at: written(made_at(row.event.0)),
        state: "pending".into(),
        tries: row.tries,
        next_try_at: Some(written(row.due_at)),
        place: LogPlace::Waiting(row.event),
        due_at: Some(row.due_at),
    });
    Ok(entries.collect())
}
