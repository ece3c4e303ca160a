//! `/settings/bookings`: all types with their pages, who hosts them and whether they can be booked. A type that somebody may
//! not change has no link to do so.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::bookings::PATH;
use crate::settings::bookings::edit::page_url;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types::{self, BookingType, MOST_TYPES};

#[derive(Template)]
#[template(path = "settings/bookings/list.html")]
struct ListPage {
    shell: Shell,
    page: &'static str,
    rows: Vec<BookingTypeRow>,
    most: i64,
}

struct BookingTypeRow {
    own: BookingType,
    url: String,
    may_change: bool,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let types = types::list(&mut reading, &asked.person).await?;
    let mut rows = Vec::with_capacity(types.len());
    for own in types {
        let url = page_url(&mut reading, &asked, &own).await?;
        rows.push(BookingTypeRow {
            url,
            may_change: Setter::Person(&asked.person).may(&own.settings.hosts),
            own,
        });
    }
    let shell = Shell::frame(&asked, Here::Settings);
    respond::page(&ListPage { rows, page: PATH, most: MOST_TYPES, shell })
}

impl BookingTypeRow {
    fn hosts(&self) -> String {
        self.own.host_names.join(", ")
    }
}
