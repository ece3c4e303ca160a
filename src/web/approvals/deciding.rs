//! What a person decides about one draft: approve, keep an edit, discard with a word, take over. Approving opens the next
//! one. A form carries what was shown, and nothing that a person typed is lost when it stops.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::error::{Error, Result};
use crate::ids::{ConversationId, MessageId};
use crate::replies::approve::{Approved, Shown, approve as approving};
use crate::replies::discard::discard as discarding;
use crate::replies::queue::edit::{Edited, NOT_A_DRAFT, edit as editing};
use crate::replies::queue::list::{self, Place};
use crate::replies::queue::take_over::take_over as taking_over;
use crate::web::approvals::queue::{self, How, page};
use crate::web::respond;
use crate::web::toast::{Done, Toast};
use crate::web::visit::{Asked, Fields, Form};

/// `POST /messages/msg_…/approve`
pub async fn approve(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let version = version(&form)?;
    let shown = Shown { newest: form.parse("seen")?, edited_at: form.flag("version").then_some(version) };
    let body = form.get("body");
    let mut tx = asked.tx().await?;
    let approved = match approving(asked.app(), &mut tx, &asked.person, message, body, Some(shown)).await {
        Err(Error::Problems(problems)) if problems.iter().any(|problem| problem.what == NOT_A_DRAFT) => {
            drop(tx);
            return gone_on(&asked, message, &form, Toast::new(Done::NoDraft, message)).await;
        }
        approved => approved?,
    };
    match approved {
        Approved::Leaves(_) => {
            tx.commit().await?;
            gone_on(&asked, message, &form, Toast::new(Done::Approved, message)).await
        }
        Approved::Outdated => {
            // The words stay; what is new is shown.
            if let Some(body) = body
                && editing(&mut tx, &asked.person, message, body, version).await? == Edited::Crossed
            {
                drop(tx);
                return crossed(&asked, message, Some(body)).await;
            }
            tx.commit().await?;
            Ok(respond::see_other_with(&path(message), Toast::new(Done::Outdated, message)))
        }
        Approved::Crossed => {
            drop(tx);
            crossed(&asked, message, body).await
        }
    }
}

/// `POST /messages/msg_…/edit`: keeps what was typed. `show` is what the person wants to look at then; `quiet` asks for
/// no page, only whether it was kept.
pub async fn edit(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let body = form.text("body")?;
    let mut tx = asked.tx().await?;
    let edited = editing(&mut tx, &asked.person, message, body, version(&form)?).await?;
    tx.commit().await?;
    match edited {
        Edited::Crossed if form.flag("quiet") => Ok(StatusCode::CONFLICT.into_response()),
        Edited::Crossed => crossed(&asked, message, Some(body)).await,
        Edited::Kept(at) if form.flag("quiet") => {
            let told = format!("saved {}", asked.times().brief(&asked.app().clock.now()));
            let kept = json!({ "version": queue::version(at), "told": told }).to_string();
            Ok(([(header::CONTENT_TYPE, "application/json")], kept).into_response())
        }
        Edited::Kept(_) if form.get("show") == Some("changes") => {
            Ok(respond::see_other(&format!("{}?show=changes", path(message))))
        }
        Edited::Kept(_) => Ok(respond::see_other(&path(message))),
    }
}

/// `POST /messages/msg_…/discard`
pub async fn discard(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = discarding(&mut tx, &asked.person, message, form.get("word")).await?;
    tx.commit().await?;
    on(&asked, Some(conversation), message, &form, Toast::new(Done::Discarded, message)).await
}

/// `POST /messages/msg_…/take-over`: the person writes on in the conversation.
pub async fn take_over(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let conversation = taking_over(&mut tx, &asked.person, message, form.get("body")).await?;
    tx.commit().await?;
    let path = format!("/conversations/{conversation}#composer");
    Ok(respond::see_other_with(&path, Toast::new(Done::TakenOver, conversation)))
}

/// Somebody else changed the draft: both texts are shown.
async fn crossed(asked: &Asked, message: MessageId, mine: Option<&str>) -> Result<Response> {
    match mine {
        Some(mine) => page(asked, Some(message), How { mine: Some(mine.to_owned()) }).await,
        None => Ok(respond::see_other_with(&path(message), Toast::new(Done::Crossed, message))),
    }
}

/// After a decision about a message that is still there.
async fn gone_on(asked: &Asked, message: MessageId, form: &Form, toast: Toast) -> Result<Response> {
    on(asked, form.parse("conversation")?, message, form, toast).await
}

/// Where the person goes on: the next draft of the queue, or the conversation they decided in.
async fn on(
    asked: &Asked,
    conversation: Option<ConversationId>,
    message: MessageId,
    form: &Form,
    toast: Toast,
) -> Result<Response> {
    if let (Some("conversation"), Some(conversation)) = (form.get("from"), conversation) {
        return Ok(respond::see_other_with(&format!("/conversations/{conversation}"), toast));
    }
    let mut reading = asked.reading().await?;
    let place: Option<Place> = form.get("place").and_then(|place| place.parse().ok());
    let next = list::next(&mut reading, &asked.person, place, message).await?;
    let path = next.map_or("/approvals".to_owned(), path);
    Ok(respond::see_other_with(&path, toast))
}

fn path(message: MessageId) -> String {
    format!("/approvals/{message}")
}

/// When the text that the person was shown had last been changed.
fn version(form: &Fields) -> Result<Option<DateTime<Utc>>> {
    let micros: Option<i64> = form.parse("version")?;
    Ok(micros.and_then(DateTime::from_timestamp_micros))
}
