//! `/settings/webhooks/{id}`: one webhook: how it does, its secrets, what it hears of, and its log of 30 days with
//! filters, by pages, one delivery of it open.

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use url::form_urlencoded::Serializer;

use crate::conversation::later;
use crate::respond;
use crate::settings::webhooks::deliveries::{self, DeliveryLine};
use crate::settings::webhooks::events::Choices;
use crate::settings::webhooks::health::{self, WebhookHealth};
use crate::settings::webhooks::{PATH, list};
use crate::shell::{Here, Shell};
use crate::show::{Times, filters};
use crate::visit::MemberRequest;
use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_base::ids::WebhookId;
use rookery_core::events::event::Kind;
use rookery_webhooks::health::last_day;
use rookery_webhooks::log::{self, LogFilter, LogPlace, Status};
use rookery_webhooks::redeliver_failed;
use rookery_webhooks::webhook::{self, WebhookState};

/// Lines of a page.
const PAGE: i64 = 50;
const DAY: TimeDelta = TimeDelta::hours(24);

#[derive(Template)]
#[template(path = "settings/webhooks/show.html")]
struct ShowPage {
    shell: Shell,
    page: &'static str,
    id: WebhookId,
    /// The address without its scheme.
    title: String,
    state: WebhookHealth,
    hears: String,
    maker: String,
    made_at: DateTime<Utc>,
    is_test: bool,
    is_active: bool,
    picture: Safe<String>,
    numbers: String,
    rotation: Option<Rotation>,
    choices: Choices,
    chosen: Chosen,
    kinds: &'static [&'static str],
    lines: Vec<DeliveryLine>,
    earlier: Option<String>,
    newest: Option<String>,
    is_moving: bool,
    /// From when on failures are offered to be sent again.
    failed_since: String,
    /// Events that were queued so far, while all that failed is being sent again.
    queued: Option<i64>,
}

/// Two secrets sign.
struct Rotation {
    until: DateTime<Utc>,
    /// For the clock, which counts down from the server's time.
    ends: String,
    now: String,
    /// Hours of the day that have passed, for who cannot see the bar.
    passed: i64,
    percent: i64,
    left: String,
}

/// The filters as the form has them.
struct Chosen {
    state: &'static str,
    event: String,
    since: String,
    until: String,
}

impl Chosen {
    fn read(asked: &MemberRequest, times: &Times) -> (Self, LogFilter) {
        let field = |name| asked.query(name).unwrap_or_default();
        let outcome = Status::named(field("state"));
        let kind = Kind::NAMES.iter().find(|name| **name == field("event"));
        let (since, until) = (later::read(times, field("since")), later::read(times, field("until")));
        let shown = |at: Option<DateTime<Utc>>| at.map(|at| times.field(&at)).unwrap_or_default();
        let chosen = Self {
            state: outcome.map(Status::as_str).unwrap_or_default(),
            event: kind.copied().unwrap_or_default().to_owned(),
            since: shown(since),
            until: shown(until),
        };
        let before: Option<LogPlace> = asked.query("before").and_then(|text| text.parse().ok());
        let kind = kind.map(|kind| (*kind).to_owned());
        (chosen, LogFilter { outcome, kind, since, until, before, most: PAGE + 1 })
    }

    /// The page with these filters, and more.
    fn path(&self, id: WebhookId, more: &[(&str, &str)]) -> String {
        let filters: [(&str, &str); 4] =
            [("state", self.state), ("event", &self.event), ("since", &self.since), ("until", &self.until)];
        let mut query = Serializer::new(String::new());
        query.extend_pairs(filters.iter().chain(more).filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if query.is_empty() { format!("{PATH}/{id}") } else { format!("{PATH}/{id}?{query}") }
    }
}

/// For templates: what the form offers.
impl Chosen {
    fn states(&self) -> Vec<(&'static str, &'static str, bool)> {
        let words = [
            ("", "All"),
            ("failed", "Failed"),
            ("delivered", "Delivered"),
            ("waiting", "Waiting"),
            ("skipped", "Skipped"),
        ];
        words.into_iter().map(|(value, label)| (value, label, value == self.state)).collect()
    }

    fn is_any(&self) -> bool {
        [self.state, &self.event, &self.since, &self.until].iter().any(|value| !value.is_empty())
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let mut instant = asked.snapshot().await?;
    let found = webhook::find_open(&mut instant, workspace, &by, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let times = &shell.times;
    let day = last_day(&mut instant, workspace, times.now).await?.remove(&id).unwrap_or_default();

    let (chosen, filter) = Chosen::read(&asked, times);
    let mut entries = log::read(&mut instant, &by, id, &filter).await?;
    let more = entries.len() as i64 > PAGE;
    entries.truncate(PAGE as usize);
    let before = asked.query("before").filter(|_| filter.before.is_some()).unwrap_or_default().to_owned();
    let open: Option<LogPlace> = asked.query("open").and_then(|text| text.parse().ok());
    let mut lines = Vec::with_capacity(entries.len());
    for entry in &entries {
        let place = entry.place.to_string();
        let is_open = open == Some(entry.place);
        let opens = [("before", before.as_str()), ("open", if is_open { "" } else { &place })];
        let mut line = DeliveryLine::from_entry(entry, format!("{}#d-{place}", chosen.path(id, &opens)));
        if is_open {
            line.open = Some(deliveries::opened(&mut instant, entry).await?);
        }
        lines.push(line);
    }
    let last = entries.last().filter(|_| more).map(|entry| entry.place.to_string());
    let queued = redeliver_failed::queued(&mut instant, workspace, id).await?.map(i64::from);
    let failed_since = found.failing_since.unwrap_or(times.now - DAY);
    respond::page(&ShowPage {
        page: PATH,
        id,
        title: found.url.split_once("://").map_or(found.url.as_str(), |(_, rest)| rest).to_owned(),
        state: health::state_of(&found, &day, times),
        hears: list::hears(&found, &by),
        maker: found.maker_name.clone(),
        made_at: found.created_at,
        is_test: !found.livemode,
        is_active: found.state == WebhookState::Active,
        picture: health::picture(&day, times),
        numbers: health::words(&day),
        rotation: found.old_secret_until(times.now).map(|until| Rotation::ending_at(until, times.now)),
        choices: Choices::for_kinds(found.kinds.as_deref()),
        kinds: Kind::NAMES,
        earlier: last.map(|place| chosen.path(id, &[("before", &place)])),
        newest: (!before.is_empty()).then(|| chosen.path(id, &[])),
        is_moving: queued.is_some() || deliveries::is_moving(&entries, times.now),
        failed_since: times.field(&failed_since),
        queued,
        chosen,
        lines,
        shell,
    })
}

impl Rotation {
    fn ending_at(until: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let left = until - now;
        let gone = DAY - left;
        Self {
            until,
            ends: written(until),
            now: written(now),
            passed: gone.num_hours(),
            percent: (gone.num_seconds() * 100 / DAY.num_seconds()).clamp(0, 100),
            left: format!(
                "{}:{:02}:{:02}",
                left.num_hours(),
                left.num_minutes() % 60,
                left.num_seconds() % 60
            ),
        }
    }
}
