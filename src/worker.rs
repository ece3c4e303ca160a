//! Every loop of the program, in one table: what it works off, how often it looks, how many at once, and when
//! its next row is due.
//!
//! A loop only ever does work that is written down in rows, so any number of nodes can run it and a stop at
//! any point loses nothing. The due time of the next row wakes a loop early; that is a hint, the pause is the rule.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, join_all};

use crate::app::App;
use crate::app_mail::{forget, words};
use crate::conversations::{counts, index, sending, snooze};
use crate::documents::request;
use crate::error::Result;
use crate::events::take;
use crate::ids::WorkspaceId;
use crate::mail::sandbox::answer;
use crate::mail::{admit, drop_raw, fetch, notify, send, sweep};
use crate::partitions;
use crate::rate;
use crate::replies::{remind, revoke};
use crate::webhooks::{claim, deliver, fan_out};
use crate::workspace::{keys, notices};

type Work<'a> = BoxFuture<'a, Result<()>>;
type DueTime<'a> = BoxFuture<'a, Result<Option<DateTime<Utc>>>>;

struct Loop {
    name: &'static str,
    /// The longest pause between two looks.
    every: Duration,
    /// How many of its rows a node works on at the same time.
    at_once: usize,
    /// Works off what is due now.
    run: for<'a> fn(&'a App, usize) -> Work<'a>,
    /// When its next row is due, or was.
    next: for<'a> fn(&'a App) -> DueTime<'a>,
}

