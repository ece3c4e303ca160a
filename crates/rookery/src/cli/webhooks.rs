//! `rookery admin …-webhook`: makes and looks after webhooks.
//! The pages of the app do the same by the same verbs.

use chrono::{DateTime, Utc};
use clap::{ArgGroup, Subcommand};
use serde_json::{Value, json};

use crate::cli::mode::Mode;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{EventId, PersonId, WebhookId, WorkspaceId};
use rookery_base::store::db::{Handle, Snapshot};
use rookery_core::workspace::access::By;
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::log::{self, LogFilter, Status};
use rookery_webhooks::webhook::{self, Scope};
use rookery_webhooks::{manage, redeliver, redeliver_failed, remove};

#[derive(Subcommand)]
pub enum WebhookCommand {
    /// Make a webhook. Its secret is shown once.
    CreateWebhook {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin.
        #[arg(long, value_name = "usr_…")]
        maker: PersonId,
        /// A public https address.
        #[arg(long)]
        url: String,
        /// A test webhook hears the sandbox, a live one everything else.
        #[arg(long)]
        mode: Mode,
        /// The team's inboxes, or only the maker's private ones.
        #[arg(long)]
        scope: Scope,
        /// Kinds of event, for example client.replied,message.sent. All when left out.
        #[arg(long, value_delimiter = ',')]
        events: Vec<String>,
    },
    /// List the webhooks of a workspace.
    ListWebhooks {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
    },
    /// Replace a webhook's secret. The old one signs too for 24 hours.
    RotateWebhook {
        #[command(flatten)]
        one: One,
    },
    /// Send nothing until it is resumed.
    PauseWebhook {
        #[command(flatten)]
        one: One,
    },
    /// Send again what happens from now on.
    ResumeWebhook {
        #[command(flatten)]
        one: One,
    },
    /// Send a test event to one webhook.
    TestWebhook {
        #[command(flatten)]
        one: One,
    },
    /// Send an event of the log once more.
    Redeliver {
        #[command(flatten)]
        one: One,
        #[arg(long, value_name = "evt_…")]
        event: EventId,
    },
    /// Send again what failed since a time and was not delivered since.
    RedeliverFailed {
        #[command(flatten)]
        one: One,
        /// For example 2031-01-06T09:00:00Z
        #[arg(long, value_name = "TIME")]
        since: DateTime<Utc>,
        /// Also what was skipped while the webhook was stopped.
        #[arg(long)]
        skipped: bool,
    },
    /// Remove a webhook for good. Its secret is forgotten at once.
    RemoveWebhook {
        #[command(flatten)]
        one: One,
    },
    /// Show what was delivered in the last 30 days, with every try, newest first.
    #[command(group(ArgGroup::new("outcome").args(["failed", "delivered"])))]
    WebhookLog {
        #[command(flatten)]
        one: One,
        /// Only what was tried in vain.
        #[arg(long)]
        failed: bool,
        /// Only what was delivered.
        #[arg(long)]
        delivered: bool,
        /// Only this kind of event.
        #[arg(long, value_name = "TYPE")]
        event: Option<String>,
    },
}

#[derive(clap::Args)]
pub struct One {
    #[arg(long, value_name = "wsp_…")]
    workspace: WorkspaceId,
    #[arg(long, value_name = "whk_…")]
    webhook: WebhookId,
}

