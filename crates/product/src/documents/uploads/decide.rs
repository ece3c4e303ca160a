//! What people make of a request: tick off what came another way (D167), accept what came or refuse it, take a decision
//! back, give it more time, cancel it. Each is one conditional change under the request's lock; who comes second is told.

use chrono::{Datelike, NaiveDate, TimeDelta};
use serde_json::json;

use crate::documents::items::{self, ChecklistItem, ItemRefusal, ItemState};
use crate::documents::progress::RequestState;
use crate::documents::uploads::complete;
use crate::documents::uploads::locked::{self, NO_REQUEST, Request};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DocumentRequestId, RequestItemId};
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::conversations::timeline;
use rookery_core::workspace::people::Person;

/// How far ahead a link may end.
const LONGEST: TimeDelta = TimeDelta::days(366);

/// What a person says of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It came another way.
    Tick,
    /// What came is right.
    Accept,
    /// What came will not do.
    Refuse(ItemRefusal),
    /// What was decided is undone: what came is to be looked at again, or nothing came.
    TakeBack,
}

/// Whether an item may go from its state by a decision.
fn may(from: ItemState, decision: Decision) -> bool {
    use ItemState::{Accepted, Open, Received, Refused as Was, Ticked};
    match decision {
        Decision::Tick => matches!(from, Open | Was),
        Decision::Accept => matches!(from, Received | Was),
        Decision::Refuse(_) => matches!(from, Received | Accepted),
        Decision::TakeBack => matches!(from, Ticked | Accepted | Was),
    }
}

/// Decides on an item. Gives the request and the item, for whoever tells the customer.
pub async fn decide(
    tx: &mut Tx<'_>,
    person: &Person,
    request: DocumentRequestId,
    item: RequestItemId,
    decision: Decision,
) -> Result<(Request, ChecklistItem)> {
    let request = locked::visible(tx, person, request).await?;
    let (workspace, now) = (tx.workspace(), tx.now());
    if matches!(request.state, RequestState::Draft | RequestState::Cancelled) {
        return Err(Error::Conflict(
            "This request is not open: its mail has not left, or it was cancelled.".into(),
        ));
    }
    let listed = items::load(tx, workspace, request.id).await?;
    let listed = listed.into_iter().find(|listed| listed.id == item).ok_or(NO_REQUEST)?;
    if !may(listed.state, decision) {
        let changed =
            "Not done: a colleague decided on this document meanwhile, or something new came. Look again.";
        return Err(Error::Conflict(changed.into()));
    }
    let why = match decision {
        Decision::Refuse(why) => Some(why),
        _ => None,
    };
    let kind = match decision {
        Decision::Tick => "ticked",
        Decision::Accept => "accepted",
        Decision::Refuse(_) => "refused",
        Decision::TakeBack => "back",
    };
    // What a decision is taken back from is open again, unless something came for it.
    sqlx::query!(
        "with newest as (
             select max(received_at) as at from document_request_files
             where workspace_id = $1 and request_id = $2 and item_id = $3)
         update document_request_items item
         set state = case when $4::text <> 'back' then $4 when newest.at is null then 'open' else 'received' end,
             received_at = case when $4 in ('accepted', 'refused') then received_at
                                when $4 = 'back' then newest.at end,
             decided_at = case when $4 <> 'back' then $5::timestamptz end,
             decided_by = case when $4 <> 'back' then $6::bigint end,
             refused_why = $7,
             refused_at = case when $4 = 'refused' then $5 when $4 = 'back' then null else refused_at end
         from newest where workspace_id = $1 and request_id = $2 and item.id = $3",
        workspace.0,
        request.id.0,
        item.0,
        kind,
        now,
        person.id.0,
        why as Option<ItemRefusal>
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "requestId": request.id, "label": listed.item.label });
    let (conversation, by) = (request.conversation.id, person.by());
    match decision {
        Decision::Tick => timeline::append(tx, conversation, &by, "document-ticked", data).await?,
        Decision::Accept => timeline::append(tx, conversation, &by, "document-accepted", data).await?,
        Decision::Refuse(_) => timeline::append(tx, conversation, &by, "document-refused", data).await?,
        Decision::TakeBack => timeline::append(tx, conversation, &by, "document-put-back", data).await?,
    }
    match decision {
        Decision::Refuse(_) => complete::ask_again(tx, &request, &by).await?,
        _ => complete::settle(tx, &request, &by).await?,
    }
    Ok((request, listed.item))
}

/// Gives a request another day it is due, and its link more time: through a day, as days are where the workspace is. One
/// that had ended is open again, and what is left of its reminders goes on.
pub async fn extend(
    tx: &mut Tx<'_>,
    person: &Person,
    request: DocumentRequestId,
    due: Option<NaiveDate>,
    ends: NaiveDate,
) -> Result<Request> {
    let request = locked::visible(tx, person, request).await?;
    let (workspace, now) = (tx.workspace(), tx.now());
    if matches!(request.state, RequestState::Draft | RequestState::Cancelled) {
        return Err(Error::Conflict(
            "This request is not open: its mail has not left, or it was cancelled.".into(),
        ));
    }
    let end = Zone::load(tx, workspace).await?.end_of(ends);
    let Some(ends_at) = end.filter(|end| *end > now && *end <= now + LONGEST) else {
        return Err(Error::problem("ends", "choose a day within the next year"));
    };
    if due.is_some_and(|due| !(2000..=9999).contains(&due.year())) {
        return Err(Error::problem("due", "choose a day like 2031-05-09"));
    }
    let next = complete::next_reminder(tx, &request).await?;
    sqlx::query!(
        "update document_requests
         set due_date = $3, link_ends_at = $4,
             state = case when state = 'expired' then 'open' else state end,
             ended_at = case when state = 'expired' then null else ended_at end,
             remind_at = case when state = 'expired' then $5::timestamptz else remind_at end,
             reminders = case when state = 'expired' then coalesce($6::smallint, reminders) else reminders end
         where workspace_id = $1 and id = $2",
        workspace.0,
        request.id.0,
        due,
        ends_at,
        next.map(|(_, at)| at),
        next.map(|(sent, _)| sent)
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "requestId": request.id, "dueDate": due });
    timeline::append(tx, request.conversation.id, &person.by(), "documents-extended", data).await?;
    Ok(request)
}

/// Nothing is asked for any more: no reminder leaves, and the link has ended.
pub async fn cancel(tx: &mut Tx<'_>, person: &Person, request: DocumentRequestId) -> Result<Request> {
    let request = locked::visible(tx, person, request).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    if !matches!(request.state, RequestState::Open | RequestState::Expired) {
        return Err(Error::Conflict(
            "There is nothing to cancel: everything is in, or it was cancelled already.".into(),
        ));
    }
    sqlx::query!(
        "update document_requests set state = 'cancelled', ended_at = $3, remind_at = null
         where workspace_id = $1 and id = $2",
        workspace,
        request.id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "requestId": request.id });
    timeline::append(tx, request.conversation.id, &person.by(), "documents-cancelled", data).await?;
    Ok(request)
}
