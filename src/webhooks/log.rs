//! The delivery log (specification 6.1): the last 30 days of a webhook, newest first, with every try. What still
//! waits is part of it.

use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;

use crate::clock::written;
use crate::error::Result;
use crate::events::event::Kind;
use crate::ids::{EventId, WebhookId, WorkspaceId, lowest_at, made_at};
use crate::store::db::{Handle, Snapshot};
use crate::webhooks::webhook::find;

const MOST: i64 = 100;
/// Of what waits, so many of the newest are looked at.
const MOST_WAITING: i64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Tried in vain, whether or not another try follows.
    Failed,
    Delivered,
}

#[derive(Default)]
pub struct Filter {
    pub outcome: Option<Status>,
    pub kind: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub event: EventId,
    pub r#type: String,
    pub created_at: String,
    /// `pending`, `delivered`, `failed` or `skipped`.
    pub state: String,
    /// Each with `at`, `duration` in milliseconds, `status` or `error`, and the first 1 KB of the `answer`.
    pub tries: Value,
    pub next_try_at: Option<String>,
    /// Rises with the time of the last change.
    #[serde(skip)]
    changed: i64,
}

/// All of one instant: a delivery that ends between two looks would be in neither.
pub async fn read(instant: &mut Snapshot, webhook: WebhookId, filter: &Filter) -> Result<Vec<Entry>> {
    let workspace = instant.frame().workspace;
    find(instant, workspace, webhook).await?;
    let mut entries = ended(instant, workspace, webhook, filter).await?;
    entries.extend(waiting(instant, workspace, webhook, filter).await?);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.changed));
    entries.truncate(MOST as usize);
    Ok(entries)
}

async fn ended(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: WebhookId,
    filter: &Filter,
) -> Result<Vec<Entry>> {
    let states: &[&str] = match filter.outcome {
        None => &["delivered", "failed", "skipped"],
        Some(Status::Failed) => &["failed"],
        Some(Status::Delivered) => &["delivered"],
    };
    let kinds = match &filter.kind {
        Some(kind) => vec![kind.as_str()],
        None => Kind::NAMES.to_vec(),
    };
    // One branch for each state and kind, so that every filter is a prefix of the key.
    let rows = sqlx::query!(
        r#"select entry.state, entry.kind, entry.id, entry.event_id as "event: EventId", entry.tries
           from unnest($3::text[]) as wanted (state), unnest($4::text[]) as chosen (kind)
           cross join lateral (
               select state, kind, id, event_id, tries from delivery_log
               where workspace_id = $1 and webhook_id = $2 and delivery_log.state = wanted.state
                 and delivery_log.kind = chosen.kind
               order by id desc limit $5) entry
           order by entry.id desc limit $5"#,
        workspace.0,
        webhook.0,
        states as &[&str],
        &kinds as &[&str],
        MOST
    )
    .fetch_all(conn)
    .await?;
    let entries = rows.into_iter().map(|row| Entry {
        event: row.event,
        r#type: row.kind,
        created_at: written(made_at(row.event.0)),
        state: row.state,
        tries: row.tries,
        next_try_at: None,
        changed: row.id,
    });
    Ok(entries.collect())
}

async fn waiting(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    webhook: WebhookId,
    filter: &Filter,
) -> Result<Vec<Entry>> {
    if filter.outcome == Some(Status::Delivered) {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"select kind, event_id as "event: EventId", tries, due_at from (
               select kind, event_id, tries, due_at from deliveries
               where workspace_id = $1 and webhook_id = $2 order by event_id desc limit $5) newest
           where ($3::text is null or kind = $3) and (not $4 or tries <> '[]') limit $6"#,
        workspace.0,
        webhook.0,
        filter.kind,
        filter.outcome == Some(Status::Failed),
        MOST_WAITING,
        MOST
    )
    .fetch_all(conn)
    .await?;
    let entries = rows.into_iter().map(|row| {
        let last = row.tries.as_array().and_then(|tries| tries.last()?.get("at")?.as_str()?.parse().ok());
        Entry {
            event: row.event,
            r#type: row.kind,
            created_at: written(made_at(row.event.0)),
            state: "pending".into(),
            tries: row.tries,
            next_try_at: Some(written(row.due_at)),
            changed: last.map_or(row.event.0, lowest_at),
        }
    });
    Ok(entries.collect())
}