/// In the order in which one thing leads to another.
const LOOPS: &[Loop] = &[
    Loop {
        name: "remind of documents",
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, _| Box::pin(remind_of_documents(app)),
        next: |app| Box::pin(async { request::next_reminder(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "send",
        every: Duration::from_secs(1),
        at_once: 12,
        run: |app, at_once| Box::pin(send::send_due(app, at_once)),
        next: |app| Box::pin(async { sending::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "send notices",
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, _| Box::pin(notify::notify_due(app)),
        next: |app| Box::pin(async { notices::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "answer in the sandbox",
        every: Duration::from_secs(1),
        at_once: 4,
        run: |app, at_once| Box::pin(answer::answer_due(app, at_once)),
        next: |app| Box::pin(async { answer::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "wake snoozed",
        every: Duration::from_secs(1),
        at_once: 1,
        run: |app, _| Box::pin(wake_snoozed(app)),
        next: |app| Box::pin(async { snooze::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "release revoked agents",
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, _| Box::pin(release_revoked(app)),
        next: |app| Box::pin(async { keys::next_unreleased(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "fan out events",
        every: Duration::from_millis(200),
        at_once: 1,
        run: |app, _| Box::pin(fan_out::run(app)),
        next: |app| Box::pin(async { take::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "deliver webhooks",
        every: Duration::from_millis(200),
        at_once: 1000,
        run: |app, at_once| Box::pin(deliver::run(app, at_once)),
        next: |app| Box::pin(async { claim::next(&mut *app.connection().await?, app.clock.now()).await }),
    },
    Loop {
        name: "fetch words of app mail",
        every: Duration::from_secs(5),
        at_once: 4,
        run: |app, at_once| Box::pin(fetch::fetch_due(app, at_once)),
        next: |app| Box::pin(async { words::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "forget app mail",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, _| Box::pin(forget_app_mail(app)),
        next: |app| Box::pin(next_forgotten(app)),
    },
    Loop {
        name: "follow the database's clock",
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, _| Box::pin(app.follow_the_databases_clock()),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "keep days",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, _| Box::pin(keep_days(app)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "sweep files",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, _| Box::pin(sweep::sweep(app)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "drop raw mail",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, _| Box::pin(drop_raw::drop_due(app)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "index words",
        every: Duration::from_secs(1),
        at_once: 1,
        run: |app, _| Box::pin(index_words(app)),
        next: |app| Box::pin(async { index::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "fold counts",
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, _| Box::pin(fold_counts(app)),
        next: |app| Box::pin(async { counts::next(&mut *app.connection().await?).await }),
    },
];

/// Never look more often than this, whatever the next due time says: a row that cannot be worked off now
/// must not make its loop spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Runs all loops until the word to stop; what has begun is finished first, the rest is given back.
pub async fn run(app: Arc<App>) {
    join_all(LOOPS.iter().map(|work| repeat(work, app.clone()))).await;
}

/// Does everything once that the loops would do now.
pub async fn run_once(app: &App) -> Result<()> {
    for work in LOOPS {
        (work.run)(app, work.at_once).await?;
    }
    Ok(())
}

async fn repeat(work: &Loop, app: Arc<App>) {
    while !app.stop.told() {
        if let Err(error) = (work.run)(&app, work.at_once).await {
            tracing::warn!(%error, work = work.name, "a loop failed and will try again");
        }
        tokio::select! {
            () = tokio::time::sleep(pause(work, &app).await) => {}
            () = app.stop.wait() => {}
        }
    }
}

async fn pause(work: &Loop, app: &App) -> Duration {
    let next = (work.next)(app).await.ok().flatten();
    // Only what is still to come is worth waking up for: what is overdue now was not for us.
    let ahead = next.and_then(|next| (next - app.clock.now()).to_std().ok());
    ahead.map_or(work.every, |ahead| ahead.clamp(SHORTEST_PAUSE, work.every))
}

/// How far each loop is behind, in the text form that Prometheus reads.
pub async fn metrics(app: &App) -> Result<String> {
    let mut text = String::from(
        "# HELP rookery_loop_lag_seconds How long the oldest due row of a loop has been waiting.\n\
         # TYPE rookery_loop_lag_seconds gauge\n",
    );
    for work in LOOPS {
        let next = (work.next)(app).await?;
        let lag = next.map_or(0, |next| (app.clock.now() - next).num_milliseconds().max(0));
        text.push_str(&format!(
            "rookery_loop_lag_seconds{{loop=\"{}\"}} {}.{:03}\n",
            work.name,
            lag / 1000,
            lag % 1000
        ));
    }
    Ok(text)
}

async fn remind_of_documents(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    loop {
        let due = request::due_for_a_reminder(&mut conn, app.clock.now()).await?;
        if due.is_empty() || app.stop.told() {
            return Ok(());
        }
        for due in due {
            let mut tx = app.begin(due.workspace).await?;
            remind::remind(app, &mut tx, due).await?;
            tx.commit().await?;
        }
    }
}

async fn wake_snoozed(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    loop {
        let due = snooze::ran_out(&mut conn, app.clock.now()).await?;
        if due.is_empty() || app.stop.told() {
            return Ok(());
        }
        for (workspace, conversation) in due {
            let mut tx = app.begin(workspace).await?;
            snooze::end(&mut tx, conversation).await?;
            tx.commit().await?;
        }
    }
}

async fn release_revoked(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    for (workspace, maker) in keys::makers_who_left(&mut conn).await? {
        let mut tx = app.begin(workspace).await?;
        revoke::end_keys_of(&mut tx, maker).await?;
        tx.commit().await?;
    }
    for (workspace, agent) in keys::unreleased(&mut conn).await? {
        let mut tx = app.begin(workspace).await?;
        revoke::release(&mut tx, agent).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn forget_app_mail(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    let before = app.clock.now() - app.config.app_mail_keep().age;
    loop {
        let stale = forget::stale(&mut conn, before).await?;
        if stale.is_empty() || app.stop.told() {
            return Ok(());
        }
        for workspace in stale {
            let mut tx = app.begin(workspace).await?;
            forget::forget(&mut tx, before).await?;
            tx.commit().await?;
        }
    }
}

async fn next_forgotten(app: &App) -> Result<Option<DateTime<Utc>>> {
    let oldest = forget::oldest(&mut *app.connection().await?).await?;
    Ok(oldest.map(|oldest| oldest + app.config.app_mail_keep().age))
}

async fn keep_days(app: &App) -> Result<()> {
    let (mut conn, now) = (app.connection().await?, app.clock.now());
    partitions::keep(&mut conn).await?;
    rate::forget(&mut conn, now).await?;
    notices::forget(&mut conn, now).await?;
    admit::forget(&mut conn, now).await
}

/// Works off the notes there are, a batch of each workspace in turn: however much one has, the others wait for one
/// batch of it. What comes meanwhile is left for the next look, unless there is more to do anyway: a few messages at a
/// time cost almost as much as many, and a search works off the notes of its own workspace first.
async fn index_words(app: &App) -> Result<()> {
    loop {
        let waiting = index::unindexed(&mut *app.connection().await?, app.clock.now()).await?;
        let mut more = false;
        for workspace in waiting {
            if app.stop.told() {
                return Ok(());
            }
            if !app.indexing.is_put_off(workspace, app.clock.now()) {
                more |= index_words_of(app, workspace).await;
            }
        }
        if !more {
            return Ok(());
        }
    }
}

/// One batch of a workspace. True when it has more. When it fails, what was in it is put off, and so is the workspace.
async fn index_words_of(app: &App, workspace: WorkspaceId) -> bool {
    let error = match index_batch(app, workspace).await {
        Ok(more) => {
            app.indexing.succeeded(workspace);
            return more;
        }
        Err(error) => error,
    };
    tracing::warn!(%error, %workspace, "words could not be indexed and will be tried again");
    app.indexing.failed(workspace, app.clock.now());
    if let Err(error) = put_batch_off(app, workspace).await {
        tracing::warn!(%error, %workspace, "nor could they be put off");
    }
    false
}

async fn index_batch(app: &App, workspace: WorkspaceId) -> Result<bool> {
    let mut tx = app.begin(workspace).await?;
    let indexed = index::index(&mut tx, index::OF_THE_WORKER).await?;
    tx.commit().await?;
    Ok(indexed.more)
}

async fn put_batch_off(app: &App, workspace: WorkspaceId) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    index::put_off(&mut tx, index::OF_THE_WORKER).await?;
    tx.commit().await
}

async fn fold_counts(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    for workspace in counts::unfolded(&mut conn).await? {
        let mut tx = app.begin(workspace).await?;
        counts::fold(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(())
}
