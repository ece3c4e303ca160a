//! Once an hour: partitions for the days to come are made, and what is kept for a number of days is forgotten.
//!
//! Each room knows how long its own rows are kept; this is only the list of them.

use rookery_assistants::{runs as calls, spend, tasks};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::limits::{rate, stranger_mail};
use rookery_base::store::partitions;
use rookery_core::conversations::bulk;
use rookery_core::conversations::reports::count;
use rookery_core::rules::runs;
use rookery_core::workspace::agents::days;
use rookery_core::workspace::clients::grants;
use rookery_core::workspace::people::invitations;
use rookery_core::workspace::second_factor::half;
use rookery_core::workspace::single_sign_on::attempts;
use rookery_core::workspace::{notices, one_time_codes, passkeys, sessions, sign_in_links};
use rookery_mail::incoming::quota;
use rookery_product::app_mail::told;
use rookery_product::replies::automatic::{answer as auto_reply, away};
use rookery_webhooks::{health, remove};

pub async fn keep_days(app: &App) -> Result<()> {
    let now = app.clock.now();
    // The directory has connections of its own, or the same: nobody holds one while it asks for another.
    let clients = app.directory.forget_clients(now).await;
    let mut conn = app.connection().await?;
    // One that fails does not keep the others from being done.
    let kept = partitions::maintain(&mut conn).await;
    let forgotten = rate::forget(&mut conn, now).await.and(notices::forget(&mut conn, now).await);
    let forgotten = forgotten.and(bulk::forget(&mut conn, now).await);
    let counted = days::forget_days(&mut conn, now).await.and(days::forget_messages(&mut conn, now).await);
    let counted = counted.and(runs::forget_runs(&mut conn, now).await);
    let asked = calls::forget_runs(&mut conn, now).await.and(calls::forget_days(&mut conn, now).await);
    let counted = counted.and(asked).and(spend::forget_calls(&mut conn, now).await);
    let counted = counted.and(tasks::forget_late(&mut conn, now).await);
    let counted = counted.and(count::forget_weeks(&mut conn, now).await);
    let webhooks = health::forget(&mut conn, now).await.and(remove::forget(&mut conn, now).await);
    let ended = sessions::forget(&mut conn, now).await.and(sign_in_links::forget(&mut conn, now).await);
    let ended = ended.and(attempts::forget(&mut conn, now).await).and(passkeys::forget(&mut conn, now).await);
    let ended = ended.and(invitations::forget(&mut conn, now).await).and(half::forget(&mut conn, now).await);
    let ended = ended.and(one_time_codes::forget(&mut conn, now).await);
    let ended = ended.and(stranger_mail::forget(&mut conn, now).await);
    let ended = ended.and(grants::forget(&mut conn, now).await).and(clients);
    let forgotten = forgotten.and(auto_reply::forget(&mut conn, now).await);
    let forgotten = forgotten.and(away::forget(&mut conn, now).await);
    let forgotten = forgotten.and(told::forget(&mut conn, now).await);
    kept.and(forgotten).and(counted).and(webhooks).and(ended).and(quota::forget(&mut conn, now).await)
}
