//! `POST /messages/msg_…/undo`: anybody of the team stops a message that has not left. Its writer has the words before them
//! again; everybody else stays on the page they were on. Too late is an answer there, not an error.

use axum::response::Response;

use crate::bulk::asked_action::where_from;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_product::replies::drafts::DraftKind;
use rookery_product::replies::queue::take_over::{TakeOver, take_over};
use rookery_product::replies::undo::{Undone, undo as undoing};

pub async fn undo(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let (undone, conversation) = undoing(&mut tx, &asked.person, message).await?;
    tx.commit().await?;
    let done = match undone {
        Undone::Stopped => Done::Stopped,
        Undone::StoppedOwn => {
            // It is stopped whatever becomes of this: then it is a draft that can be taken over.
            if let Some((conversation, kind)) = write_on(&asked, message).await {
                let path = format!("/conversations/{conversation}?compose={}#composer", kind.as_str());
                return Ok(respond::see_other_with(&path, Toast::new(Done::TakenBack, "")));
            }
            Done::Stopped
        }
        Undone::Already => Done::StoppedAlready,
        Undone::TooLate => Done::TooLate,
    };
    let back = where_from(&asked).unwrap_or_else(|| format!("/conversations/{conversation}"));
    Ok(respond::see_other_with(&back, Toast::new(done, message)))
}

/// Puts the words of a stopped mail back into its writer's composer.
async fn write_on(asked: &MemberRequest, message: MessageId) -> Option<(ConversationId, DraftKind)> {
    let mut tx = asked.tx().await.ok()?;
    match take_over(asked.app(), &mut tx, &asked.person, message, None, &[]).await {
        Ok(TakeOver::Over(conversation, kind)) => tx.commit().await.ok().map(|()| (conversation, kind)),
        _ => None,
    }
}
