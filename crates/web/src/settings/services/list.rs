//! `/settings/services`: all connections, how each does, how many reports came today, and the last error in words.
//! Without any, what connecting one is good for.

use askama::Template;
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
use rookery_product::app_mail::connect::{MOST, connected};

#[derive(Template)]
#[template(path = "settings/services/list.html")]
struct ListPage {
    shell: Shell,
    page: &'static str,
    rows: Vec<ServiceRow>,
    most: i64,
}

struct ServiceRow {
    id: SendingServiceId,
    name: String,
    provider: &'static str,
    maker: String,
    today: i64,
    last: Option<DateTime<Utc>>,
    error: Option<(String, DateTime<Utc>)>,
    state: ServiceState,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let connections = connected(&mut reading, asked.person.workspace).await?;
    let rows = connections.into_iter().map(|connection| ServiceRow {
        id: connection.id,
        provider: connection.provider.name(),
        today: connection.today(shell.times.now),
        last: connection.last_report_at,
        error: state::trouble(&connection).map(|(error, at)| (error.to_owned(), at)),
        state: state::describe(&connection),
        name: connection.name,
        maker: connection.maker_name,
    });
    respond::page(&ListPage { page: PATH, rows: rows.collect(), most: MOST, shell })
}
