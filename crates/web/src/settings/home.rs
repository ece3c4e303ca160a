//! `/settings`: which settings there are. On a phone it is the list that the side bar is elsewhere.
//! Everybody of the team opens it; what they may not change is not offered.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;

#[derive(Template)]
#[template(path = "settings/home.html")]
struct HomePage {
    shell: Shell,
    page: &'static str,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&HomePage { shell: Shell::frame(&asked, Here::Settings), page: "/settings" })
}
