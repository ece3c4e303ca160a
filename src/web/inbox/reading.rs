//! What a person has read. Opening a conversation's page makes it read for them; `POST /conversations/cnv_…/unread`
//! takes that back, and `…/read` makes it read without opening it. docs/decisions/unread.md says why a GET may do this.

use axum::response::Response;

use crate::conversations::conversation::{Conversation, find_visible};
use crate::conversations::{notifications, unread};
use crate::error::Result;
use crate::store::db::Tx;
use crate::web::respond;
use crate::web::toast::{Done, Toast};
use crate::web::visit::{Asked, Form};

/// Notes that the person has seen a conversation as the page has it. Called after the page was made, when its
/// connection is free again. A page that is fetched ahead, or only brought up to date while it stands in some tab, was
/// not looked at.
pub async fn opened(asked: &Asked, conversation: &Conversation) {
    if !is_looked_at(asked) {
        return;
    }
    if let Err(error) = note(asked, conversation).await {
        // Nobody is refused a page because of this; it stays unread.
        tracing::info!(%error, workspace = %asked.person.workspace, "a conversation could not be noted as read");
    }
}

async fn note(asked: &Asked, conversation: &Conversation) -> Result<()> {
    let mut tx = asked.tx().await?;
    unread::seen(&mut tx, &asked.person, conversation).await?;
    let now = tx.now();
    notifications::read(&mut tx, &asked.person, Some(conversation.id), now).await?;
    tx.commit().await
}

fn is_looked_at(asked: &Asked) -> bool {
    let ahead = [asked.header("sec-purpose"), asked.header("purpose"), asked.header("x-moz")];
    let is_ahead = ahead.into_iter().flatten().any(|purpose| purpose.contains("prefetch"));
    !is_ahead && asked.header("x-live").is_none()
}

pub async fn mark_unread(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = found(&asked, &mut tx).await?;
    unread::mark_unread(&mut tx, &asked.person, &conversation).await?;
    tx.commit().await?;
    Ok(back(&form, Done::Unread, &conversation))
}

pub async fn mark_read(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = found(&asked, &mut tx).await?;
    unread::seen(&mut tx, &asked.person, &conversation).await?;
    tx.commit().await?;
    Ok(back(&form, Done::Read, &conversation))
}

async fn found(asked: &Asked, tx: &mut Tx<'_>) -> Result<Conversation> {
    let now = tx.now();
    find_visible(tx, &asked.person, now, asked.param("id").unwrap_or_default()).await
}

/// To the list, not to the conversation: that would be read again.
fn back(form: &Form, done: Done, conversation: &Conversation) -> Response {
    let query = form.get("list").unwrap_or_default();
    let sound = query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_=&.:-".contains(&byte));
    let path = if sound && !query.is_empty() { format!("/inbox?{query}") } else { "/inbox".into() };
    respond::see_other_with(&path, Toast::new(done, conversation.id))
}
