//! Every loop of the program, in one table: what it works off and how often it looks.
//!
//! A loop only ever does work that is written down in rows, in one transaction of one workspace at a time,
//! so any number of nodes can run it and a stop at any point loses nothing.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use tokio::sync::watch;

use crate::app::App;
use crate::app_mail::forget;
use crate::conversations::{counts, search, snooze};
use crate::error::Result;

struct Loop {
    name: &'static str,
    every: Duration,
    run: for<'a> fn(&'a App) -> BoxFuture<'a, Result<()>>,
}

const LOOPS: &[Loop] = &[
    Loop { name: "index words", every: Duration::from_secs(1), run: |app| Box::pin(index_words(app)) },
    Loop { name: "wake snoozed", every: Duration::from_secs(1), run: |app| Box::pin(wake_snoozed(app)) },
    Loop {
        name: "forget app mail",
        every: Duration::from_secs(3600),
        run: |app| Box::pin(forget_app_mail(app)),
    },
    Loop { name: "fold counts", every: Duration::from_secs(5), run: |app| Box::pin(fold_counts(app)) },
];

/// Runs all loops until `stop` says so; what has begun is finished first.
pub async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    join_all(LOOPS.iter().map(|work| repeat(work, app.clone(), stop.clone()))).await;
}

/// Does everything once that the loops would do now.
pub async fn run_once(app: &App) -> Result<()> {
    for work in LOOPS {
        (work.run)(app).await?;
    }
    Ok(())
}

async fn repeat(work: &Loop, app: Arc<App>, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        if let Err(error) = (work.run)(&app).await {
            tracing::warn!(%error, work = work.name, "a loop failed and will try again");
        }
        tokio::select! {
            () = tokio::time::sleep(work.every) => {}
            _ = stop.changed() => {}
        }
    }
}

async fn index_words(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    loop {
        let waiting = search::unindexed(&mut conn).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        for workspace in waiting {
            let mut tx = app.begin(workspace).await?;
            search::index(&mut tx).await?;
            tx.commit().await?;
        }
    }
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

async fn wake_snoozed(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    loop {
        let due = snooze::ran_out(&mut conn, app.clock.now()).await?;
        if due.is_empty() {
            return Ok(());
        }
        for (workspace, conversation) in due {
            let mut tx = app.begin(workspace).await?;
            snooze::end(&mut tx, conversation).await?;
            tx.commit().await?;
        }
    }
}

async fn forget_app_mail(app: &App) -> Result<()> {
    let mut conn = app.connection().await?;
    let before = app.clock.now() - app.config.app_mail_keep().age;
    loop {
        let stale = forget::stale(&mut conn, before).await?;
        if stale.is_empty() {
            return Ok(());
        }
        for workspace in stale {
            let mut tx = app.begin(workspace).await?;
            forget::forget(&mut tx, before).await?;
            tx.commit().await?;
        }
    }
}
