//! The list of conversations: views, inboxes, rows; and what a person has read.
//! `list_column` is the list as every page shows it that has one.

pub mod density;
pub mod held_list;
pub mod item;
pub mod list;
pub mod list_column;
pub mod reading;

use axum::response::Response;

use crate::respond;
use crate::visit::MemberRequest;
use rookery_base::error::Result;

/// `/`: where a day begins.
pub async fn home(_: MemberRequest) -> Result<Response> {
    Ok(respond::see_other("/inbox"))
}
