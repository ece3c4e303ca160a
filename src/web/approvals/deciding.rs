//! What a person decides about one draft: approve, keep an edit, discard with a word, take over. Approving opens the next
//! one. A form carries what was shown, and nothing that a person typed is lost when it stops.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::error::{Error, Result};
use crate::ids::{ConversationId, MessageId};
use crate::replies::approve::{Approved, Shown, approve_confirmed as approving};
use crate::replies::discard::discard as discarding;
use crate::replies::drafts::Kind;
use crate::replies::queue::edit::{Edited, NOT_A_DRAFT, edit as editing};
use crate::replies::queue::list::{self, Place};
use crate::replies::queue::review;
use crate::replies::queue::take_over::{Taken, Typed, take_over as taking_over};
use crate::store::db::Handle;
use crate::text;
use crate::web::approvals::kept;
use crate::web::approvals::queue::{self, How, page, path, read_version};
use crate::web::respond;
use crate::web::toast::{Done, Toast};
use crate::web::visit::{Asked, Form};

/// `POST /messages/msg_…/approve`. Without a version it was shown as it had been drafted.
pub async fn approve(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let version = read_version(form.get("version"))?;
    let shown = Shown { newest: form.parse("seen")?, edited_at: version };
    let body = form.get("body");
    let confirmed: Vec<String> = form.all("confirmed").map(str::to_owned).collect();
    let seen = (Some(shown), &confirmed[..]);
    let mut tx = asked.tx().await?;
    let approved = match approving(asked.app(), &mut tx, &asked.person, message, body, seen).await {
        Err(error) if is_decided(&error) => {
            drop(tx);
            return decided(&asked, message, &form, error).await;
        }
        approved => approved?,
    };
    match approved {
        Approved::Leaves(_) => {
            tx.commit().await?;
            gone_on(&asked, message, &form, Toast::new(Done::Approved, message)).await
        }
        Approved::Outdated | Approved::Unconfirmed => {
            // The words stay; what is new or has to be confirmed is shown.
            let told = if approved == Approved::Outdated { Done::Outdated } else { Done::Unconfirmed };
            if let Some(body) = body
                && editing(&mut tx, &asked.person, message, body, version).await? == Edited::Crossed
            {
                drop(tx);
                return crossed(&asked, message, &form).await;
            }
            tx.commit().await?;
            Ok(respond::see_other_with(&path(message, after(&form)), Toast::new(told, message)))
        }
        Approved::Crossed => {
            drop(tx);
            crossed(&asked, message, &form).await
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
    let version = read_version(form.get("version"))?;
    let edited = match editing(&mut tx, &asked.person, message, body, version).await {
        Err(error) if is_decided(&error) && !form.flag("quiet") => {
            drop(tx);
            return decided(&asked, message, &form, error).await;
        }
        edited => edited?,
    };
    tx.commit().await?;
    match edited {
        Edited::Crossed if form.flag("quiet") => Ok(StatusCode::CONFLICT.into_response()),
        Edited::Crossed => crossed(&asked, message, &form).await,
        Edited::Kept(at) if form.flag("quiet") => {
            let told = format!("saved {}", asked.times().brief(&asked.app().clock.now()));
            let kept = json!({ "version": queue::version(at), "told": told }).to_string();
            Ok(([(header::CONTENT_TYPE, "application/json")], kept).into_response())
        }
        Edited::Kept(_) if form.get("show") == Some("changes") => {
            let path = path(message, after(&form));
            let joint = if path.contains('?') { '&' } else { '?' };
            Ok(respond::see_other(&format!("{path}{joint}show=changes")))
        }
        Edited::Kept(_) => Ok(respond::see_other(&path(message, after(&form)))),
    }
}

/// `POST /messages/msg_…/discard`
pub async fn discard(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let discarded = discarding(&mut tx, &asked.person, message, form.get("word")).await?;
    tx.commit().await?;
    asked.app().blobs.discard(&discarded.files).await;
    let toast = Toast::new(Done::Discarded, message);
    on(&asked, Some(discarded.conversation), message, &form, toast).await
}

/// `POST /messages/msg_…/take-over`: the person writes on in the conversation.
pub async fn take_over(asked: Asked) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let shown = read_version(form.get("version"))?;
    let typed = form.get("body").map(|body| Typed { body, shown });
    let confirmed: Vec<String> = form.all("confirmed").map(str::to_owned).collect();
    let mut tx = asked.tx().await?;
    let taken = match taking_over(asked.app(), &mut tx, &asked.person, message, typed, &confirmed).await {
        Err(error) if typed.is_some() && is_decided(&error) => {
            drop(tx);
            return decided(&asked, message, &form, error).await;
        }
        taken => taken?,
    };
    let (conversation, kind) = match taken {
        Taken::Over(conversation, kind) => (conversation, kind),
        Taken::Crossed => {
            drop(tx);
            return crossed(&asked, message, &form).await;
        }
        Taken::Unconfirmed => {
            // The words stay; what has to be confirmed is shown.
            if let Some(body) = form.get("body")
                && editing(&mut tx, &asked.person, message, body, shown).await? == Edited::Crossed
            {
                drop(tx);
                return crossed(&asked, message, &form).await;
            }
            tx.commit().await?;
            let toast = Toast::new(Done::Unconfirmed, message);
            return Ok(respond::see_other_with(&path(message, after(&form)), toast));
        }
    };
    tx.commit().await?;
    let compose = if kind == Kind::Reply { "" } else { "?compose=forward" };
    let path = format!("/conversations/{conversation}{compose}#composer");
    Ok(respond::see_other_with(&path, Toast::new(Done::TakenOver, conversation)))
}

/// Somebody else changed the draft: both texts are shown.
async fn crossed(asked: &Asked, message: MessageId, form: &Form) -> Result<Response> {
    let after = after(form);
    match form.get("body") {
        Some(mine) => page(asked, Some(message), How { mine: Some(text::lines(mine)), after }).await,
        None => Ok(respond::see_other_with(&path(message, after), Toast::new(Done::Crossed, message))),
    }
}

/// Somebody else let the draft go, threw it away or took it over.
fn is_decided(error: &Error) -> bool {
    match error {
        Error::Missing(_) => true,
        Error::Problems(problems) => problems.iter().any(|problem| problem.what == NOT_A_DRAFT),
        _ => false,
    }
}

/// What the person had typed is theirs still, unless it is what was decided about.
async fn decided(asked: &Asked, message: MessageId, form: &Form, error: Error) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let now = reading.now();
    let found = review::find(&mut reading, &asked.person, now, message, None).await;
    drop(reading);
    let mine = form.get("body").map(text::lines);
    match (found, mine) {
        (Ok(review), Some(mine)) if mine != review.body && review.drafted.as_ref() != Some(&mine) => {
            kept::page(asked, StatusCode::CONFLICT, Some(review.conversation.id), mine).await
        }
        (Ok(_), _) => gone_on(asked, message, form, Toast::new(Done::NoDraft, message)).await,
        // What was thrown away, what is hidden and what never was are the same.
        (Err(Error::Missing(_)), Some(mine)) => kept::page(asked, StatusCode::NOT_FOUND, None, mine).await,
        (Err(Error::Missing(_)), None) => Err(error),
        (Err(other), _) => Err(other),
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
    // After the last one the queue begins anew.
    let part = after(form).filter(|after| next.is_some_and(|next| next > *after));
    let path = next.map_or("/approvals".to_owned(), |next| path(next.message, part));
    Ok(respond::see_other_with(&path, toast))
}

/// The part of the queue that the person works through.
fn after(form: &Form) -> Option<Place> {
    form.get("after").and_then(|after| after.parse().ok())
}
