//! Takes a contact out of conversations, no more in a transaction than its allowance. What is longer than that is taken part by
//! part, the newest mail first, and the erasure's row says how far it is: a crash or a hold at any moment costs a part.
//!
//! Of a long conversation that is the contact's own the head is emptied first. From then on nobody finds it by a name or a word,
//! and nobody answers what is half gone.

use crate::erasures::erasure::{Erasure, LongConversation};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files as files;
use rookery_core::conversations::keeping::forget::{self, Portion};
use rookery_core::conversations::keeping::holds;
use rookery_core::conversations::keeping::parts::{self, ALLOWED};
use rookery_product::app_mail::forget as app_mail;
use rookery_product::documents::forget as documents;
use rookery_product::replies::drafts::erase as drafts;

/// A hold that was placed since the erasure began stops it where it is, until the hold ends.
pub(super) async fn held_up(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    conversations: &[ConversationId],
    address: &str,
) -> Result<()> {
    if !erasure.replayed && holds::stop(tx, address, conversations).await? {
        return Err(Error::Conflict("A hold was placed since. The erasure waits until it ends.".to_owned()));
    }
    Ok(())
}

/// Takes the contact out of conversations, which are locked: of those that fit, or of a part of the first. Of their own all
/// goes, of others' only what is theirs. True when all are done.
pub(super) async fn take_out(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    conversations: &[ConversationId],
    address: &str,
) -> Result<bool> {
    let fitting = parts::fitting(tx, conversations, ALLOWED).await?;
    let now = match conversations.first() {
        None => return Ok(true),
        Some(_) => &conversations[..fitting.max(1)],
    };
    held_up(tx, erasure, now, address).await?;
    let own = forget::own_among(tx, now, address).await?;
    if fitting == 0 {
        forget::erase_heads(tx, now, &own).await?;
        note_place(
            tx,
            erasure,
            Some(LongConversation { id: now[0], is_own: !own.is_empty(), before: MessageId(i64::MAX) }),
        )
        .await?;
        return Ok(false);
    }
    let messages = parts::all(tx, now).await?;
    let portion = Portion { conversations: now, own: &own, messages: &messages };
    let gone = take_mail(tx, portion, address).await?;
    forget::clear(tx, portion, address, i64::MAX).await?;
    let stay = forget::named(tx, &own).await?;
    let filed = documents::forget(tx, &own, &stay, i64::MAX).await?;
    files::doom(tx, &filed.blobs).await?;
    drafts::lent(tx, &filed.blobs).await?;
    end(tx, erasure, portion).await?;
    count(tx, erasure, now.len(), gone.messages, gone.documents + filed.documents).await?;
    Ok(fitting == conversations.len())
}

/// Goes on with one that is taken part by part.
pub(super) async fn go_on(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    long: LongConversation,
    address: &str,
) -> Result<()> {
    if !lock(tx, long.id).await? {
        return note_place(tx, erasure, None).await;
    }
    let conversations = [long.id];
    held_up(tx, erasure, &conversations, address).await?;
    let own = if long.is_own { &conversations[..] } else { &[] };
    let messages = parts::newest(tx, long.id, long.before, ALLOWED).await?;
    let portion = Portion { conversations: &conversations, own, messages: &messages };
    if let Some(before) = messages.iter().min() {
        let gone = take_mail(tx, portion, address).await?;
        count(tx, erasure, 0, gone.messages, gone.documents).await?;
        return note_place(tx, erasure, Some(LongConversation { before: *before, ..long })).await;
    }
    if forget::clear(tx, portion, address, ALLOWED.rows).await? {
        return Ok(());
    }
    let stay = forget::named(tx, own).await?;
    let filed = documents::forget(tx, own, &stay, ALLOWED.rows).await?;
    files::doom(tx, &filed.blobs).await?;
    drafts::lent(tx, &filed.blobs).await?;
    if filed.documents == ALLOWED.rows {
        return count(tx, erasure, 0, 0, filed.documents).await;
    }
    end(tx, erasure, portion).await?;
    count(tx, erasure, 1, 0, filed.documents).await?;
    note_place(tx, erasure, None).await
}

/// What went with mail.
struct Gone {
    messages: i64,
    documents: i64,
}

/// Mail of the contact, with what was asked for in it and filed from it.
async fn take_mail(tx: &mut Tx<'_>, portion: Portion<'_>, address: &str) -> Result<Gone> {
    let doomed = forget::doomed(tx, portion, address).await?;
    let (requests, sent_in) = documents::forget_requests(tx, &doomed).await?;
    let others: Vec<ConversationId> =
        portion.conversations.iter().filter(|id| !portion.own.contains(id)).copied().collect();
    forget::unlabel(tx, &others, &requests).await?;
    let taken = forget::erase(tx, portion, &doomed, address).await?;
    let filed = documents::forget_files(tx, portion.conversations, &taken.blobs).await?;
    let blobs = [taken.blobs, filed.blobs, sent_in.blobs].concat();
    drafts::lent(tx, &blobs).await?;
    files::doom(tx, &blobs).await?;
    Ok(Gone { messages: taken.messages, documents: filed.documents + sent_in.documents })
}

/// When the mail of conversations is done: what is left of each, once.
async fn end(tx: &mut Tx<'_>, erasure: &Erasure, portion: Portion<'_>) -> Result<()> {
    let written = drafts::in_conversations(tx, portion.own).await?;
    files::doom(tx, &written).await?;
    app_mail::erase_answered(tx, portion.own).await?;
    holds::forget_of(tx, portion.own, erasure.replayed).await?;
    forget::erase_heads(tx, portion.conversations, portion.own).await
}

async fn lock(tx: &mut Tx<'_>, id: ConversationId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let locked = sqlx::query!(
        "select from conversations where workspace_id = $1 and id = $2 for update",
        workspace,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(locked.is_some())
}

async fn count(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    conversations: usize,
    messages: i64,
    documents: i64,
) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update erasures set conversations = conversations + $3, messages = messages + $4, documents = documents + $5
         where workspace_id = $1 and id = $2",
        workspace,
        erasure.id.0,
        conversations as i32,
        messages as i32,
        documents as i32
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn note_place(tx: &mut Tx<'_>, erasure: &Erasure, long: Option<LongConversation>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update erasures set part_of = $3, part_before = $4, part_own = $5 where workspace_id = $1 and id = $2",
        workspace,
        erasure.id.0,
        long.map(|long| long.id.0),
        long.map(|long| long.before.0),
        long.is_some_and(|long| long.is_own)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
