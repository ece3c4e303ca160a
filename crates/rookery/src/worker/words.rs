//! The loop that indexes words of mail for the search, a batch of each workspace in turn.
//!
//! A message that cannot be indexed is found by halving the batch, and keeps nobody else waiting.

use std::collections::HashMap;

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece, caught};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_core::conversations::search::index::{self, IndexLimits};
use rookery_core::conversations::search::pending;

/// Messages of a workspace that are tried alone in one pass, because they could not be indexed.
const MOST_ALONE: u32 = 3;

/// Works off the notes there are, a batch of each workspace in turn: however much one has, the others wait for one
/// batch of it. What comes meanwhile is left for the next look, unless there is more to do anyway: a few messages at a
/// time cost almost as much as many, and a search works off the notes of its own workspace first.
pub async fn index_words(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    let mut alone: HashMap<WorkspaceId, u32> = HashMap::new();
    loop {
        let (now, aside) = (app.clock.now(), pass.aside());
        let waiting = pending::unindexed(&mut *app.connection().await?, now, &aside).await?;
        if pass.is_over(&waiting) {
            return Ok(());
        }
        for workspace in waiting {
            let alone = alone.entry(workspace).or_default();
            let indexing = index_words_of(app, put_off, workspace, alone);
            pass.turn(BackoffPiece::Workspace(workspace), indexing).await?;
        }
    }
}

/// One batch of a workspace. When it fails, one of its messages is to blame: half as many are tried, until that one
/// stands alone. It is then tried again alone and later. A workspace where many fail is put off as a whole.
async fn index_words_of(
    app: &App,
    put_off: &Backoff,
    workspace: WorkspaceId,
    alone: &mut u32,
) -> Result<PassProgress> {
    let mut batch = index::OF_THE_WORKER;
    loop {
        let error = match index_batch(app, workspace, batch).await {
            Ok(more) if more || batch.messages < index::OF_THE_WORKER.messages => {
                return Ok(PassProgress::More);
            }
            Ok(_) => return Ok(PassProgress::Done),
            Err(error) => error,
        };
        if error.is_outage() || error.is_fenced() {
            return Err(error);
        }
        if batch.messages > 1 {
            batch.messages /= 2;
            continue;
        }
        put_batch_off(app, workspace, batch).await?;
        *alone += 1;
        if *alone > MOST_ALONE {
            return Err(error);
        }
        tracing::warn!(%error, %workspace, "words could not be indexed and will be tried again");
        put_off.count(&error);
        return Ok(PassProgress::More);
    }
}

async fn index_batch(app: &App, workspace: WorkspaceId, batch: IndexLimits) -> Result<bool> {
    let mut tx = app.begin(workspace).await?;
    let indexed = caught(index::index(&mut tx, batch)).await;
    Ok(tx.end(indexed).await?.more)
}

async fn put_batch_off(app: &App, workspace: WorkspaceId, batch: IndexLimits) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    index::put_off(&mut tx, batch).await?;
    tx.commit().await
}
