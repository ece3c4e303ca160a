//! Deletes the raw bytes of mail 30 days after it was received (D143). They are kept to be parsed again by a newer
//! version; the message, its verdict and its attachments stay.

use chrono::{Days, NaiveDate};

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::{self, MessageId, WorkspaceId};
use rookery_core::conversations::messages::inbound;
use rookery_core::workspace::cleanup_progress;

/// Full days, not counting the day the mail came.
const KEPT: Days = Days::new(30);
const BATCH: i64 = 500;

/// Deletes what is due, in every workspace.
pub async fn drop_due(app: &App, put_off: &Backoff) -> Result<()> {
    let last = app.clock.now().date_naive() - KEPT - Days::new(1);
    let mut pass = Pass::begin(app, put_off);
    loop {
        let behind =
            cleanup_progress::behind_with_raw(&mut *app.connection().await?, last, &pass.aside()).await?;
        if pass.is_over(&behind) {
            return Ok(());
        }
        for (workspace, done) in behind {
            let dropping = async {
                if drop_days(app, workspace, done + Days::new(1), last).await? {
                    let mut tx = app.begin(workspace).await?;
                    cleanup_progress::note_raw(&mut tx, last).await?;
                    tx.commit().await?;
                }
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Workspace(workspace), dropping).await?;
        }
    }
}

/// False when it was told to stop before all was done.
async fn drop_days(app: &App, workspace: WorkspaceId, first: NaiveDate, last: NaiveDate) -> Result<bool> {
    let (mut from, to) = (MessageId(ids::lowest_on(first)), MessageId(ids::lowest_on(last + Days::new(1))));
    while !app.stop.is_told() {
        let kept = inbound::raw_between(&mut *app.connection().await?, workspace, from, to, BATCH).await?;
        let Some((newest, _)) = kept.last() else { return Ok(true) };
        from = MessageId(newest.0 + 1);
        let (messages, files): (Vec<MessageId>, Vec<Option<String>>) = kept.into_iter().unzip();
        // Blobs first: after a crash their rows still name them, and no blob is left without a row.
        app.blobs.remove(files.iter().flatten()).await?;
        let mut tx = app.begin(workspace).await?;
        inbound::drop_raw(&mut tx, &messages).await?;
        tx.commit().await?;
    }
    Ok(false)
}
