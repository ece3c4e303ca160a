//! `/settings/sandbox`: a form that simulates a mail, the magic addresses, test keys, test webhooks and their deliveries of
//! the last day, and what "left" in the sandbox.

use askama::Template;
use axum::response::Response;
use chrono::TimeDelta;
use sqlx::PgConnection;

use crate::respond;
use crate::settings::sandbox::PATH;
use crate::settings::webhooks::deliveries::{self, DeliveryLine};
use crate::settings::webhooks::list::WebhookRow;
use crate::shell::{Here, Shell};
use crate::show::{Times, filters};
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{EventId, WebhookId};
use rookery_base::store::db::Snapshot;
use rookery_core::conversations::conversation;
use rookery_core::workspace::access::By;
use rookery_core::workspace::mailboxes;
use rookery_mail::sandbox::keys::{self, TestKey};
use rookery_mail::sandbox::left::{self, LedgerEntry};
use rookery_mail::sandbox::magic::{Explained, MAGIC};
use rookery_webhooks::health::last_day;
use rookery_webhooks::{log, webhook};

/// Deliveries that are shown, of the last day.
const NEWEST: i64 = 20;
const DAY: TimeDelta = TimeDelta::hours(24);
/// Mails of a page of what left.
const PAGE: i64 = 20;

#[derive(Template)]
#[template(path = "settings/sandbox/show.html")]
pub struct SandboxPage {
    shell: Shell,
    page: &'static str,
    address: String,
    most_a_minute: u32,
    api: String,
    pub form: Form,
    pub problems: Vec<String>,
    /// The conversation that a mail was just taken into.
    taken: Option<String>,
    magic: &'static [Explained],
    keys: Vec<TestKey>,
    webhooks: Vec<WebhookRow>,
    lines: Vec<(WebhookId, DeliveryLine)>,
    is_moving: bool,
    left: Vec<LedgerEntry>,
    earlier: Option<EventId>,
}

/// The fields as they were typed.
#[derive(Default)]
pub struct Form {
    pub from: String,
    pub name: String,
    pub subject: String,
    pub text: String,
    pub conversation: String,
    pub fails: bool,
}

impl Form {
    pub fn read(form: &FormFields) -> Self {
        let field = |name| form.get(name).unwrap_or_default().to_owned();
        Self {
            from: field("from").trim().to_owned(),
            name: field("name"),
            subject: field("subject"),
            text: field("text"),
            conversation: field("conversation").trim().to_owned(),
            fails: form.get("dmarc") == Some("fail"),
        }
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked).await?)
}

pub async fn page(asked: &MemberRequest) -> Result<SandboxPage> {
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let mut instant = asked.snapshot().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let (webhooks, lines, is_moving) = hooks(&mut instant, asked, &by, &shell.times).await?;
    let before: Option<EventId> = asked.query("before").and_then(|place| place.parse().ok());
    let mut left = left::list(&mut instant, workspace, before, PAGE + 1).await?;
    let more = left.len() as i64 > PAGE;
    left.truncate(PAGE as usize);
    Ok(SandboxPage {
        page: PATH,
        address: mailboxes::sandbox(&mut instant, workspace).await?.address,
        most_a_minute: asked.app().config.sandbox_mail_limit().most,
        api: asked.app().config.public_url.join("api/v1/sandbox/inbound").map_err(Error::internal)?.into(),
        form: Form::default(),
        problems: Vec::new(),
        taken: taken(&mut instant, asked).await?,
        magic: MAGIC,
        keys: keys::list(&mut instant, workspace).await?,
        webhooks,
        lines,
        is_moving,
        earlier: left.last().filter(|_| more).map(|mail| mail.place),
        left,
        shell,
    })
}

type Hooks = (Vec<WebhookRow>, Vec<(WebhookId, DeliveryLine)>, bool);

/// The test webhooks, and what they got in the last day.
async fn hooks(instant: &mut Snapshot, asked: &MemberRequest, by: &By, times: &Times) -> Result<Hooks> {
    let workspace = asked.person.workspace;
    let all = webhook::list(instant, workspace).await?;
    let test: Vec<_> =
        all.into_iter().filter(|webhook| !webhook.livemode && webhook.is_open_to(by)).collect();
    let days = last_day(instant, workspace, times.now).await?;
    let rows = test.iter().map(|webhook| {
        let day = days.get(&webhook.id).copied().unwrap_or_default();
        WebhookRow::from_webhook(webhook, by, &day, times)
    });
    let rows = rows.collect();
    let ids: Vec<WebhookId> = test.iter().map(|webhook| webhook.id).collect();
    let newest = log::newest_of(instant, by, &ids, times.now - DAY, NEWEST).await?;
    let (of, entries): (Vec<WebhookId>, Vec<_>) = newest.into_iter().unzip();
    let is_moving = deliveries::is_moving(&entries, times.now);
    let lines = of.into_iter().zip(&entries).map(|(id, entry)| {
        let place = entry.place;
        (id, DeliveryLine::from_entry(entry, format!("/settings/webhooks/{id}?open={place}#d-{place}")))
    });
    Ok((rows, lines.collect(), is_moving))
}

/// Only a conversation of the sandbox is named here, whatever the address says.
async fn taken(conn: &mut PgConnection, asked: &MemberRequest) -> Result<Option<String>> {
    let Some(id) = asked.query("taken") else { return Ok(None) };
    let (who, now) = (asked.person.in_sandbox(), asked.times().now);
    match conversation::find_visible(conn, &who, now, id).await {
        Ok(found) => Ok(Some(found.id.to_string())),
        Err(Error::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
