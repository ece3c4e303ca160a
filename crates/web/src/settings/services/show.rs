//! `/settings/services/{id}`: one connection: how it does, the address to paste, how to set the service up, its key, and
//! the newest hundred reports with what became of each.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::settings::services::PATH;
use crate::settings::services::state::{self, ServiceState};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::SendingServiceId;
use rookery_product::app_mail::adapters::{Provider, postmark};
use rookery_product::app_mail::connect::{find, hook};
use rookery_product::app_mail::told::{self, ShownReport};

#[derive(Template)]
#[template(path = "settings/services/show.html")]
struct ShowPage {
    shell: Shell,
    page: &'static str,
    id: SendingServiceId,
    name: String,
    provider: Provider,
    maker: String,
    made_at: DateTime<Utc>,
    state: ServiceState,
    is_paused: bool,
    has_key: bool,
    reads_words: bool,
    old_until: Option<DateTime<Utc>>,
    error: Option<(String, DateTime<Utc>)>,
    today: i64,
    address: String,
    user: &'static str,
    lines: Vec<ReportLine>,
    most: i64,
    problem: Option<String>,
}

/// A report, in words.
struct ReportLine {
    at: DateTime<Utc>,
    kind: &'static str,
    mail: String,
    address: Option<String>,
    class: &'static str,
    icon: &'static str,
    outcome: &'static str,
    why: String,
}

impl ReportLine {
    fn from_report(told: ShownReport) -> Self {
        let kind = match told.kind.as_str() {
            "sent" => "Sent",
            "delivered" => "Delivered",
            "bounced" => "Bounced: no such address",
            "failed" => "Not delivered",
            "complained" => "Marked as spam",
            _ => "A request",
        };
        let (class, icon, outcome) = match told.outcome.as_str() {
            "noted" => ("good", "circle-check", "On record from now on"),
            "matched" => ("good", "circle-check", "Belongs to a mail on record"),
            "suppressed" => ("warn-text", "ban", "Not written to any more"),
            "unknown" => ("second", "circle-dot", "Unknown mail"),
            _ => ("bad-text", "circle-x", "Refused"),
        };
        let (mail, address) = (told.message_id, told.address);
        Self { at: told.at, kind, mail, address, class, icon, outcome, why: told.why }
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: SendingServiceId = asked.id("id")?;
    page(&asked, id, None).await
}

/// The page, with what was wrong with the key that somebody entered.
pub async fn page(asked: &MemberRequest, id: SendingServiceId, problem: Option<String>) -> Result<Response> {
    let workspace = asked.person.workspace;
    let mut reading = asked.reading().await?;
    let found = find(&mut reading, workspace, id).await?;
    let lines = told::newest(&mut reading, workspace, id).await?;
    let shell = Shell::frame(asked, Here::Settings);
    let status = if problem.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let page = ShowPage {
        page: PATH,
        id,
        provider: found.provider,
        state: state::describe(&found),
        is_paused: found.paused_at.is_some(),
        has_key: found.has_key,
        reads_words: found.reads_words,
        old_until: found.old_secret_until(shell.times.now),
        error: state::trouble(&found).map(|(error, at)| (error.to_owned(), at)),
        today: found.today(shell.times.now),
        address: hook(asked.app(), workspace, id),
        user: postmark::USER,
        lines: lines.into_iter().map(ReportLine::from_report).collect(),
        most: told::SHOWN,
        problem,
        maker: found.maker_name,
        made_at: found.created_at,
        name: found.name,
        shell,
    };
    respond::page_with(status, &page)
}
