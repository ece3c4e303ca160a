//! The list of conversations: views, inboxes, rows; and what a person has read.
//! `list_column` is the list as every page shows it that has one.

pub mod density;
pub mod item;
pub mod list;
pub mod list_column;
pub mod reading;

use axum::response::Response;

use crate::error::Result;
use crate::web::respond;
use crate::web::visit::Asked;

/// `/`: where a day begins.
pub async fn home(_: Asked) -> Result<Response> {
    Ok(respond::see_other("/inbox"))
}
