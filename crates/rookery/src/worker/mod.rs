//! Every loop of the program, one line each in `LOOPS`: what it works off, how often it looks, how many rows at once, and
//! when its next row is due.
//!
//! A loop only ever does work that is written down in rows, so any number of nodes can run it and a stop at
//! any point loses nothing. The due time of the next row wakes a loop early; that is a hint, the pause is the rule.

mod agent_calls;
mod days;
pub mod key_uses;
pub mod metrics;
mod passes;
pub mod supervise;
pub mod sweep;
mod words;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, TryFutureExt};
use tokio::task::JoinSet;

use self::passes::{
    fold_counts, forget_app_mail, look_at_streams, look_at_whole_outbox, mail_what_is_unread, next_forgotten,
    release_revoked, remind_of_documents, wake_snoozed,
};
use self::supervise::supervise;

use rookery_assistants::tasks::{self, TaskKind};
use rookery_assistants::{draft, read, scores, sort};
use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, caught};
use rookery_base::error::{Error, Result};
use rookery_base::store::doomed_files;
use rookery_core::conversations::keeping;
use rookery_core::conversations::messages::sending;
use rookery_core::conversations::notifications::digest;
use rookery_core::conversations::search::index;
use rookery_core::conversations::search::pending;
use rookery_core::conversations::sorting;
use rookery_core::conversations::{bulk, counts, snooze};
use rookery_core::events::take;
use rookery_core::workspace::audit::watch;
use rookery_core::workspace::domains::settle;
use rookery_core::workspace::keys::tell_changes;
use rookery_core::workspace::{keys, notices};
use rookery_mail::incoming::{app_mail_body, drop_raw};
use rookery_mail::outgoing::{invite, notify, send};
use rookery_mail::sandbox::answer;
use rookery_product::app_mail::body_fetch;
use rookery_product::bookings::busy;
use rookery_product::bookings::mails;
use rookery_product::documents::uploads::expire;
use rookery_product::documents::{request, to_read};
use rookery_product::replies::draft_end;
use rookery_upkeep::departures::hand_over;
use rookery_upkeep::moves::strays;
use rookery_upkeep::{erasures, exports};
use rookery_webhooks::{claim, deliver, fan_out, redeliver_failed};

type Run<'a> = BoxFuture<'a, Result<()>>;
type DueTime<'a> = BoxFuture<'a, Result<Option<DateTime<Utc>>>>;

struct Loop {
    name: &'static str,
    /// The longest pause between two looks.
    every: Duration,
    /// How many of its rows a node works on at the same time.
    at_once: usize,
    /// Works off what is due now. What fails is put off; an error means that nothing could be done.
    run: for<'a> fn(&'a App, &'a Turn) -> Run<'a>,
    /// When its next row is due, or was.
    next: for<'a> fn(&'a App) -> DueTime<'a>,
}

/// What a loop is given for each pass.
struct Turn {
    at_once: usize,
    put_off: Arc<Backoff>,
}

/// The due time of a loop's next row, or none for a loop that only looks at intervals.
macro_rules! due_time {
    ($app:ident, $conn:ident) => {
        |_| Box::pin(async { Ok(None) })
    };
    ($app:ident, $conn:ident, $next:expr) => {
        |$app| {
            Box::pin(async move {
                let $conn = &mut *$app.connection().await?;
                $next.await
            })
        }
    };
}

/// A `Loop` for each line: name, longest pause, how many rows at once, what it does, and when its next row is due.
/// The last is left out where the pause alone decides. The lines may use the names that the first line gives.
macro_rules! loops {
    (|$app:ident, $put_off:ident, $at_once:ident, $conn:ident|
     $($name:expr, $every:expr, $most:expr, $run:expr $(, $next:expr)?;)*) => {
        &[$(Loop {
            name: $name,
            every: $every,
            at_once: $most,
            run: |$app, turn| {
                let ($put_off, $at_once) = (&turn.put_off, turn.at_once);
                // Not every loop needs both.
                let _ = ($put_off, $at_once);
                Box::pin($run)
            },
            next: due_time!($app, $conn $(, $next)?),
        }),*]
    };
}

const fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

const fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// In the order in which one thing leads to another.
const LOOPS: &[Loop] = loops! { |app, put_off, at_once, conn|
    "remind of documents", seconds(1), 1, remind_of_documents(app, put_off), request::next_reminder(conn);
    expire::LOOP, seconds(60), 1, expire::work_off(app, put_off), expire::next(conn);
    send::LOOP, seconds(1), 12, send::send_due(app, at_once), sending::next(conn, false);
    // One at a time: there is no network to wait for, and a crash leaves at most one mail that was handed over and not
    // written down.
    send::SANDBOX_LOOP, seconds(1), 1, send::send_due_in_sandbox(app, at_once), sending::next(conn, true);
    digest::LOOP, seconds(10), 1, mail_what_is_unread(app, put_off), digest::next(conn);
    notify::LOOP, seconds(10), 4, notify::notify_due(app, at_once), notices::next(conn);
    invite::LOOP, seconds(1), 4, invite::invite_due(app, at_once), mails::next(conn);
    answer::LOOP, seconds(1), 4, answer::answer_due(app, at_once), answer::next(conn);
    "wake snoozed", seconds(1), 1, wake_snoozed(app, put_off), snooze::next(conn);
    bulk::work::LOOP, seconds(1), 3, bulk::work::work_off(app, put_off, at_once), bulk::work::next(conn);
    tell_changes::LOOP, seconds(600), 1, tell_changes::tell(app, put_off);
    "release revoked agents", seconds(5), 1, release_revoked(app, put_off), keys::next_unreleased(conn);
    hand_over::LOOP, seconds(5), 1, hand_over::work_off(app, put_off), hand_over::next(conn);
    erasures::work::LOOP, seconds(5), 1, erasures::work::work_off(app, put_off), erasures::work::next(conn);
    erasures::retention::FILLING, seconds(600), 1, erasures::retention::fill(app, put_off);
    erasures::retention::LOOP, seconds(5), 1, erasures::retention::work_off(app, put_off), keeping::retention::next(conn);
    exports::make::LOOP, seconds(5), 3, exports::make::work_off(app, put_off, at_once), exports::make::next(conn);
    "forget drafts", seconds(3600), 1, draft_end::forget(app, put_off);
    doomed_files::LOOP, seconds(10), 1, doomed_files::work_off(app, put_off), doomed_files::next(conn);
    redeliver_failed::LOOP, seconds(5), 1, redeliver_failed::work_off(app, put_off), redeliver_failed::next(conn);
    fan_out::LOOP, milliseconds(200), 1, fan_out::run(app, put_off), take::next(conn, app.outbox.place());
    "look at the whole outbox", seconds(10), 1, look_at_whole_outbox(app);
    "deliver webhooks", milliseconds(200), 1000, deliver::run(app, put_off, at_once), claim::next(conn, app.clock.now());
    app_mail_body::LOOP, seconds(5), 4, app_mail_body::fetch_due(app, at_once), body_fetch::next(conn);
    busy::read::LOOP, seconds(10), 2, busy::read::read_due(app, at_once), busy::read::next(conn);
    read::LOOP, seconds(5), 1, read::read_due(app, at_once), to_read::next(conn);
    watch::LOOP, seconds(3600), 1, watch::work_off(app, put_off), watch::next(conn);
    "forget app mail", seconds(3600), 1, forget_app_mail(app, put_off), next_forgotten(app, conn);
    "follow the database's clock", seconds(10), 1, app.follow_the_databases_clock();
    key_uses::LOOP, seconds(10), 1, key_uses::write_down(app);
    agent_calls::LOOP, seconds(5), 1, agent_calls::write_down(app, put_off);
    strays::LOOP, seconds(60), 1, strays::fence(app).map_ok(drop);
    settle::LOOP, seconds(600), 1, settle::settle_all(app);
    "look at streams", seconds(30), 1, look_at_streams(app);
    "keep days", seconds(3600), 1, days::keep_days(app);
    "sweep files", seconds(3600), 1, sweep::sweep(app, put_off);
    "drop raw mail", seconds(3600), 1, drop_raw::drop_due(app, put_off);
    index::LOOP, seconds(1), 1, words::index_words(app, put_off), pending::next(conn);
    sort::LOOP, seconds(1), 1, sort::work_off(app, put_off), sorting::notes::next(conn);
    sort::ask::LOOP, seconds(2), 8, sort::ask::ask_due(app, at_once), tasks::next(conn, TaskKind::Sort);
    read::ask::LOOP, seconds(2), 4, read::ask::ask_due(app, at_once), tasks::next(conn, TaskKind::Read);
    draft::LOOP, seconds(2), 8, draft::draft_due(app, at_once), tasks::next(conn, TaskKind::Draft);
    scores::LOOP, seconds(600), 1, scores::learn_due(app, put_off);
    "fold counts", seconds(5), 1, fold_counts(app, put_off), counts::next(conn);
};

/// Never look more often than this, whatever the next due time says: a row that cannot be worked off now
/// must not make its loop spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Runs all loops until the word to stop; what has begun is finished first, the rest is given back. An error means that
/// a loop is not looked after any more.
pub async fn run(app: Arc<App>) -> Result<()> {
    let mut loops: JoinSet<()> = LOOPS.iter().map(|work| repeat(work, app.clone())).collect();
    while let Some(ended) = loops.join_next().await {
        ended.map_err(Error::internal)?;
    }
    Ok(())
}

/// Does everything once that the loops would do now, and says when something failed or was put off.
pub async fn run_once(app: &App) -> Result<()> {
    let mut failed = Ok(());
    for work in LOOPS {
        failed = failed.and(run_alone(work, app).await);
    }
    failed
}

/// The same, but only by loops that say that a row of theirs is due.
pub async fn run_due(app: &App) -> Result<()> {
    let mut failed = Ok(());
    for work in LOOPS {
        if (work.next)(app).await?.is_some_and(|due| due <= app.clock.now()) {
            failed = failed.and(run_alone(work, app).await);
        }
    }
    failed
}

async fn run_alone(work: &Loop, app: &App) -> Result<()> {
    let turn = work.turn(app);
    let before = turn.put_off.counted().put_off;
    let ended = caught((work.run)(app, &turn)).await;
    let put_off = match turn.put_off.counted().put_off - before {
        0 => Ok(()),
        some => Err(Error::internal(format!("{}: {some} put off, see the log", work.name))),
    };
    ended.and(put_off)
}

async fn repeat(work: &'static Loop, app: Arc<App>) {
    let turn = work.turn(&app);
    let pass = async || {
        (work.run)(&app, &turn).await?;
        Ok(pause(work, &app).await)
    };
    supervise(work.name, &turn.put_off, &app.stop, pass).await;
}

async fn pause(work: &Loop, app: &App) -> Duration {
    let next = (work.next)(app).await.ok().flatten();
    // Only what is still to come is worth waking up for: what is overdue now was not for us.
    let ahead = next.and_then(|next| (next - app.clock.now()).to_std().ok());
    ahead.map_or(work.every, |ahead| ahead.clamp(SHORTEST_PAUSE, work.every))
}

impl Loop {
    fn turn(&self, app: &App) -> Turn {
        Turn { at_once: self.at_once, put_off: app.loops.backoff_of(self.name) }
    }
}
