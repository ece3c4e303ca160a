//! `GET /webhooks/{id}/deliveries`: the log of a webhook, the last 30 days, newest first, with every try.
//! What waits stands where its event happened, and what ended where it ended: an entry may move up while it is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::managing;
use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Operation, Spec};
use crate::operations::list_conversations::default_limit;
use rookery_base::error::Result;
use rookery_base::ids::EventId;
use rookery_base::store::db::Snapshot;
use rookery_webhooks::log::{self, LogFilter, Status};
use rookery_webhooks::webhook::Webhook;

pub struct ListDeliveries;

#[derive(Deserialize, JsonSchema)]
pub struct ListDeliveriesInput {
    /// Only those that were delivered, failed (whether or not another try follows), wait, or were not sent while it was stopped.
    status: Option<StatusName>,
    /// Only this kind of event, such as `client.replied`.
    #[schemars(length(max = 60))]
    event: Option<String>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Of an earlier answer with the same parameters: the list goes on where that one ended. Only `limit` may differ.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum StatusName {
    Delivered,
    Failed,
    Waiting,
    Skipped,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    event_id: EventId,
    /// The kind of event.
    r#type: String,
    /// When it happened.
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// `pending` while a try is to come, `delivered`, `failed`, or `skipped` while the webhook was stopped.
    state: String,
    /// Oldest first.
    #[schemars(with = "Vec<Try>")]
    tries: Value,
    /// Null when no try is to come.
    next_try_at: Option<String>,
}

/// A request to the webhook's address.
#[derive(Serialize, JsonSchema)]
struct Try {
    at: String,
    /// Milliseconds.
    duration: u64,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    status: Option<u16>,
    /// Why nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error: Option<String>,
    /// The first kilobyte of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    answer: Option<String>,
    /// As it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    signature: Option<String>,
}

impl Operation for ListDeliveries {
    const SPEC: Spec = Spec {
        title: "Read a webhook's log",
        about: "What was sent to a webhook in the last 30 days, newest first, with every try and what was answered.",
        ..managing(Spec::read("list_deliveries", "/webhooks/{id}/deliveries"))
    };
    type Db = Snapshot;
    type Target = Webhook;
    type Input = ListDeliveriesInput;
    type Output = Vec<Delivery>;

    async fn run(
        call: &mut Call<'_, Snapshot>,
        webhook: Webhook,
        input: ListDeliveriesInput,
    ) -> Result<Vec<Delivery>> {
        let asked = ListQuery::new(Self::SPEC.name, (webhook.id, input.status, &input.event))?;
        let filter = LogFilter {
            outcome: input.status.map(|status| match status {
                StatusName::Delivered => Status::Delivered,
                StatusName::Failed => Status::Failed,
                StatusName::Waiting => Status::Waiting,
                StatusName::Skipped => Status::Skipped,
            }),
            kind: input.event,
            before: asked.place(input.cursor.as_deref())?,
            // One more tells whether there is a next page.
            most: input.limit + 1,
            ..LogFilter::default()
        };
        let mut entries = log::read(&mut call.db, &call.actor.by(), webhook.id, &filter).await?;
        if entries.len() as i64 > input.limit {
            entries.truncate(input.limit as usize);
            call.next = entries.last().map(|last| asked.cursor(last.place));
        }
        let delivery = |entry: log::LogEntry| Delivery {
            event_id: entry.event,
            r#type: entry.r#type,
            created_at: entry.created_at,
            state: entry.state,
            tries: entry.tries,
            next_try_at: entry.next_try_at,
        };
        Ok(entries.into_iter().map(delivery).collect())
    }
}
