//! What a person makes of a request for documents: ticks off, accepts, asks again with a mail, gives more time, cancels. What
//! ends something or leaves to the customer is asked first, on a page of its own.

use askama::Template;
use axum::response::Response;
use chrono::{Days, NaiveDate, TimeDelta};

use crate::outgoing::clock::stop_time;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, DocumentRequestId, RequestItemId};
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::find_visible;
use rookery_product::documents::items::{ChecklistItem, ItemRefusal, ItemState};
use rookery_product::documents::progress::RequestState;
use rookery_product::documents::uploads::decide::{self, Decision};
use rookery_product::documents::uploads::locked::NO_REQUEST;
use rookery_product::documents::uploads::view::{self, View};
use rookery_product::replies::ask_again;

/// Where the conversation shows the request.
fn place(conversation: ConversationId, request: DocumentRequestId) -> String {
    format!("/conversations/{conversation}#ask-{request}")
}

#[derive(Template)]
#[template(path = "conversation/request.html")]
struct RequestPage {
    shell: Shell,
    view: View,
    /// As fields for days have them.
    due: String,
    ends: String,
    first: String,
    last: String,
}

impl RequestPage {
    fn can_be_cancelled(&self) -> bool {
        matches!(self.view.state, RequestState::Open | RequestState::Expired)
    }
}

async fn load(asked: &MemberRequest) -> Result<(Shell, View)> {
    let id: DocumentRequestId = asked.id("id")?;
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let view = view::find(&mut snapshot, asked.person.workspace, id).await?;
    // Whoever cannot see the conversation sees none of its requests.
    find_visible(&mut snapshot, &asked.person, now, &view.conversation.to_string()).await.map_err(
        |error| match error {
            Error::Missing(_) => NO_REQUEST,
            other => other,
        },
    )?;
    let shell = Shell::load(&mut snapshot, asked, Here::View("open")).await?;
    Ok((shell, view))
}

/// `GET /requests/{id}`: more time, or an end.
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let (shell, view) = load(&asked).await?;
    if matches!(view.state, RequestState::Draft | RequestState::Cancelled) {
        return Ok(respond::see_other(&place(view.conversation, view.id)));
    }
    let today = view.zone.day(shell.times.now);
    let day = |day: NaiveDate| day.to_string();
    let page = RequestPage {
        due: view.due.map(day).unwrap_or_default(),
        // The end of a day is the beginning of the next.
        ends: day(view.zone.day(view.ends_at - TimeDelta::seconds(1)).max(today)),
        first: day(today),
        last: day(today + Days::new(365)),
        shell,
        view,
    };
    respond::page(&page)
}

/// `POST /requests/{id}/extend`
pub async fn extend(asked: MemberRequest) -> Result<Response> {
    let id: DocumentRequestId = asked.id("id")?;
    let form = asked.form().await?;
    let due: Option<NaiveDate> = form.parse("due")?;
    let ends: NaiveDate =
        form.parse("ends")?.ok_or_else(|| Error::problem("ends", "choose the day the link ends"))?;
    let mut tx = asked.tx().await?;
    let request = decide::extend(&mut tx, &asked.person, id, due, ends).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&place(request.conversation.id, id), Toast::new(Done::RequestExtended, "")))
}

/// `POST /requests/{id}/cancel`
pub async fn cancel(asked: MemberRequest) -> Result<Response> {
    let id: DocumentRequestId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    let request = decide::cancel(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&place(request.conversation.id, id), Toast::new(Done::RequestCancelled, "")))
}

/// `POST /requests/{id}/items/{item}`: tick off, accept, take back.
pub async fn decide(asked: MemberRequest) -> Result<Response> {
    let (id, item) = (asked.id::<DocumentRequestId>("id")?, asked.id::<RequestItemId>("item")?);
    let form = asked.form().await?;
    let (decision, done) = match form.get("do") {
        Some("tick") => (Decision::Tick, Done::DocumentTicked),
        Some("accept") => (Decision::Accept, Done::DocumentAccepted),
        Some("back") => (Decision::TakeBack, Done::DocumentBack),
        _ => return Err(Error::problem("do", "is not one of those that are offered")),
    };
    let mut tx = asked.tx().await?;
    let (request, _) = decide::decide(&mut tx, &asked.person, id, item, decision).await?;
    tx.commit().await?;
    Ok(respond::see_other_with(&place(request.conversation.id, id), Toast::new(done, "")))
}

#[derive(Template)]
#[template(path = "conversation/ask_again.html")]
struct AgainPage {
    shell: Shell,
    view: View,
    item: RequestItemId,
    asked: ChecklistItem,
    window: String,
    most: usize,
}

/// `GET /requests/{id}/items/{item}/again`: why, before the customer is asked.
pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let item: RequestItemId = asked.id("item")?;
    let (shell, view) = load(&asked).await?;
    let listed = view.items.iter().find(|listed| listed.id == item).ok_or(NO_REQUEST)?;
    if !matches!(listed.state, ItemState::Received | ItemState::Accepted) {
        return Ok(respond::see_other(&place(view.conversation, view.id)));
    }
    let window = stop_time(&asked);
    let most = ask_again::MOST_WORDS;
    let wanted = listed.item.clone();
    respond::page(&AgainPage { shell, asked: wanted, view, item, window, most })
}

/// `POST /requests/{id}/items/{item}/again`
pub async fn again(asked: MemberRequest) -> Result<Response> {
    let (id, item) = (asked.id::<DocumentRequestId>("id")?, asked.id::<RequestItemId>("item")?);
    let form = asked.form().await?;
    let why = match form.get("why") {
        Some("incomplete") => ItemRefusal::Incomplete,
        Some("wrong") => ItemRefusal::Wrong,
        Some("unreadable") | None => ItemRefusal::Unreadable,
        Some(_) => return Err(Error::problem("why", "is not one of those that are offered")),
    };
    let words = form.get("words").unwrap_or_default();
    let mut tx = asked.tx().await?;
    let app = asked.visit.app();
    let asking = ask_again::ask_again(app, &mut tx, &asked.person, id, item, why, words).await?;
    let conversation = asking.conversation;
    tx.commit().await?;
    Ok(respond::see_other_with(&place(conversation, id), Toast::new(Done::AskedAgain, asking.message)))
}
