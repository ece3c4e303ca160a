//! What somebody typed into a draft that a colleague had decided about meanwhile: it was not sent, and is shown so that it
//! can be used elsewhere.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::error::Result;
use crate::ids::ConversationId;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "approvals/kept.html")]
struct KeptPage {
    shell: Shell,
    /// Where it can be written on, if the draft is still to be seen.
    conversation: Option<ConversationId>,
    mine: String,
}

pub async fn page(
    asked: &Asked,
    status: StatusCode,
    conversation: Option<ConversationId>,
    mine: String,
) -> Result<Response> {
    let mut snapshot = asked.snapshot().await?;
    let shell = Shell::load(&mut snapshot, asked, Here::Approvals).await?;
    respond::page_with(status, &KeptPage { shell, conversation, mine })
}
