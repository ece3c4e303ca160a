//! Webhooks, from the change that causes an event to the request that a real HTTP server gets.

mod by_api;
mod delivering;
mod fairness;
mod feed;
mod following;
mod guard;
mod killing;
mod kinds;
mod logging;
mod making;
pub mod receiver;
mod retrying;
mod scoping;
mod slow_names;

use rookery::ids::{EventId, PersonId, WebhookId};
use rookery::store::db::{Handle, Snapshot};
use rookery::webhooks::create::{NewSecret, Wanted, create};
use rookery::webhooks::log::{self, Entry, Filter};
use rookery::webhooks::webhook::{self, Scope, Webhook};
use rookery::webhooks::{manage, redeliver};
use rookery::workspace::access::By;
use serde_json::Value;

use crate::world::{Mode, Workspace, World, story_with};

/// Loopback opened, as a developer would; and an answer that takes a second is too late.
pub const LOCAL: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8"), ("WEBHOOK_ANSWER_SECONDS", "1")];

/// A story in a world whose webhooks may go to this machine.
pub async fn local_story(tell: impl AsyncFnOnce(&World)) {
    story_with(LOCAL, tell).await;
}

impl Workspace<'_> {
    /// A webhook of the owner for the team's inboxes, or the sandbox.
    pub async fn webhook(&self, url: &str, mode: Mode) -> NewSecret {
        self.webhook_of(self.owner, url, mode, Scope::Team, &[]).await.expect("a webhook")
    }

    pub async fn webhook_of(
        &self,
        maker: PersonId,
        url: &str,
        mode: Mode,
        scope: Scope,
        kinds: &[&str],
    ) -> rookery::error::Result<NewSecret> {
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let wanted = Wanted { maker, url, livemode: mode == Mode::Live, scope, kinds: &kinds };
        create(&self.world.app, self.id, &By::System, wanted).await
    }

    pub async fn pause(&self, id: WebhookId) {
        manage::pause(&self.world.app, self.id, &By::System, id).await.expect("it can be paused");
    }

    async fn resume(&self, id: WebhookId) {
        manage::resume(&self.world.app, self.id, &By::System, id).await.expect("it can be resumed");
    }

    async fn test(&self, id: WebhookId) -> EventId {
        redeliver::send_test(&self.world.app, self.id, &By::System, id).await.expect("a test can be sent")
    }

    async fn redeliver(&self, id: WebhookId, event: EventId) -> rookery::error::Result<()> {
        redeliver::redeliver(&self.world.app, self.id, &By::System, id, event).await
    }

    pub async fn state(&self, id: WebhookId) -> Webhook {
        let mut conn = self.world.app.connection().await.unwrap();
        webhook::find(&mut conn, self.id, id).await.expect("the webhook is there")
    }

    pub async fn log(&self, id: WebhookId, filter: Filter) -> Vec<Entry> {
        let app = &self.world.app;
        let conn = app.connection().await.unwrap();
        let mut instant = Snapshot::begin(conn, app.frame(self.id)).await.unwrap();
        log::read(&mut instant, &By::System, id, &filter).await.expect("the log can be read")
    }

    /// Makes something happen in the sandbox: the conversation's first `turn.changed`.
    pub async fn happens_in_sandbox(&self) -> String {
        let key = self.key(&self.world.app.random.hex(8), "write", Mode::Test).await;
        key.simulate(serde_json::json!({ "from": "ada@customer.test", "text": "Hello" })).await
    }

    /// Mail to the owners of things: recipient, kind and text.
    pub async fn notices(&self) -> Vec<(String, String, String)> {
        sqlx::query_as("select recipient, kind, subject || E'\\n' || body from notices order by recipient")
            .fetch_all(&self.world.app.pool)
            .await
            .expect("notices can be read")
    }
}

pub fn event_id(body: &Value) -> EventId {
    body["id"].as_str().expect("an id").parse().expect("an event's id")
}
