//! What a person has read. Opening a conversation's page makes it read for them; `POST /conversations/cnv_…/unread`
//! takes that back, and `…/read` makes it read without opening it. docs/decisions/unread.md says why a GET may do this.

use axum::response::Response;

use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::{Form, FormFields, MemberRequest};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_core::conversations::{notifications, unread};
use rookery_core::workspace::people::Person;
use rookery_http::afterwards::Afterwards;

/// Notes that the person has read the conversation as it is on the page, after the page was sent. A page that is
/// prefetched, or refreshed in an open tab, does not count as read.
pub fn opened(asked: &MemberRequest, conversation: &Conversation, page: &mut Response) {
    if !is_looked_at(asked) {
        return;
    }
    let (app, person, conversation) = (asked.app().clone(), asked.person.clone(), conversation.clone());
    Afterwards::add(page, async move {
        if let Err(error) = note(&app, &person, &conversation).await {
            // It stays unread.
            tracing::info!(%error, workspace = %person.workspace, "a conversation could not be noted as read");
        }
    });
}

async fn note(app: &App, person: &Person, conversation: &Conversation) -> Result<()> {
    let mut tx = app.begin(person.workspace).await?;
    unread::seen(&mut tx, person, conversation).await?;
    let now = tx.now();
    notifications::read(&mut tx, person, Some(conversation.id), now).await?;
    tx.commit().await
}

/// Whether somebody sees the page, and not only a browser that reads ahead or brings an open page up to date.
pub fn is_looked_at(asked: &MemberRequest) -> bool {
    let ahead = [asked.header("sec-purpose"), asked.header("purpose"), asked.header("x-moz")];
    let is_ahead = ahead.into_iter().flatten().any(|purpose| purpose.contains("prefetch"));
    !is_ahead && asked.header("x-live").is_none()
}

pub async fn mark_unread(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = found(&asked, &mut tx).await?;
    unread::mark_unread(&mut tx, &asked.person, &conversation).await?;
    tx.commit().await?;
    Ok(back(&form, Done::Unread, &conversation))
}

pub async fn mark_read(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = found(&asked, &mut tx).await?;
    unread::seen(&mut tx, &asked.person, &conversation).await?;
    tx.commit().await?;
    Ok(back(&form, Done::Read, &conversation))
}

async fn found(asked: &MemberRequest, tx: &mut Tx<'_>) -> Result<Conversation> {
    let now = tx.now();
    find_visible(tx, &asked.person, now, asked.param("id").unwrap_or_default()).await
}

/// To the list, not to the conversation: that would be read again.
fn back(form: &Form, done: Done, conversation: &Conversation) -> Response {
    respond::see_other_with(&list_path(list_in(form)), Toast::new(done, conversation.id))
}

/// The list that stood beside a form, as its field `list` says: a query, and nothing that could lead elsewhere.
pub fn list_in(form: &FormFields) -> &str {
    let query = form.get("list").unwrap_or_default();
    let sound = query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_=&.:-%+*".contains(&byte));
    if sound { query.trim_end_matches('&') } else { "" }
}

/// Where that list is.
pub fn list_path(list: &str) -> String {
    match list {
        "" => "/inbox".into(),
        // The results of a search.
        _ if list.starts_with("q=") => format!("/search?{list}"),
        _ => format!("/inbox?{list}"),
    }
}
