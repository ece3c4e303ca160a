//! What somebody typed into a draft that a colleague had decided about meanwhile: it was not sent, and is shown so that it
//! can be used elsewhere.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::ConversationId;

#[derive(Template)]
#[template(path = "approvals/kept.html")]
struct KeptPage {
    shell: Shell,
    /// The conversation in which the person can use the text, if the draft can still be seen.
    conversation: Option<ConversationId>,
    mine: String,
}

pub async fn page(
    asked: &MemberRequest,
    status: StatusCode,
    conversation: Option<ConversationId>,
    mine: String,
) -> Result<Response> {
    let mut snapshot = asked.snapshot().await?;
    let shell = Shell::load(&mut snapshot, asked, Here::Approvals).await?;
    respond::page_with(status, &KeptPage { shell, conversation, mine })
}
