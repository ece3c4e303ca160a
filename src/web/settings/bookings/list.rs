//! `/settings/bookings`: all types with their pages, who hosts them and whether they can be booked. A type that somebody may
//! not change has no link to do so.

use askama::Template;
use axum::response::Response;

use crate::bookings::setter::Setter;
use crate::bookings::types::{self, BookingType, MOST_TYPES};
use crate::error::Result;
use crate::web::respond;
use crate::web::settings::bookings::PATH;
use crate::web::settings::bookings::edit::page_url;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "settings/bookings/list.html")]
struct ListPage {
    shell: Shell,
    page: &'static str,
    rows: Vec<Row>,
    most: i64,
}

struct Row {
    own: BookingType,
    url: String,
    may_change: bool,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let types = types::list(&mut reading, &asked.person).await?;
    let mut rows = Vec::with_capacity(types.len());
    for own in types {
        let url = page_url(&mut reading, &asked, &own).await?;
        rows.push(Row { url, may_change: Setter::Person(&asked.person).may(&own.settings.hosts), own });
    }
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&ListPage { rows, page: PATH, most: MOST_TYPES, shell })
}

impl Row {
    fn hosts(&self) -> String {
        self.own.host_names.join(", ")
    }
}
