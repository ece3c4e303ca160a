//! Erases contacts, step by step: each transaction does a batch and says how far it is, so a crash at any moment costs a
//! batch. Rows go first and name their files in doomed_files; the files go last, and the address with the end.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::erasures::ask::PURPOSE;
use crate::erasures::erasure::Erasure;
use crate::erasures::steps::ErasureStep;
use crate::erasures::{erasure, finding, list, taking};
use crate::exports::{ask as exports, make};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ErasureId, WorkspaceId};
use rookery_base::secrets::sealed;
use rookery_base::store::db::Tx;
use rookery_base::store::{answered, doomed_files as files};
use rookery_core::conversations::keeping::{forget, holds};
use rookery_core::conversations::views::saved;
use rookery_core::rules::erase as rules;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::erased_addresses::{Hasher, name_of};
use rookery_core::workspace::{notices, one_time_codes};
use rookery_mail::sandbox::erase as sandbox;
use rookery_product::app_mail::forget as app_mail;
use rookery_product::bookings::forget as bookings;
use rookery_product::replies::drafts::erase as drafts;
use rookery_product::replies::suppress;
use rookery_webhooks::erase as webhooks;

/// The worker's loop.
pub const LOOP: &str = "erase contacts";

/// Conversations of a contact that one transaction looks at. How many of them it erases, their length decides (taking.rs).
const CONVERSATIONS: i64 = 200;
/// Messages that one transaction walks over, looking for the contact in other conversations, and how many of these it
/// takes the contact out of.
const WALKED: i64 = 5_000;
const FOUND: usize = 200;

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let undone = undone(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&undone) {
            return Ok(());
        }
        for (workspace, id) in undone {
            pass.turn(BackoffPiece::Row(workspace, id.0), step(app, workspace, id)).await?;
        }
    }
}

/// When the oldest that is not done was asked for.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(created_at) from erasures where done_at is null")
        .fetch_one(conn)
        .await?)
}

async fn undone(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<(WorkspaceId, ErasureId)>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: ErasureId" from erasures
           where done_at is null
             and id not in (select unnest($1::bigint[])) and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by created_at limit 100"#,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.id)).collect())
}

/// All that is left of one, at once: before the service takes part in anything, after an older backup came back.
pub async fn to_the_end(app: &App, workspace: WorkspaceId, id: ErasureId) -> Result<()> {
    while step(app, workspace, id).await? == PassProgress::More {}
    Ok(())
}

/// One step, or a batch of it. What is not in the database is done outside the transaction.
async fn step(app: &App, workspace: WorkspaceId, id: ErasureId) -> Result<PassProgress> {
    let row = erasure::find(&mut *app.connection().await?, workspace, id).await?;
    let Some(erasure) = row else { return Ok(PassProgress::Done) };
    match ErasureStep::parse(&erasure.step)? {
        ErasureStep::Finding => return finding::find(app, workspace).await,
        ErasureStep::Listing => list::keep(app, workspace, id, &erasure.hash).await?,
        ErasureStep::Files => {
            while files::remove(app, workspace).await? {}
            make::discard_unfinished(app, workspace).await?;
        }
        ErasureStep::Conversations | ErasureStep::Messages | ErasureStep::Rest | ErasureStep::Answers => {}
    }
    let mut tx = app.begin(workspace).await?;
    // No hold is placed between the look for one and the deed.
    holds::alone(&mut tx).await?;
    // Another node may be at it.
    let Some(erasure) = erasure::lock(&mut tx, id).await?.filter(|now| now.step == erasure.step) else {
        return Ok(PassProgress::More);
    };
    let more = batch(&mut tx, &erasure).await?;
    tx.commit().await?;
    Ok(if more { PassProgress::More } else { PassProgress::Done })
}

