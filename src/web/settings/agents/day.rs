//! A day of an agent: its numbers, and what it read, changed and was refused, newest first. The day and its hours are of the
//! workspace's zone. A test agent's day has no links: simulated mail has no pages here.

use askama::Template;
use axum::response::Response;
use chrono::{Days, NaiveDate};

use crate::error::Result;
use crate::ids::AgentId;
use crate::replies::agents::day::{self, AgentDay, Call, Wanted};
use crate::web::respond;
use crate::web::settings::agents::limits;
use crate::web::shell::{Here, Shell};
use crate::web::show::{filters, in_words};
use crate::web::visit::Asked;
use crate::workspace::access::SANDBOX;
use crate::workspace::agents::days::SHOWN_DAYS;
use crate::workspace::agents::list::{self, Listed};

const PAGE: i64 = 100;

#[derive(Template)]
#[template(path = "settings/agents/day.html")]
struct DayPage {
    shell: Shell,
    page: &'static str,
    agent: Listed,
    day: NaiveDate,
    named: String,
    oldest: NaiveDate,
    today: NaiveDate,
    shown: AgentDay,
    left: Option<String>,
    /// Where the list goes on.
    earlier: Option<i64>,
    is_first: bool,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let id: AgentId = asked.id("id")?;
    let (workspace, person) = (asked.person.workspace, &asked.person);
    let mut instant = asked.snapshot().await?;
    let agent = list::one(&mut instant, workspace, id).await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let now = shell.times.now;
    let today = day::named(&mut instant, workspace, None, now).await?;
    let oldest = today - Days::new(SHOWN_DAYS);
    // What is no day, or is none that is kept, is the nearest one.
    let typed = asked.query("date").and_then(|date| date.parse().ok());
    let day = typed.unwrap_or(today).clamp(oldest, today);
    let before: Option<i64> = asked.query("before").and_then(|place| place.parse().ok());
    let mut audiences = person.audiences();
    if !agent.livemode {
        audiences = vec![SANDBOX];
    }
    let own = person.id == agent.maker;
    let wanted = Wanted { workspace, agent: &agent, audiences: &audiences, own, day, before, most: PAGE + 1 };
    let mut shown = day::read(&mut instant, &wanted, now).await?;
    let more = shown.calls.len() as i64 > PAGE;
    shown.calls.truncate(PAGE as usize);
    let earlier = shown.calls.last().filter(|_| more).map(|last| last.id);
    let left = limits::in_words(&shown.left);
    let (page, is_first) = (super::PATH, before.is_none());
    let named = shell.times.day(day);
    respond::page(&DayPage { shell, page, agent, day, named, oldest, today, shown, left, earlier, is_first })
}

impl DayPage {
    fn before(&self) -> Option<NaiveDate> {
        (self.day > self.oldest).then(|| self.day - Days::new(1))
    }

    fn after(&self) -> Option<NaiveDate> {
        (self.day < self.today).then(|| self.day + Days::new(1))
    }

    fn at(&self, call: &Call) -> String {
        self.shown.zone.clock(call.at)
    }

    fn verb(&self, call: &Call) -> &'static str {
        match call.did.as_str() {
            "read" => "Read",
            "searched" => "Searched",
            "wrote" => "Changed",
            _ => "Refused",
        }
    }

    /// What it asked for, in words.
    fn what(&self, call: &Call) -> String {
        let words = match call.operation.as_deref() {
            None => "A request",
            Some("me") => "Who it is",
            Some("list_conversations") => "List of conversations",
            Some("get_conversation") => "Conversation",
            Some("list_mailboxes") => "Inboxes",
            Some("list_tags") => "Tags",
            Some("list_events") => "What happened",
            Some("search_documents") => "List of documents",
            Some("get_document") => "Document",
            Some("get_document_content" | "get_document_download") => "File of a document",
            Some("get_agent_day") => "Day of an agent",
            Some("add_note") => "Note",
            Some("set_status") => "Status",
            Some("tag_conversation") => "Tags of a conversation",
            Some("assign_conversation") => "Assignment",
            Some("reply") => "Reply",
            Some("request_documents") => "Request for documents",
            Some("offer_times") => "Times to book",
            Some("record_sent") => "Record of an app’s mail",
            Some(other) => return in_words(&other.replace('_', "-")),
        };
        words.to_owned()
    }

    fn has_page(&self) -> bool {
        self.agent.livemode
    }
}
