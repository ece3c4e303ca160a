//! `/settings/services`: all connections, how each does, how many reports came today, and the last error in words.
//! Without any, what connecting one is good for.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::app_mail::connect::{MOST, connected};
use crate::error::Result;
use crate::ids::SendingServiceId;
use crate::web::respond;
use crate::web::settings::services::PATH;
use crate::web::settings::services::state::{self, Shown};
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "settings/services/list.html")]
struct ListPage {
    shell: Shell,
    page: &'static str,
    rows: Vec<Row>,
    most: i64,
}

struct Row {
    id: SendingServiceId,
    name: String,
    provider: &'static str,
    maker: String,
    today: i64,
    last: Option<DateTime<Utc>>,
    error: Option<(String, DateTime<Utc>)>,
    state: Shown,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let connections = connected(&mut reading, asked.person.workspace).await?;
    let rows = connections.into_iter().map(|connection| Row {
        id: connection.id,
        provider: connection.provider.name(),
        today: connection.today(shell.times.now),
        last: connection.last_report_at,
        error: state::trouble(&connection).map(|(error, at)| (error.to_owned(), at)),
        state: state::of(&connection),
        name: connection.name,
        maker: connection.maker_name,
    });
    respond::page(&ListPage { page: PATH, rows: rows.collect(), most: MOST, shell })
}