/// False when the erasure is done.
async fn batch(tx: &mut Tx<'_>, erasure: &Erasure) -> Result<bool> {
    let (workspace, keys) = (tx.workspace(), tx.frame().needs_keys()?.clone());
    let sealed =
        erasure.sealed.as_deref().ok_or_else(|| Error::internal("an erasure without its address"))?;
    let address = sealed::open(&keys, PURPOSE, &sealed::place(workspace, erasure.id), sealed)?;
    let address = String::from_utf8(address).map_err(Error::internal)?;
    if let Some(long) = erasure.long() {
        taking::go_on(tx, erasure, long, &address).await?;
        return Ok(true);
    }
    match ErasureStep::parse(&erasure.step)? {
        // What finds the address goes on by itself.
        ErasureStep::Finding => {}
        ErasureStep::Listing => go_on(tx, erasure, ErasureStep::Conversations).await?,
        ErasureStep::Conversations => {
            let own = forget::of_contact(tx, &address, CONVERSATIONS).await?;
            let all = taking::take_out(tx, erasure, &own, &address).await?;
            if all && (own.len() as i64) < CONVERSATIONS {
                go_on(tx, erasure, ErasureStep::Messages).await?;
            }
        }
        ErasureStep::Messages => {
            let (shared, next) = forget::taking_part(tx, &address, erasure.after, WALKED, FOUND).await?;
            // Those that are done are not found again, so the walk stays where it is until all are.
            if taking::take_out(tx, erasure, &shared, &address).await? {
                match next {
                    Some(after) => note_place(tx, erasure, after).await?,
                    None => go_on(tx, erasure, ErasureStep::Rest).await?,
                }
            }
        }
        ErasureStep::Rest => {
            taking::held_up(tx, erasure, &[], &address).await?;
            if !app_mail::erase(tx, &address).await? && !bookings::erase(tx, &address).await? {
                let hasher = Hasher::must(tx, &keys, workspace).await?;
                let written = drafts::to_address(tx, &address).await?;
                files::doom(tx, &written).await?;
                suppress::erase(tx, &address, &hasher).await?;
                forget::erase_merged(tx, &address).await?;
                saved::erase(tx, &address).await?;
                holds::forget(tx, &address, erasure.replayed).await?;
                sandbox::address(tx, &address).await?;
                notices::erase(tx).await?;
                one_time_codes::erase(tx, &address).await?;
                answered::erase(tx, workspace, &address).await?;
                go_on(tx, erasure, ErasureStep::Answers).await?;
                let archives = exports::end_all(tx).await?;
                files::doom(tx, &archives).await?;
                rules::address(tx, &address).await?;
            }
        }
        ErasureStep::Answers => match webhooks::answers(tx, erasure.after).await? {
            Some(after) => note_place(tx, erasure, after).await?,
            None => go_on(tx, erasure, ErasureStep::Files).await?,
        },
        ErasureStep::Files => {
            finish(tx, erasure).await?;
            return Ok(false);
        }
    }
    Ok(true)
}

async fn finish(tx: &mut Tx<'_>, erasure: &Erasure) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let done = sqlx::query!(
        "update erasures set step = 'done', done_at = $3, address = null where workspace_id = $1 and id = $2
         returning conversations, messages, documents",
        workspace,
        erasure.id.0,
        now
    )
    .fetch_one(&mut **tx)
    .await?;
    let data = json!({ "conversations": done.conversations, "messages": done.messages, "documents": done.documents });
    let subject = Subject { id: &erasure.id, name: &name_of(&erasure.hash) };
    audit::record(tx, &By::System, Did::ErasureDone, subject, data).await
}

async fn go_on(tx: &mut Tx<'_>, erasure: &Erasure, step: ErasureStep) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update erasures set step = $3, after_id = 0 where workspace_id = $1 and id = $2",
        workspace,
        erasure.id.0,
        step.as_str()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn note_place(tx: &mut Tx<'_>, erasure: &Erasure, after: i64) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update erasures set after_id = $3 where workspace_id = $1 and id = $2",
        workspace,
        erasure.id.0,
        after
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
