//! `/settings/webhooks`: all webhooks of the workspace and how each does; what is stopped stands first, with the way to
//! start it again.

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::settings::webhooks::health::{self, WebhookHealth};
use crate::settings::webhooks::{PATH, events};
use crate::shell::{Here, Shell};
use crate::show::{Times, filters};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::WebhookId;
use rookery_core::workspace::access::By;
use rookery_webhooks::create::MOST;
use rookery_webhooks::health::{HealthDay, last_day};
use rookery_webhooks::webhook::{self, Scope, Webhook, WebhookState};

#[derive(Template)]
#[template(path = "settings/webhooks/list.html")]
struct ListPage {
    shell: Shell,
    page: &'static str,
    stopped: Vec<Stopped>,
    rows: Vec<WebhookRow>,
    live: usize,
    test: usize,
    most: i64,
}

/// A webhook in a list.
pub struct WebhookRow {
    pub id: WebhookId,
    /// Nothing when it is another person's private one; then nothing tells what it hears or how much.
    pub url: Option<String>,
    pub maker: String,
    pub events: String,
    pub hears: String,
    pub is_test: bool,
    pub is_off: bool,
    pub picture: Safe<String>,
    pub numbers: String,
    pub state: WebhookHealth,
}

struct Stopped {
    id: WebhookId,
    name: String,
    is_off: bool,
    failing_since: Option<DateTime<Utc>>,
    maker: String,
}

impl WebhookRow {
    pub fn from_webhook(webhook: &Webhook, by: &By, day: &HealthDay, times: &Times) -> Self {
        let day = if webhook.is_open_to(by) { day } else { &HealthDay::default() };
        Self {
            id: webhook.id,
            url: webhook.is_open_to(by).then(|| webhook.url.clone()),
            maker: webhook.maker_name.clone(),
            events: events::words(webhook.kinds.as_deref()),
            hears: hears(webhook, by),
            is_test: !webhook.livemode,
            is_off: webhook.state == WebhookState::Off,
            picture: health::picture(day, times),
            numbers: health::words(day),
            state: health::state_of(webhook, day, times),
        }
    }
}

/// Where it listens, in words.
pub fn hears(webhook: &Webhook, by: &By) -> String {
    match (webhook.livemode, webhook.scope) {
        (true, Scope::Team) => "team inboxes".to_owned(),
        (false, Scope::Team) => "sandbox".to_owned(),
        (true, Scope::Private) if webhook.is_open_to(by) => "only your private inboxes".to_owned(),
        (true, Scope::Private) => format!("only private inboxes of {}", webhook.maker_name),
        (false, Scope::Private) => "tests only: the sandbox is no private inbox".to_owned(),
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let webhooks = webhook::list(&mut reading, workspace).await?;
    let days = last_day(&mut reading, workspace, shell.times.now).await?;
    let rows = webhooks.iter().map(|webhook| {
        let day = days.get(&webhook.id).copied().unwrap_or_default();
        WebhookRow::from_webhook(webhook, &by, &day, &shell.times)
    });
    let rows: Vec<WebhookRow> = rows.collect();
    // Whose private one is stopped, only its maker starts it again.
    let stopped =
        webhooks.iter().filter(|webhook| webhook.state != WebhookState::Active && webhook.is_open_to(&by));
    let stopped = stopped.map(|webhook| Stopped {
        id: webhook.id,
        name: webhook.host(),
        is_off: webhook.state == WebhookState::Off,
        failing_since: webhook.failing_since,
        maker: webhook.maker_name.clone(),
    });
    respond::page(&ListPage {
        page: PATH,
        stopped: stopped.collect(),
        live: webhooks.iter().filter(|webhook| webhook.livemode).count(),
        test: webhooks.iter().filter(|webhook| !webhook.livemode).count(),
        most: MOST,
        rows,
        shell,
    })
}
