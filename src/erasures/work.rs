//! Erases contacts, step by step: each transaction does a batch and says how far it is, so a crash at any moment costs a
//! batch. Rows go first and name their files in doomed_files; the files go last, and the address with the end.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::app::App;
use crate::app_mail::forget as app_mail;
use crate::bookings::forget as bookings;
use crate::conversations::keeping::{forget, holds};
use crate::conversations::views::saved;
use crate::documents::forget as documents;
use crate::due::backoff::{Aside, Backoff, Piece};
use crate::due::pass::{Pass, Progress};
use crate::erasures::ask::PURPOSE;
use crate::erasures::{finding, list};
use crate::error::{Error, Result};
use crate::exports::{ask as exports, make};
use crate::ids::{ConversationId, ErasureId, WorkspaceId};
use crate::replies::drafts::erase as drafts;
use crate::replies::suppress;
use crate::rules::erase as rules;
use crate::sandbox::erase as sandbox;
use crate::secrets::sealed;
use crate::store::db::Tx;
use crate::store::{answered, doomed_files as files};
use crate::webhooks::erase as webhooks;
use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::erased_addresses::{Hasher, name_of};
use crate::workspace::{notices, one_time_codes};

/// The worker's loop.
pub const LOOP: &str = "erase contacts";

/// Conversations of a contact that one transaction erases.
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
            pass.turn(Piece::Row(workspace, id.0), step(app, workspace, id)).await?;
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
    while step(app, workspace, id).await? == Progress::More {}
    Ok(())
}

struct Erasure {
    id: ErasureId,
    hash: Vec<u8>,
    sealed: Option<Vec<u8>>,
    step: String,
    after: i64,
    /// Done once before, when no hold stood against it.
    replayed: bool,
}

/// One step, or a batch of it. What is not in the database is done outside the transaction.
async fn step(app: &App, workspace: WorkspaceId, id: ErasureId) -> Result<Progress> {
    let row = find(&mut *app.connection().await?, workspace, id).await?;
    let Some(erasure) = row else { return Ok(Progress::Done) };
    match erasure.step.as_str() {
        "finding" => return finding::find(app, workspace, id).await,
        "listing" => list::keep(app, workspace, id, &erasure.hash).await?,
        "files" => {
            while files::remove(app, workspace).await? {}
            make::discard_unfinished(app, workspace).await?;
        }
        _ => {}
    }
    let mut tx = app.begin(workspace).await?;
    // No hold is placed between the look for one and the deed.
    holds::alone(&mut tx).await?;
    // Another node may be at it.
    let Some(erasure) = lock(&mut tx, id).await?.filter(|now| now.step == erasure.step) else {
        return Ok(Progress::More);
    };
    let more = batch(&mut tx, &erasure).await?;
    tx.commit().await?;
    Ok(if more { Progress::More } else { Progress::Done })
}

/// False when the erasure is done.
async fn batch(tx: &mut Tx<'_>, erasure: &Erasure) -> Result<bool> {
    let (workspace, keys) = (tx.workspace(), tx.frame().needs_keys()?.clone());
    let sealed =
        erasure.sealed.as_deref().ok_or_else(|| Error::internal("an erasure without its address"))?;
    let address = sealed::open(&keys, PURPOSE, &sealed::place(workspace, erasure.id), sealed)?;
    let address = String::from_utf8(address).map_err(Error::internal)?;
    match erasure.step.as_str() {
        "listing" => go_on(tx, erasure, "conversations").await?,
        "conversations" => {
            let own = forget::of_contact(tx, &address, CONVERSATIONS).await?;
            erase(tx, erasure, &own, &address).await?;
            if (own.len() as i64) < CONVERSATIONS {
                go_on(tx, erasure, "messages").await?;
            }
        }
        "messages" => {
            let (shared, next) = forget::taking_part(tx, &address, erasure.after, (WALKED, FOUND)).await?;
            erase(tx, erasure, &shared, &address).await?;
            match next {
                Some(after) => note_place(tx, erasure, after).await?,
                None => go_on(tx, erasure, "rest").await?,
            }
        }
        "rest" => {
            held_up(tx, erasure, &[], &address).await?;
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
                go_on(tx, erasure, "answers").await?;
                let archives = exports::end_all(tx).await?;
                files::doom(tx, &archives).await?;
                rules::address(tx, &address).await?;
            }
        }
        "answers" => match webhooks::answers(tx, erasure.after).await? {
            Some(after) => note_place(tx, erasure, after).await?,
            None => go_on(tx, erasure, "files").await?,
        },
        _ => {
            finish(tx, erasure).await?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// A hold that was placed since the erasure began stops it where it is, until the hold ends.
async fn held_up(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    conversations: &[ConversationId],
    address: &str,
) -> Result<()> {
    match !erasure.replayed && holds::stop(tx, address, conversations).await? {
        true => Err(Error::Conflict("A hold was placed since. The erasure waits until it ends.".to_owned())),
        false => Ok(()),
    }
}

/// Takes the contact out of conversations, which are locked. Of their own all goes, of others' only what is theirs.
async fn erase(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    conversations: &[ConversationId],
    address: &str,
) -> Result<()> {
    if conversations.is_empty() {
        return Ok(());
    }
    held_up(tx, erasure, conversations, address).await?;
    let own = forget::own_among(tx, conversations, address).await?;
    let shared: Vec<ConversationId> = conversations.iter().filter(|id| !own.contains(id)).copied().collect();
    let doomed = forget::doomed(tx, conversations, address).await?;
    let (requests, sent_in) = documents::forget_requests(tx, &doomed).await?;
    forget::unlabel(tx, &shared, &requests).await?;
    let taken = forget::erase(tx, conversations, (&own, &doomed), address).await?;
    let stay = forget::named(tx, &own).await?;
    let filed = documents::forget(tx, &own, &stay).await?;
    let passed_on = documents::forget_files(tx, &shared, &taken.blobs).await?;
    let written = drafts::in_conversations(tx, &own).await?;
    app_mail::erase_answered(tx, &own).await?;
    holds::forget_of(tx, &own, erasure.replayed).await?;
    let blobs = [taken.blobs, filed.blobs, passed_on.blobs, sent_in.blobs].concat();
    drafts::lent(tx, &blobs).await?;
    files::doom(tx, &[blobs, written].concat()).await?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update erasures set conversations = conversations + $3, messages = messages + $4, documents = documents + $5
         where workspace_id = $1 and id = $2",
        workspace,
        erasure.id.0,
        conversations.len() as i32,
        taken.messages as i32,
        (filed.documents + passed_on.documents + sent_in.documents) as i32
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
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

async fn go_on(tx: &mut Tx<'_>, erasure: &Erasure, step: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update erasures set step = $3, after_id = 0 where workspace_id = $1 and id = $2",
        workspace,
        erasure.id.0,
        step
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

async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: ErasureId) -> Result<Option<Erasure>> {
    Ok(sqlx::query_as!(
        Erasure,
        r#"select id as "id: ErasureId", address_hash as hash, address as sealed, step, after_id as after, replayed
           from erasures
           where workspace_id = $1 and id = $2 and done_at is null"#,
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?)
}

async fn lock(tx: &mut Tx<'_>, id: ErasureId) -> Result<Option<Erasure>> {
    let workspace = tx.workspace();
    sqlx::query!("select from erasures where workspace_id = $1 and id = $2 for update", workspace.0, id.0)
        .fetch_optional(&mut **tx)
        .await?;
    find(tx, workspace, id).await
}