/// A readable line and the JSON object that says the same.
pub async fn execute(app: &App, command: WebhookCommand) -> Result<(String, Value)> {
    Ok(match command {
        WebhookCommand::CreateWebhook { workspace, maker, url, mode, scope, events } => {
            let livemode = matches!(mode, Mode::Live);
            let wanted = WebhookParameters { maker, url: &url, livemode, scope, kinds: &events };
            let made = create(app, workspace, &By::System, wanted).await?;
            let deaf = scope == Scope::Private && !livemode;
            let note = if deaf { " It hears test events only: the sandbox is no private inbox." } else { "" };
            let line = format!(
                "Made webhook {} with secret {}. It is not shown again.{note}",
                made.webhook, made.secret
            );
            (line, json!({ "webhook": made.webhook, "secret": made.secret }))
        }
        WebhookCommand::ListWebhooks { workspace } => list(app, workspace).await?,
        WebhookCommand::RotateWebhook { one } => {
            let made = manage::rotate(app, one.workspace, &By::System, one.webhook).await?;
            let line = format!(
                "The new secret of {} is {}. It is not shown again; the old one signs too for 24 hours.",
                made.webhook, made.secret
            );
            (line, json!({ "webhook": made.webhook, "secret": made.secret }))
        }
        WebhookCommand::PauseWebhook { one } => {
            manage::pause(app, one.workspace, &By::System, one.webhook).await?;
            state(app, one).await?
        }
        WebhookCommand::ResumeWebhook { one } => {
            manage::resume(app, one.workspace, &By::System, one.webhook).await?;
            state(app, one).await?
        }
        WebhookCommand::TestWebhook { one } => {
            let event = redeliver::send_test(app, one.workspace, &By::System, one.webhook).await?;
            let line = format!("Test event {event} is on its way to {}.", one.webhook);
            (line, json!({ "webhook": one.webhook, "event": event }))
        }
        WebhookCommand::Redeliver { one, event } => {
            redeliver::redeliver(app, one.workspace, &By::System, one.webhook, event).await?;
            let line = format!("Event {event} is on its way to {} once more.", one.webhook);
            (line, json!({ "webhook": one.webhook, "event": event }))
        }
        WebhookCommand::RedeliverFailed { one, since, skipped } => {
            let again = redeliver_failed::RedeliveryRequest { since, skipped };
            let (says, state) =
                match redeliver_failed::ask(app, one.workspace, &By::System, one.webhook, again).await? {
                    redeliver_failed::Resending::Begun => ("is looked for and sent again", "begun"),
                    redeliver_failed::Resending::WasUnderWay => {
                        ("is being sent again already", "was-under-way")
                    }
                };
            let line = format!("What failed at {} {says}.", one.webhook);
            (line, json!({ "webhook": one.webhook, "state": state }))
        }
        WebhookCommand::RemoveWebhook { one } => {
            remove::remove(app, one.workspace, &By::System, one.webhook).await?;
            let line = format!("Webhook {} is removed.", one.webhook);
            (line, json!({ "webhook": one.webhook, "state": "removed" }))
        }
        WebhookCommand::WebhookLog { one, failed, delivered, event } => {
            let outcome = match (failed, delivered) {
                (true, _) => Some(Status::Failed),
                (_, true) => Some(Status::Delivered),
                _ => None,
            };
            show_log(app, one, LogFilter { outcome, kind: event, ..LogFilter::default() }).await?
        }
    })
}

async fn state(app: &App, one: One) -> Result<(String, Value)> {
    let webhook = webhook::find(&mut *app.connection().await?, one.workspace, one.webhook).await?;
    let line = format!("Webhook {} is {}.", webhook.id, webhook.status());
    Ok((line, json!({ "webhook": webhook.id, "state": webhook.status() })))
}

async fn list(app: &App, workspace: WorkspaceId) -> Result<(String, Value)> {
    let webhooks = webhook::list(&mut *app.connection().await?, workspace).await?;
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for webhook in webhooks {
        let mode = if webhook.livemode { "live" } else { "test" };
        lines.push(format!("{}  {}  {mode}  {}", webhook.id, webhook.status(), webhook.url));
        objects.push(json!({
            "webhook": webhook.id,
            "state": webhook.status(),
            "mode": mode,
            "scope": webhook.scope,
            "url": webhook.url,
            "events": webhook.kinds,
            "maker": webhook.maker,
        }));
    }
    let line = if lines.is_empty() { "No webhooks.".to_owned() } else { lines.join("\n") };
    Ok((line, json!({ "webhooks": objects })))
}

async fn show_log(app: &App, one: One, filter: LogFilter) -> Result<(String, Value)> {
    let mut instant = Snapshot::begin(app.connection().await?, app.frame(one.workspace)).await?;
    let entries = log::read(&mut instant, &By::System, one.webhook, &filter).await?;
    instant.finish().await?;
    let lines: Vec<String> = entries
        .iter()
        .map(|entry| {
            let tries = entry.tries.as_array().map_or(0, Vec::len);
            format!(
                "{}  {}  {}  {}  tries: {tries}",
                entry.created_at, entry.event, entry.r#type, entry.state
            )
        })
        .collect();
    let line = if lines.is_empty() { "Nothing in the log.".to_owned() } else { lines.join("\n") };
    Ok((line, json!({ "deliveries": entries })))
}
