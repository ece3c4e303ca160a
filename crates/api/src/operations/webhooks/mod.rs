//! Webhooks by the API: the same verbs as the app's pages, for keys with the scope `webhooks`. None has a tool: what mail says
//! must not be able to send events elsewhere (docs/decisions/webhooks-in-the-api.md).

pub mod create_webhook;
pub mod list_deliveries;
pub mod list_webhooks;
pub mod pause_webhook;
pub mod redeliver;
pub mod resume_webhook;
pub mod rotate_webhook;
pub mod test_webhook;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Needs, PathSubject, Spec};
use crate::wire::{Secret, Timestamp};
use rookery_base::ids::WebhookId;
use rookery_core::workspace::access::Scope;
use rookery_webhooks::webhook::{self, WebhookState};

/// What all of them have in common.
const fn managing(spec: Spec) -> Spec {
    Spec { has_tool: false, names: PathSubject::Webhook, needs: Needs::Scope(Scope::Webhooks), ..spec }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    id: WebhookId,
    /// Where events are posted to.
    url: String,
    /// False: it hears the sandbox.
    livemode: bool,
    scope: ScopeName,
    /// The kinds of event that it hears; null for all, also those to come.
    events: Option<Vec<String>>,
    /// `active`; `paused` by somebody or by a day of failures; `off` when the other side said that it is gone, or its key ended.
    state: StateName,
    /// The first failure since the last success.
    failing_since: Option<Timestamp>,
    created_at: Timestamp,
    /// The secret before this one signs too, until then. Left out when none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    old_secret_until: Option<Timestamp>,
}

/// `team`: team inboxes and everything that belongs to no inbox; in the sandbox, all of it. `private`: the private inboxes
/// of the person who made the key.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ScopeName {
    #[default]
    Team,
    Private,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateName {
    Active,
    Paused,
    Off,
}

impl Webhook {
    fn from_stored(webhook: webhook::Webhook, now: DateTime<Utc>) -> Self {
        Self {
            old_secret_until: webhook.old_secret_until(now).map(Timestamp),
            id: webhook.id,
            url: webhook.url,
            livemode: webhook.livemode,
            scope: match webhook.scope {
                webhook::Scope::Team => ScopeName::Team,
                webhook::Scope::Private => ScopeName::Private,
            },
            events: webhook.kinds,
            state: match webhook.state {
                WebhookState::Active => StateName::Active,
                WebhookState::Paused => StateName::Paused,
                WebhookState::Off => StateName::Off,
            },
            failing_since: webhook.failing_since.map(Timestamp),
            created_at: Timestamp(webhook.created_at),
        }
    }
}

/// A webhook whose secret was just made.
#[derive(Serialize, JsonSchema)]
pub struct WithSecret {
    webhook: Webhook,
    /// `whsec_…`, by which its requests are signed. It is shown this once.
    secret: Secret,
}
