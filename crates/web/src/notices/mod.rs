//! What somebody was told of: the list, and what they want to be told of. Following a conversation is here too, because
//! it decides what is told.

pub mod choices;
pub mod list;

use axum::response::Response;

use crate::bulk::asked_action::path_in;
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::notifications::follows;

/// `POST /conversations/{id}/follow`: the person follows it from now on, or with `stop` no more.
pub async fn follow(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = lock_visible(&mut tx, &asked.person, asked.param("id").unwrap_or_default()).await?;
    let following = !form.flag("stop");
    follows::follow(&mut tx, &conversation, &asked.person, following).await?;
    tx.commit().await?;
    let own = format!("/conversations/{}", conversation.id);
    let done = if following { Done::Follows } else { Done::FollowsNot };
    let back = path_in(&form, "back").unwrap_or(&own);
    Ok(respond::see_other_with(back, Toast::new(done, conversation.id)))
}
