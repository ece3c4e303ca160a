//! `POST /messages/msg_…/undo`: anybody of the team stops a message that has not left. Its writer has the words before them
//! again; everybody else stays on the page they were on. Too late is an answer there, not an error.

use axum::response::Response;

use crate::bulk::asked_action::where_from;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MessageId;
use rookery_product::replies::undo::{TakenBack, Undone, undo as undoing, write_on};

pub async fn undo(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let (undone, conversation) = undoing(&mut tx, &asked.person, message).await?;
    tx.commit().await?;
    let done = match undone {
        Undone::Stopped => Done::Stopped,
        Undone::StoppedOwn => {
            // It is stopped whatever becomes of this: else it is a draft that can be taken over.
            if let Some(back) = back_in_the_composer(&asked, message).await {
                // The address says which mail came back, so that the page is another than that of a reply begun meanwhile.
                let kind = back.kind.as_str();
                let path =
                    format!("/conversations/{}?compose={kind}&back={message}#composer", back.conversation);
                let done = if back.is_closed { Done::TakenBackClosed } else { Done::TakenBack };
                return Ok(respond::see_other_with(&path, Toast::new(done, "")));
            }
            Done::Stopped
        }
        Undone::Already => Done::StoppedAlready,
        Undone::TooLate => Done::TooLate,
    };
    let back = where_from(&asked).unwrap_or_else(|| format!("/conversations/{conversation}"));
    Ok(respond::see_other_with(&back, Toast::new(done, message)))
}

async fn back_in_the_composer(asked: &MemberRequest, message: MessageId) -> Option<TakenBack> {
    let taken = async {
        let mut tx = asked.tx().await?;
        let back = write_on(asked.app(), &mut tx, &asked.person, message).await?;
        tx.commit().await?;
        Ok::<_, Error>(back)
    };
    taken.await.unwrap_or_else(|error| {
        tracing::warn!(mail = %message, %error, "a stopped mail is not back in the composer");
        None
    })
}
