//! `POST /messages/msg_…/undo`: anybody of the team stops a message that has not left. The person stays on the page they
//! were on; too late is an answer there, not an error.

use axum::response::Response;

use crate::bulk::asked_action::where_from;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::MessageId;
use rookery_product::replies::undo::{Undone, undo as undoing};

pub async fn undo(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let (undone, conversation) = undoing(&mut tx, &asked.person, message).await?;
    tx.commit().await?;
    let done = match undone {
        Undone::Stopped => Done::Stopped,
        Undone::Already => Done::StoppedAlready,
        Undone::TooLate => Done::TooLate,
    };
    let back = where_from(&asked).unwrap_or_else(|| format!("/conversations/{conversation}"));
    Ok(respond::see_other_with(&back, Toast::new(done, message)))
}
