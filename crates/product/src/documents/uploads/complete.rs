//! When everything that was asked for is in (D166): the request ends, its reminders with it, and whoever listens is told
//! once. Should a person refuse something after that, it is open again; nobody is told a second time.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use crate::documents::items;
use crate::documents::progress::RequestState;
use crate::documents::request::{LINK_LIVES, REMINDER_DAYS};
use crate::documents::uploads::locked::Request;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::conversations::notifications;
use rookery_core::conversations::timeline;
use rookery_core::events::event::{AskCompleted, AskKind, Event};
use rookery_core::events::record::record;
use rookery_core::workspace::access::By;

/// How long the link is good after everything was in.
pub const LINK_LIVES_AFTER: TimeDelta = TimeDelta::days(14);

/// To be called in the transaction of every change of an item.
pub async fn settle(tx: &mut Tx<'_>, request: &Request, by: &By) -> Result<()> {
    let workspace = tx.workspace();
    let listed = items::load(tx, workspace, request.id).await?;
    let is_missing = items::missing(&listed).next().is_some();
    match (request.state, is_missing) {
        (RequestState::Open | RequestState::Expired, false) => complete(tx, request, by).await,
        (RequestState::Completed, true) => reopen(tx, request, by).await,
        _ => Ok(()),
    }
}

async fn complete(tx: &mut Tx<'_>, request: &Request, by: &By) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // A link that is over stays so, whoever ticks off what is left.
    let ends_at = if request.ends_at <= now { request.ends_at } else { now + LINK_LIVES_AFTER };
    sqlx::query!(
        "update document_requests
         set state = 'completed', ended_at = $3, remind_at = null, link_ends_at = $4, completed_at = coalesce(completed_at, $3)
         where workspace_id = $1 and id = $2",
        workspace,
        request.id.0,
        now,
        ends_at
    )
    .execute(&mut **tx)
    .await?;
    let conversation = &request.conversation;
    let data = json!({ "requestId": request.id });
    timeline::append(tx, conversation.id, by, "documents-completed", data).await?;
    if request.completed_at.is_some() {
        return Ok(());
    }
    let completed =
        AskCompleted { ask_id: request.id, kind: AskKind::Documents, conversation_id: conversation.id };
    record(tx, conversation.event_context(), &Event::AskCompleted(completed)).await?;
    notifications::documents_are_in(tx, conversation, by).await
}

/// What came will not do and is asked for again: the link that is mailed must be good for a while, whatever it was.
pub async fn ask_again(tx: &mut Tx<'_>, request: &Request, by: &By) -> Result<()> {
    if request.state == RequestState::Expired {
        return reopen(tx, request, by).await;
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update document_requests set link_ends_at = $3 where workspace_id = $1 and id = $2",
        workspace,
        request.id.0,
        request.ends_at.max(now + LINK_LIVES_AFTER)
    )
    .execute(&mut **tx)
    .await?;
    settle(tx, request, by).await
}

/// The next reminder of one that is open again: which it is, and when.
pub(super) async fn next_reminder(
    tx: &mut Tx<'_>,
    request: &Request,
) -> Result<Option<(i16, DateTime<Utc>)>> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let zone = Zone::load(tx, workspace).await?;
    let days = REMINDER_DAYS.iter().enumerate().skip(usize::try_from(request.reminders).unwrap_or_default());
    Ok(days
        .map(|(sent, days)| (sent as i16, zone.days_later(request.opened_at, *days)))
        .find(|(_, at)| *at > now))
}

/// The link lives on, and what is left of the reminders goes on.
async fn reopen(tx: &mut Tx<'_>, request: &Request, by: &By) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let next = next_reminder(tx, request).await?;
    let ends_at = (request.opened_at + LINK_LIVES).max(request.ends_at).max(now + LINK_LIVES_AFTER);
    sqlx::query!(
        "update document_requests
         set state = 'open', ended_at = null, link_ends_at = $3, remind_at = $4, reminders = coalesce($5, reminders)
         where workspace_id = $1 and id = $2",
        workspace.0,
        request.id.0,
        ends_at,
        next.map(|(_, at)| at),
        next.map(|(sent, _)| sent)
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "requestId": request.id });
    timeline::append(tx, request.conversation.id, by, "documents-reopened", data).await
}
