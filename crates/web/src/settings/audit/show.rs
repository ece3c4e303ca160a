//! The page of the audit log: a page of entries by day, filters, and what the last check of the chain found.
//! The check can be asked for; otherwise it runs once a day.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use jiff::civil;
use url::form_urlencoded::Serializer;

use crate::respond;
use crate::settings::audit::{PATH, words};
use crate::shell::{Here, Shell};
use crate::show::{Times, filters, grouped_of};
use crate::toast::{Done, Toast};
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::Result;
use rookery_core::workspace::audit::list::{self, AuditQuery, Chain};
use rookery_core::workspace::audit::{ChainVerdict, Did, GROUPS, watch};

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "settings/audit/show.html")]
struct AuditPage {
    shell: Shell,
    page: &'static str,
    chain: Option<Chain>,
    chosen: Chosen,
    actors: Vec<(String, String)>,
    days: Vec<AuditDay>,
    earlier: Option<String>,
    newest: Option<String>,
}

struct AuditDay {
    name: String,
    lines: Vec<AuditLine>,
}

struct AuditLine {
    n: String,
    at: DateTime<Utc>,
    who: String,
    is_system: bool,
    did: String,
    subject: String,
    details: String,
}

/// The filters as the form has them.
#[derive(Default)]
pub struct Chosen {
    pub who: String,
    pub what: String,
    pub from: String,
    pub to: String,
}

impl Chosen {
    pub fn read(fields: &FormFields, times: &Times) -> (Self, AuditQuery) {
        let field = |name| fields.get(name).unwrap_or_default();
        let group = GROUPS.iter().find(|(code, ..)| *code == field("what"));
        let (from, to) = (day(times, field("from")), day(times, field("to")));
        let wanted = AuditQuery {
            actor: Some(field("who").to_owned()).filter(|who| !who.is_empty() && who.len() < 100),
            kinds: group.map(|(.., of)| Did::ALL.iter().copied().filter(|did| did.is_of(of)).collect()),
            since: from.as_ref().map(|(_, at)| *at),
            until: to.as_ref().map(|(_, at)| *at + TimeDelta::days(1)),
            before: field("before").parse().ok(),
        };
        let chosen = Self {
            who: wanted.actor.clone().unwrap_or_default(),
            what: group.map(|(code, ..)| *code).unwrap_or_default().to_owned(),
            from: from.map(|(text, _)| text).unwrap_or_default(),
            to: to.map(|(text, _)| text).unwrap_or_default(),
        };
        (chosen, wanted)
    }

    fn path(&self, before: &str) -> String {
        let filters = [
            ("who", &*self.who),
            ("what", &*self.what),
            ("from", &*self.from),
            ("to", &*self.to),
            ("before", before),
        ];
        let mut query = Serializer::new(String::new());
        query.extend_pairs(filters.iter().filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if query.is_empty() { PATH.to_owned() } else { format!("{PATH}?{query}") }
    }

    fn is_any(&self) -> bool {
        [&self.who, &self.what, &self.from, &self.to].iter().any(|value| !value.is_empty())
    }
}

/// The day that a field names, and when it begins for this person.
fn day(times: &Times, value: &str) -> Option<(String, DateTime<Utc>)> {
    let day: civil::Date = value.trim().parse().ok()?;
    let begins = day.to_zoned(times.zone.clone()).ok()?;
    Some((day.to_string(), DateTime::from_timestamp_millis(begins.timestamp().as_millisecond())?))
}

impl AuditPage {
    fn groups(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        GROUPS.iter().map(|(code, name, _)| (*code, *name, *code == self.chosen.what))
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let workspace = asked.person.workspace;
    let mut instant = asked.snapshot().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let (chosen, wanted) = Chosen::read(asked.queries(), &shell.times);
    let chain = list::chain(&mut instant, workspace).await?;
    let actors = list::actors(&mut instant, workspace).await?;
    let mut entries = list::read(&mut instant, workspace, &wanted, PAGE + 1).await?;
    let more = entries.len() as i64 > PAGE;
    entries.truncate(PAGE as usize);
    let last = entries.last().filter(|_| more).map(|entry| entry.n.to_string());
    let mut days: Vec<AuditDay> = Vec::new();
    for entry in &entries {
        let name = shell.times.heading(&entry.at);
        if days.last().is_none_or(|day| day.name != name) {
            days.push(AuditDay { name, lines: Vec::new() });
        }
        let line = AuditLine {
            n: grouped_of(entry.n),
            at: entry.at,
            is_system: entry.actor == "system",
            who: if entry.actor == "system" { "Rookery".to_owned() } else { entry.actor_name.clone() },
            did: capital(words::did(entry)),
            subject: entry.subject_name.clone(),
            details: words::details(entry),
        };
        if let Some(day) = days.last_mut() {
            day.lines.push(line);
        }
    }
    respond::page(&AuditPage {
        page: PATH,
        chain,
        actors,
        days,
        earlier: last.map(|n| chosen.path(&n)),
        newest: wanted.before.map(|_| chosen.path("")),
        chosen,
        shell,
    })
}

/// `POST /settings/audit/check`
pub async fn check(asked: MemberRequest) -> Result<Response> {
    let verdict = watch::check_now(asked.app(), asked.person.workspace).await?;
    let told = match verdict {
        ChainVerdict::Sound(_) => Done::AuditSound,
        ChainVerdict::Broken { .. } => Done::AuditBroken,
    };
    Ok(respond::see_other_with(PATH, Toast::new(told, "")))
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
