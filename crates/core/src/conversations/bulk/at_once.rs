//! What a key does to many conversations: one call, one transaction, by the verbs that single calls run, so timeline, events
//! and rules are theirs (docs/decisions/many-by-the-api.md). It has no undo, as single calls of keys have none.
//!
//! One that cannot be changed says why, before anything of it is changed, and stops no other. A fault of ours takes
//! everything back.

use crate::conversations::assign::{self, To};
use crate::conversations::lock::{lock_in_order, lock_visible};
use crate::conversations::ruled::tagging;
use crate::conversations::status::Status;
use crate::conversations::transitions::set_status;
use crate::workspace::access::Actor;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Tx;

/// What becomes of each of them.
#[derive(Debug)]
pub struct WantedChanges {
    pub add: Vec<String>,
    pub remove: Vec<String>,
    pub to: Option<To>,
    pub status: Option<Status>,
}

/// What came of each, in the order of the ids. An id that is given twice, or leads to another, finds its work done.
pub async fn change(
    tx: &mut Tx<'_>,
    actor: &Actor,
    ids: &[String],
    wanted: &WantedChanges,
) -> Result<Vec<Result<()>>> {
    lock_in_order(tx, actor, ids).await?;
    let mut outcomes = Vec::with_capacity(ids.len());
    for id in ids {
        outcomes.push(match may_be_changed(tx, actor, id, wanted).await {
            Ok(()) => Ok(change_one(tx, actor, id, wanted).await?),
            Err(refused @ (Error::Missing(_) | Error::Problems(_))) => Err(refused),
            Err(fault) => return Err(fault),
        });
    }
    Ok(outcomes)
}

/// Everything that can be refused, so that a conversation is changed as wanted or not at all.
async fn may_be_changed(tx: &mut Tx<'_>, actor: &Actor, id: &str, wanted: &WantedChanges) -> Result<()> {
    let conversation = lock_visible(tx, actor, id).await?;
    match wanted.to {
        Some(to) => assign::whom(tx, &conversation, actor, to).await.map(drop),
        None => Ok(()),
    }
}

/// Rules hear of tags and may assign or close: what was asked for comes after them, and what they left is read anew.
async fn change_one(tx: &mut Tx<'_>, actor: &Actor, id: &str, wanted: &WantedChanges) -> Result<()> {
    if !(wanted.add.is_empty() && wanted.remove.is_empty()) {
        let conversation = lock_visible(tx, actor, id).await?;
        tagging::change(tx, &conversation, actor, &wanted.add, &wanted.remove).await?;
    }
    if let Some(to) = wanted.to {
        let conversation = lock_visible(tx, actor, id).await?;
        assign::assign(tx, &conversation, actor, to).await?;
    }
    if let Some(status) = wanted.status {
        let conversation = lock_visible(tx, actor, id).await?;
        set_status(tx, &conversation, actor, status).await?;
    }
    Ok(())
}
