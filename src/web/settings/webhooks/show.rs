//! `/settings/webhooks/{id}`: one webhook: how it does, its secrets, what it hears of, and its log of 30 days with
//! filters, by pages, one delivery of it open.

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use url::form_urlencoded::Serializer;

use crate::clock::written;
use crate::error::Result;
use crate::events::event::Kind;
use crate::ids::WebhookId;
use crate::web::conversation::later;
use crate::web::respond;
use crate::web::settings::webhooks::deliveries::{self, Line};
use crate::web::settings::webhooks::events::Choices;
use crate::web::settings::webhooks::health::{self, Shown};
use crate::web::settings::webhooks::{PATH, list};
use crate::web::shell::{Here, Shell};
use crate::web::show::{Times, filters};
use crate::web::visit::Asked;
use crate::webhooks::health::last_day;
use crate::webhooks::log::{self, Filter, Place, Status};
use crate::webhooks::webhook::{self, State};

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
    state: Shown,
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
    lines: Vec<Line>,
    earlier: Option<String>,
    newest: Option<String>,
    is_moving: bool,
    /// From when on failures are offered to be sent again.
    failed_since: String,
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
    fn read(asked: &Asked, times: &Times) -> (Self, Filter) {
        let field = |name| asked.query(name).unwrap_or_default();
        let outcome = Status::ALL.into_iter().find(|status| status.as_str() == field("state"));
        let kind = Kind::NAMES.iter().find(|name| **name == field("event"));
        let (since, until) = (later::read(times, field("since")), later::read(times, field("until")));
        let shown = |at: Option<DateTime<Utc>>| at.map(|at| times.field(&at)).unwrap_or_default();
        let chosen = Self {
            state: outcome.map(Status::as_str).unwrap_or_default(),
            event: kind.copied().unwrap_or_default().to_owned(),
            since: shown(since),
            until: shown(until),
        };
        let before: Option<Place> = asked.query("before").and_then(|text| text.parse().ok());
        let kind = kind.map(|kind| (*kind).to_owned());
        (chosen, Filter { outcome, kind, since, until, before, most: PAGE + 1 })
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

pub async fn show(asked: Asked) -> Result<Response> {
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
    let open: Option<Place> = asked.query("open").and_then(|text| text.parse().ok());
    let mut lines = Vec::with_capacity(entries.len());
    for entry in &entries {
        let place = entry.place.to_string();
        let is_open = open == Some(entry.place);
        let opens = [("before", before.as_str()), ("open", if is_open { "" } else { &place })];
        let mut line = Line::of(entry, format!("{}#d-{place}", chosen.path(id, &opens)));
        if is_open {
            line.open = Some(deliveries::opened(&mut instant, entry).await?);
        }
        lines.push(line);
    }
    let last = entries.last().filter(|_| more).map(|entry| entry.place.to_string());
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
        is_active: found.state == State::Active,
        picture: health::picture(&day, times),
        numbers: health::words(&day),
        rotation: found.old_secret_until(times.now).map(|until| Rotation::of(until, times.now)),
        choices: Choices::of(found.kinds.as_deref()),
        kinds: Kind::NAMES,
        earlier: last.map(|place| chosen.path(id, &[("before", &place)])),
        newest: (!before.is_empty()).then(|| chosen.path(id, &[])),
        is_moving: deliveries::is_moving(&entries, times.now),
        failed_since: times.field(&failed_since),
        chosen,
        lines,
        shell,
    })
}

impl Rotation {
    fn of(until: DateTime<Utc>, now: DateTime<Utc>) -> Self {
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
