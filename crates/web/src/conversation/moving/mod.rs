//! `/conversations/cnv_…/move`: choosing another inbox for a conversation, of those that the same people see, and moving it
//! there. It is a dialog over the conversation, and without script a page of its own.

use askama::Template;
use axum::response::Response;

use crate::bulk::asked_action::{path_in, where_from};
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_core::conversations::inboxes;

#[derive(Template)]
#[template(path = "conversation/move.html")]
struct MovePage {
    shell: Shell,
    conversation: Conversation,
    /// The page to come back to.
    back: String,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let now = reading.now();
    let own = asked.param("id").unwrap_or_default();
    let conversation = find_visible(&mut reading, &asked.person, now, own).await?;
    let shell = Shell::load(&mut reading, &asked, Here::View("open")).await?;
    let own = format!("/conversations/{}", conversation.id);
    let back =
        where_from(&asked).filter(|from| from.starts_with(&own) && !from.contains("/move")).unwrap_or(own);
    respond::page(&MovePage { shell, conversation, back })
}

pub async fn move_it(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let own = asked.param("id").unwrap_or_default().to_owned();
    let mut tx = asked.tx().await?;
    let id = inboxes::move_to(&mut tx, &asked.person, &own, form.text("inbox")?).await?;
    tx.commit().await?;
    let own = format!("/conversations/{id}");
    let next = path_in(&form, "back").unwrap_or(&own);
    Ok(respond::see_other_with(next, Toast::new(Done::MovedToInbox, id)))
}
