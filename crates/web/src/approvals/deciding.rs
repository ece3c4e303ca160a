//! What a person decides about one draft: approve, keep an edit, discard with a word, take over. Approving opens the next
//! one. A form carries what was shown, and nothing that a person typed is lost when it stops.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::approvals::kept;
use crate::approvals::queue::{self, How, page, path, read_version};
use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Handle;
use rookery_product::replies::approve::{Approved, SeenDraft, approve_confirmed as approving};
use rookery_product::replies::discard::discard as discarding;
use rookery_product::replies::drafts::DraftKind;
use rookery_product::replies::queue::edit::{Edited, NOT_A_DRAFT, edit as editing};
use rookery_product::replies::queue::list::{self, QueueCursor};
use rookery_product::replies::queue::review;
use rookery_product::replies::queue::take_over::{TakeOver, TypedDraft, take_over as taking_over};
use rookery_reading::text;

/// `POST /messages/msg_…/approve`. The field `version` says which edit of the draft was shown; it is empty if the draft was
/// never edited.
pub async fn approve(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let version = read_version(form.get("version"))?;
    let shown = SeenDraft { newest: form.parse("seen")?, edited_at: version };
    let body = form.get("body");
    let confirmed: Vec<String> = form.all("confirmed").map(str::to_owned).collect();
    let (app, person) = (asked.app(), &asked.person);
    let mut tx = asked.tx().await?;
    let approved = match approving(app, &mut tx, person, message, body, Some(shown), &confirmed).await {
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
        Approved::Outdated | Approved::Unconfirmed | Approved::Risky => {
            // The words stay; what is new or has to be confirmed is shown.
            let told = match approved {
                Approved::Outdated => Done::Outdated,
                Approved::Risky => Done::RiskUnseen,
                _ => Done::Unconfirmed,
            };
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

/// `POST /messages/msg_…/edit`: saves the edited text. `show=changes` leads to the view of the changes; `quiet`, for saving
/// in the background, is answered with JSON instead of a page.
pub async fn edit(asked: MemberRequest) -> Result<Response> {
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
pub async fn discard(asked: MemberRequest) -> Result<Response> {
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
pub async fn take_over(asked: MemberRequest) -> Result<Response> {
    let message: MessageId = asked.id("id")?;
    let form = asked.form().await?;
    let shown = read_version(form.get("version"))?;
    let typed = form.get("body").map(|body| TypedDraft { body, shown });
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
        TakeOver::Over(conversation, kind) => (conversation, kind),
        TakeOver::Crossed => {
            drop(tx);
            return crossed(&asked, message, &form).await;
        }
        TakeOver::Unconfirmed => {
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
    let compose = if kind == DraftKind::Reply { "" } else { "?compose=forward" };
    let path = format!("/conversations/{conversation}{compose}#composer");
    Ok(respond::see_other_with(&path, Toast::new(Done::TakenOver, conversation)))
}

/// Somebody else changed the draft: both texts are shown.
async fn crossed(asked: &MemberRequest, message: MessageId, form: &Form) -> Result<Response> {
    let after = after(form);
    match form.get("body") {
        Some(mine) => page(asked, Some(message), How { mine: Some(text::lines(mine)), after }).await,
        None => Ok(respond::see_other_with(&path(message, after), Toast::new(Done::Crossed, message))),
    }
}

/// Whether the error means that somebody else approved the draft, discarded it or took it over.
fn is_decided(error: &Error) -> bool {
    match error {
        Error::Missing(_) => true,
        Error::Problems(problems) => problems.iter().any(|problem| problem.what == NOT_A_DRAFT),
        _ => false,
    }
}

/// The answer when a colleague has decided about the draft meanwhile. If the person typed something that differs from the
/// draft, they are shown their text, so that it is not lost.
async fn decided(asked: &MemberRequest, message: MessageId, form: &Form, error: Error) -> Result<Response> {
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

/// The answer after a decision, when the conversation is known only from the form.
async fn gone_on(asked: &MemberRequest, message: MessageId, form: &Form, toast: Toast) -> Result<Response> {
    on(asked, form.parse("conversation")?, message, form, toast).await
}

/// Redirects to the next draft of the queue, or to the conversation if that is where the person decided.
async fn on(
    asked: &MemberRequest,
    conversation: Option<ConversationId>,
    message: MessageId,
    form: &Form,
    toast: Toast,
) -> Result<Response> {
    if let (Some("conversation"), Some(conversation)) = (form.get("from"), conversation) {
        return Ok(respond::see_other_with(&format!("/conversations/{conversation}"), toast));
    }
    let mut reading = asked.reading().await?;
    let place: Option<QueueCursor> = form.get("place").and_then(|place| place.parse().ok());
    let next = list::next(&mut reading, &asked.person, place, message).await?;
    // After the last one the queue begins anew.
    let part = after(form).filter(|after| next.is_some_and(|next| next > *after));
    let path = next.map_or("/approvals".to_owned(), |next| path(next.message, part));
    Ok(respond::see_other_with(&path, toast))
}

/// The page of the queue that the person was on.
fn after(form: &Form) -> Option<QueueCursor> {
    form.get("after").and_then(|after| after.parse().ok())
}
