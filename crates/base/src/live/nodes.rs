//! Tells other nodes what changed here, and hears from them, through the database: `pg_notify` after the commit, on
//! connections of its own and a few times a second at most. Each node hears itself too: one that does not is deaf,
//! connects anew, and then nobody relies on what they have.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::app::App;
use crate::error::{Error, Result};
use crate::shutdown::Stop;
use crate::store::db;

const CHANNEL: &str = "rookery_changes";
/// Pause between two statements that tell others: what happens meanwhile goes together.
const PAUSE: Duration = Duration::from_millis(50);
/// A node says that often that it is there, and expects to hear it.
const SIGN: Duration = Duration::from_secs(20);
const DEAF: Duration = Duration::from_secs(65);
const AGAIN: Duration = Duration::from_secs(1);
/// How often it is looked who was not heard of any more.
const LOOK: Duration = Duration::from_secs(5);
/// PostgreSQL takes less than 8000 bytes.
const LONGEST: usize = 7900;
/// One to listen, one to tell; more while a broken one is being given up.
const CONNECTIONS: u32 = 4;

/// Runs until it is told to stop, and tells what is left then: somebody who stops the service waits until everything else
/// is done.
pub async fn run(app: &App, stop: &Stop) -> Result<()> {
    let pool = db::pool(&app.config.database_url.0, CONNECTIONS)?;
    let node = app.random.hex(16);
    tokio::select! {
        () = tell(app, &pool, &node, stop) => {}
        _ = async { tokio::join!(listen(app, &pool, &node), expire(app)) } => {}
    }
    Ok(())
}

async fn listen(app: &App, pool: &PgPool, node: &str) {
    loop {
        if let Err(error) = hear(app, pool, node).await {
            tracing::warn!(%error, "cannot receive from other nodes: reconnecting");
        }
        sleep(AGAIN).await;
    }
}

/// Ends when the connection is lost.
async fn hear(app: &App, pool: &PgPool, node: &str) -> Result<()> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    // Whatever was told while nobody listened is lost.
    app.feed.everything();
    let mut heard_itself = Instant::now();
    loop {
        let heard = timeout_at(heard_itself + DEAF, listener.try_recv()).await;
        let Ok(heard) = heard else { return Err(Error::internal("this node does not hear itself")) };
        let Some(heard) = heard? else { return Err(Error::internal("the connection was lost")) };
        let mut lines = heard.payload().lines();
        match lines.next() {
            Some(from) if from == node => heard_itself = Instant::now(),
            _ => app.feed.heard(lines, app.clock.now()),
        }
    }
}

async fn tell(app: &App, pool: &PgPool, node: &str, stop: &Stop) {
    loop {
        tokio::select! {
            _ = timeout(SIGN, app.feed.has_untold()) => {}
            () = stop.wait() => {}
        }
        let is_last = stop.is_told();
        let told = notify(app, pool, node).await;
        if is_last {
            return;
        }
        if told.is_err() {
            sleep(AGAIN).await;
            app.feed.was_not_told();
        }
        sleep(PAUSE).await;
    }
}

/// Tells what a command has changed, before it ends.
pub async fn tell_now(app: &App) {
    if app.feed.is_untold() {
        let _ = notify(app, &app.pool, "command").await;
    }
}

async fn notify(app: &App, pool: &PgPool, node: &str) -> Result<()> {
    let payloads = payloads(node, &app.feed.take_untold());
    let told = sqlx::query!(
        "select pg_notify($1, payload)::text from unnest($2::text[]) as told (payload)",
        CHANNEL,
        &payloads
    );
    if let Err(error) = told.fetch_all(pool).await {
        tracing::warn!(%error, "could not notify other nodes of changes");
        return Err(error.into());
    }
    Ok(())
}

/// The node's name and as many lines as fit, in each. At least one: it is also the sign that the node is there.
fn payloads(node: &str, lines: &[String]) -> Vec<String> {
    let mut payloads = vec![node.to_owned()];
    for line in lines {
        if payloads.last().is_none_or(|last| last.len() + 1 + line.len() > LONGEST) {
            payloads.push(node.to_owned());
        }
        if let Some(last) = payloads.last_mut() {
            last.push('\n');
            last.push_str(line);
        }
    }
    payloads
}

async fn expire(app: &App) {
    loop {
        sleep(LOOK).await;
        app.feed.expire(app.clock.now());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_is_in_one_payload_that_the_database_takes() {
        let lines: Vec<String> = (0..2000).map(|number| format!("{number:018} 0 c{number:018}")).collect();
        let payloads = payloads("node", &lines);
        assert!(payloads.iter().all(|payload| payload.len() < 8000 && payload.starts_with("node\n")));
        let told: BTreeSet<&str> = payloads.iter().flat_map(|payload| payload.lines().skip(1)).collect();
        assert_eq!(told.len(), lines.len());
        assert_eq!(super::payloads("node", &[]), ["node"], "a sign of life");
    }
}
