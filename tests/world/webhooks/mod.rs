//! Webhooks of a story: made for its owner, heard by a server of its own, seen from their rows.

pub mod outbox;
pub mod receiver;

use chrono::TimeDelta;
use rookery_base::ids::{EventId, PersonId, WebhookId, lowest_at};
use rookery_base::store::db::{Handle, Snapshot};
use rookery_core::workspace::access::By;
use rookery_webhooks::create::{NewSecret, WebhookParameters, create};
use rookery_webhooks::log::{self, LogEntry, LogFilter};
use rookery_webhooks::webhook::{self, Scope, Webhook};
use rookery_webhooks::{manage, redeliver};
use serde_json::Value;

use crate::{Mode, Workspace, World, story_with};

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
    ) -> rookery_base::error::Result<NewSecret> {
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let wanted = WebhookParameters { maker, url, livemode: mode == Mode::Live, scope, kinds: &kinds };
        create(&self.world.app, self.id, &By::System, wanted).await
    }

    pub async fn pause(&self, id: WebhookId) {
        manage::pause(&self.world.app, self.id, &By::System, id).await.expect("it can be paused");
    }

    pub async fn resume(&self, id: WebhookId) {
        manage::resume(&self.world.app, self.id, &By::System, id).await.expect("it can be resumed");
    }

    pub async fn test(&self, id: WebhookId) -> EventId {
        redeliver::send_test(&self.world.app, self.id, &By::System, id).await.expect("a test can be sent")
    }

    pub async fn redeliver(&self, id: WebhookId, event: EventId) -> rookery_base::error::Result<()> {
        redeliver::redeliver(&self.world.app, self.id, &By::System, id, event).await
    }

    pub async fn state(&self, id: WebhookId) -> Webhook {
        let mut conn = self.world.app.connection().await.unwrap();
        webhook::find(&mut conn, self.id, id).await.expect("the webhook is there")
    }

    pub async fn log(&self, id: WebhookId, filter: LogFilter) -> Vec<LogEntry> {
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

/// A webhook that nobody can be told by: each try fails.
pub async fn deaf(workspace: &Workspace<'_>) -> WebhookId {
    let id = WebhookId(lowest_at(workspace.world.now() - TimeDelta::days(40)));
    workspace
        .world
        .sql(&format!(
            "insert into webhooks (workspace_id, id, maker_id, livemode, scope, url, secret, created_at)
                 values ({0}, {1}, {2}, true, 'team', 'https://app.example/hook', 'x', timestamptz '{3}' - interval '40 days');
             insert into webhook_lanes (workspace_id, webhook_id) values ({0}, {1})",
            workspace.id.0,
            id.0,
            workspace.owner.0,
            workspace.world.now()
        ))
        .await;
    id
}
