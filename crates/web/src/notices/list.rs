//! `/notices`: what the person was told of, newest first, a line for each conversation and reason. Opening a
//! conversation makes its lines old; a button does the same for all.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;
use rookery_core::conversations::notifications::{self, Notification, NotificationCursor, Reason};

const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "notices/list.html")]
struct NoticesPage {
    shell: Shell,
    lines: Vec<NoticeLine>,
    /// Where the next page begins.
    before: Option<String>,
    /// What is read with the button: all that was there when the page was made, also what stands on other pages.
    until: String,
}

struct NoticeLine {
    told: Notification,
    icon: &'static str,
    sentence: String,
}

impl From<Notification> for NoticeLine {
    fn from(told: Notification) -> Self {
        let name = told.by_name.as_deref().unwrap_or("Somebody");
        let (icon, sentence) = match told.reason {
            Reason::Assigned => ("user", format!("{name} assigned this to you")),
            Reason::Mentioned => ("at-sign", format!("{name} mentioned you")),
            Reason::Replied => ("mail", format!("{name} wrote")),
            Reason::Noted => ("sticky-note", format!("{name} wrote a note")),
            Reason::Ruled => ("list-filter", format!("{name} wants you to see this")),
            Reason::Documents => ("list-checks", format!("All documents from {name} have arrived")),
        };
        Self { told, icon, sentence }
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let before: Option<NotificationCursor> = asked.queries().parse("before")?;
    let mut reading = asked.reading().await?;
    let shell = Shell::load(&mut reading, &asked, Here::Notices).await?;
    let mut told = notifications::list(&mut reading, &asked.person, before, PAGE as i64 + 1).await?;
    let more = told.len() > PAGE;
    told.truncate(PAGE);
    let before = told.last().filter(|_| more).map(|last| last.place().to_string());
    let until = shell.times.now.to_rfc3339_opts(SecondsFormat::Micros, true);
    let lines = told.into_iter().map(NoticeLine::from).collect();
    respond::page(&NoticesPage { shell, lines, before, until })
}

/// `POST /notices/read`: all that was there at a time, or all of one conversation.
pub async fn read(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let conversation: Option<ConversationId> = form.parse("conversation")?;
    let until: Option<DateTime<Utc>> = form.parse("until")?;
    let mut tx = asked.tx().await?;
    let until = until.unwrap_or(tx.now());
    notifications::read(&mut tx, &asked.person, conversation, until).await?;
    tx.commit().await?;
    Ok(respond::see_other("/notices"))
}
