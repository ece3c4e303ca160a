//! Takes away files that no row names: a node died while storing the bytes or between them and the row, or could
//! not remove them when the row failed. A day is looked through once, two days later, when nothing of it can still
//! be on its way. Whoever stores names of files in rows of its own is an owner and is asked which it still holds.

use std::collections::HashSet;
use std::ops::Range;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt};
use sqlx::PgConnection;

use crate::app::App;
use crate::conversations::messages::inbound;
use crate::conversations::secure::files as secure;
use crate::documents::filing;
use crate::due::backoff::{Backoff, Piece};
use crate::due::pass::{Pass, Progress};
use crate::error::Result;
use crate::exports::ask as exports;
use crate::ids::{self, WorkspaceId};
use crate::replies::{saved_replies, upload};
use crate::store::doomed_files;
use crate::workspace::cleanup_progress;

const LATER: Days = Days::new(2);
/// Names that owners are asked about at once.
const BATCH: usize = 10_000;
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
];

pub struct Owner {
    /// Where it names them.
    pub columns: &'static [&'static str],
    /// Which of these blobs the rows of a workspace that have such ids name.
    held: for<'a> fn(&'a mut PgConnection, WorkspaceId, Range<i64>, &'a [String]) -> Held<'a>,
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
                Ok(Progress::Done)
            };
            pass.turn(Piece::Workspace(workspace), sweeping).await?;
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
        let left = without_owner(app, workspace, day, blobs).await?;
        if !left.is_empty() {
            tracing::info!(%workspace, %day, files = left.len(), "files that no row names are removed");
            app.blobs.discard(&left).await;
        }
    }
    Ok(())
}

/// Those of a day's blobs that no owner holds.
async fn without_owner(
    app: &App,
    workspace: WorkspaceId,
    day: NaiveDate,
    mut blobs: Vec<String>,
) -> Result<Vec<String>> {
    for ids in around(day, app.clock.now()) {
        for owner in OWNERS {
            if blobs.is_empty() {
                return Ok(blobs);
            }
            let mut conn = app.connection().await?;
            let held: HashSet<_> =
                (owner.held)(&mut conn, workspace, ids.clone(), &blobs).await?.into_iter().collect();
            blobs.retain(|blob| !held.contains(blob));
        }
    }
    Ok(blobs)
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
