//! A day of an agent: its numbers, and what it read, changed and was refused, newest first. The day and its hours are of the
//! workspace's zone. A test agent's day has no links: simulated mail has no pages here.

use askama::Template;
use axum::response::Response;
use chrono::{Days, NaiveDate};

use crate::respond;
use crate::settings::agents::limits;
use crate::shell::{Here, Shell};
use crate::show::{filters, in_words};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::AgentId;
use rookery_core::workspace::access::SANDBOX;
use rookery_core::workspace::agents::days::SHOWN_DAYS;
use rookery_core::workspace::agents::list::{self, ListedAgent};
use rookery_product::replies::agents::day::{self, AgentDay, ListedCall, WantedDay};

const PAGE: i64 = 100;

#[derive(Template)]
#[template(path = "settings/agents/day.html")]
struct DayPage {
    shell: Shell,
    page: &'static str,
    agent: ListedAgent,
    day: NaiveDate,
    named: String,
    oldest: NaiveDate,
    today: NaiveDate,
    shown: AgentDay,
    left: Option<String>,
    is_first: bool,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
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
    let wanted = WantedDay { workspace, agent: &agent, audiences: &audiences, own, day, before, most: PAGE };
    let shown = day::read(&mut instant, &wanted, now).await?;
    let left = limits::in_words(&shown.left);
    let (page, is_first) = (super::PATH, before.is_none());
    let named = shell.times.day(day);
    respond::page(&DayPage { shell, page, agent, day, named, oldest, today, shown, left, is_first })
}

impl DayPage {
    fn before(&self) -> Option<NaiveDate> {
        (self.day > self.oldest).then(|| self.day - Days::new(1))
    }

    fn after(&self) -> Option<NaiveDate> {
        (self.day < self.today).then(|| self.day + Days::new(1))
    }

    fn at(&self, call: &ListedCall) -> String {
        self.shown.zone.clock(call.at)
    }

    fn verb(&self, call: &ListedCall) -> &'static str {
        match call.did.as_str() {
            "read" => "Read",
            "searched" => "Searched",
            "wrote" => "Changed",
            _ => "Refused",
        }
    }

    /// What it asked for, in words.
    fn what(&self, call: &ListedCall) -> String {
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
