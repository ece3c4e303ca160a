//! Takes away files that no row names: a node died while storing the bytes or between them and the row, or could
//! not remove them when the row failed. A day is looked through once, two days later, when nothing of it can still
//! be on its way. Whoever stores names of files in rows of its own is an owner and is asked which it still holds.
//!
//! All cells have one store. A workspace that has moved away has no rows here any more, and all its files would seem to be
//! nobody's: so it is held where it is from the last question to the removal.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt};
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{self, WorkspaceId};
use rookery_base::store::doomed_files;
use rookery_core::conversations::messages::inbound;
use rookery_core::conversations::secure::files as secure;
use rookery_core::workspace::{cleanup_progress, signatures};
use rookery_product::documents::filing;
use rookery_product::replies::{saved_replies, upload};
use rookery_upkeep::exports::ask as exports;
use rookery_upkeep::moves::strays;

const LATER: Days = Days::new(2);
/// Names that owners are asked about at once.
const BATCH: usize = 10_000;
/// How many are removed in one transaction, and how long that may take.
const AT_ONCE: usize = 50;
const REMOVING: Duration = Duration::from_secs(3);
/// Rows that are looked through at once: those that were made within so many hours.
const HOURS: i64 = 6;

/// Who names files in rows. What no owner holds is removed, so a column that names files and is missing here would lose
/// them: a test compares this list with the schema.
pub const OWNERS: &[Owner] = &[
    Owner {
        columns: &["messages.raw_blob", "messages.attachments"],
        held: |conn, workspace, ids, blobs| Box::pin(inbound::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["secure_files.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(secure::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["documents.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(filing::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["written_draft_files.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(upload::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["doomed_files.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(doomed_files::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["exports.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(exports::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["saved_reply_files.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(saved_replies::held(conn, workspace, ids, blobs)),
    },
    Owner {
        columns: &["signature_files.blob"],
        held: |conn, workspace, ids, blobs| Box::pin(signatures::pictures::held(conn, workspace, ids, blobs)),
    },
];

pub struct Owner {
    /// Where it names them.
    pub columns: &'static [&'static str],
    /// Which of these blobs the rows of a workspace that have such ids name.
    held: for<'a> fn(&'a mut PgConnection, WorkspaceId, Range<i64>, &'a [String]) -> Held<'a>,
}

impl Owner {
    /// Leaves those that it does not hold.
    async fn pick_out(
        &self,
        conn: &mut PgConnection,
        workspace: WorkspaceId,
        ids: Range<i64>,
        blobs: &mut Vec<String>,
    ) -> Result<()> {
        let held: HashSet<_> = (self.held)(conn, workspace, ids, blobs).await?.into_iter().collect();
        blobs.retain(|blob| !held.contains(blob));
        Ok(())
    }
}

type Held<'a> = BoxFuture<'a, Result<Vec<String>>>;

/// Looks through every day that is due.
pub async fn sweep(app: &App, put_off: &Backoff) -> Result<()> {
    let last = app.clock.now().date_naive() - LATER;
    let mut pass = Pass::begin(app, put_off);
    loop {
        let behind = cleanup_progress::behind(&mut *app.connection().await?, last, &pass.aside()).await?;
        if pass.is_over(&behind) {
            return Ok(());
        }
        for (workspace, done) in behind {
            let sweeping = async {
                for day in done.iter_days().skip(1).take_while(|day| *day <= last) {
                    sweep_day(app, workspace, day).await?;
                }
                let mut tx = app.begin(workspace).await?;
                cleanup_progress::note(&mut tx, last).await?;
                tx.commit().await?;
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Workspace(workspace), sweeping).await?;
        }
    }
}

async fn sweep_day(app: &App, workspace: WorkspaceId, day: NaiveDate) -> Result<()> {
    let unfinished = app.blobs.discard_unfinished(workspace, day).await?;
    if unfinished > 0 {
        tracing::info!(%workspace, %day, files = unfinished, "files that were never finished are removed");
    }
    let mut batches = app.blobs.of_day(workspace, day).try_chunks(BATCH).boxed();
    while let Some(blobs) = batches.try_next().await.map_err(|cut| cut.1)? {
        let orphans = Orphans { workspace, day, asked_at: app.clock.now() };
        let left = orphans.pick(app, blobs).await?;
        for some in left.chunks(AT_ONCE) {
            orphans.remove(app, some.to_vec()).await?;
        }
    }
    Ok(())
}

/// Files of a day that no row names, as it seemed when owners were asked.
struct Orphans {
    workspace: WorkspaceId,
    day: NaiveDate,
    asked_at: DateTime<Utc>,
}

impl Orphans {
    /// Those that no owner holds: nothing is held meanwhile.
    async fn pick(&self, app: &App, mut blobs: Vec<String>) -> Result<Vec<String>> {
        for ids in around(self.day, self.asked_at) {
            for owner in OWNERS {
                if blobs.is_empty() {
                    return Ok(blobs);
                }
                owner
                    .pick_out(&mut *app.connection().await?, self.workspace, ids.clone(), &mut blobs)
                    .await?;
            }
        }
        Ok(blobs)
    }

    /// Asks once more and removes, in a transaction of the workspace: it is not begun behind a fence, and no fence closes before
    /// its end. It is short, because a move waits for it: what was asked and cannot have changed is not asked again.
    async fn remove(&self, app: &App, mut blobs: Vec<String>) -> Result<()> {
        let mut tx = app.begin(self.workspace).await?;
        strays::lives_here(app, self.workspace).await?;
        for ids in changed_since(self.day, self.asked_at) {
            for owner in OWNERS {
                if blobs.is_empty() {
                    return Ok(());
                }
                owner.pick_out(&mut tx, self.workspace, ids.clone(), &mut blobs).await?;
            }
        }
        if !blobs.is_empty() {
            let (workspace, day) = (self.workspace, self.day);
            tracing::info!(%workspace, %day, files = blobs.len(), "files that no row names are removed");
            // The rest is removed when this is tried again.
            let removing = tokio::time::timeout(REMOVING, app.blobs.discard(&blobs)).await;
            removing.map_err(|_| Error::internal("files are removed too slowly"))?;
        }
        tx.commit().await
    }
}

/// The ids of rows that can name what was stored on a day although none did when owners were asked: those of the day itself, and
/// all that were made since, with some hours for what was being written just then.
fn changed_since(day: NaiveDate, asked_at: DateTime<Utc>) -> impl Iterator<Item = Range<i64>> {
    let since = ids::lowest_at(asked_at - TimeDelta::hours(HOURS));
    around(day, asked_at).take(24 / HOURS as usize).chain(std::iter::once(since..i64::MAX))
}

/// The ids of rows that can name what was stored on a day. A row is made within moments of its files, and most are found
/// on the day itself, so that comes first. A row may be dated later than its files by any time, after a clock that ran
/// ahead was put right: so everything after is asked for too, a few hours at a time however far the sweep is behind, and
/// at last what is dated in the future.
fn around(day: NaiveDate, now: DateTime<Utc>) -> impl Iterator<Item = Range<i64>> {
    let begins = day.and_time(NaiveTime::MIN).and_utc();
    let until_now = ((now - begins).num_hours() / HOURS + 1) * HOURS;
    let future = until_now.max(48);
    let hours = [0..24, 24..48, -24..0, 48..future].into_iter().flatten().step_by(HOURS as usize);
    let windows = hours.map(move |hour| {
        let from = begins + TimeDelta::hours(hour);
        ids::lowest_at(from)..ids::lowest_at(from + TimeDelta::hours(HOURS))
    });
    windows.chain(std::iter::once(ids::lowest_at(begins + TimeDelta::hours(future))..i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_far_behind_a_sweep_is_few_questions_are_asked_while_the_workspace_is_held() {
        let day = NaiveDate::from_ymd_opt(2031, 5, 1).unwrap();
        for days in [2, 60, 400] {
            let asked_at = (day + Days::new(days)).and_time(NaiveTime::MIN).and_utc();
            let again: Vec<_> = changed_since(day, asked_at).collect();
            assert_eq!(again.len(), 5, "{days} days behind");
            assert_eq!(again[0].start, ids::lowest_on(day));
            assert_eq!(again[3].end, ids::lowest_on(day + Days::new(1)));
            assert!(again[4].start < ids::lowest_at(asked_at) && again[4].end == i64::MAX);
        }
    }

    #[test]
    fn owners_are_asked_for_every_row_of_the_day_before_it_and_of_any_day_after() {
        let day = NaiveDate::from_ymd_opt(2031, 5, 1).unwrap();
        let now = (day + Days::new(30)).and_time(NaiveTime::MIN).and_utc() + TimeDelta::minutes(1);
        let mut asked: Vec<_> = around(day, now).collect();
        assert_eq!(asked[0].start, ids::lowest_on(day));
        asked.sort_by_key(|ids| ids.start);
        assert!(asked.windows(2).all(|pair| pair[0].end == pair[1].start), "{asked:?}");
        assert_eq!(asked[0].start, ids::lowest_on(day - Days::new(1)));
        assert_eq!(asked.last().unwrap().end, i64::MAX);
        let window = ids::lowest_at(now + TimeDelta::hours(HOURS)) - ids::lowest_at(now);
        let future = asked.pop().unwrap();
        assert!(future.start >= ids::lowest_at(now), "only what is dated ahead is asked for in one go");
        assert!(asked.iter().all(|ids| ids.end - ids.start == window), "{asked:?}");
    }
}
