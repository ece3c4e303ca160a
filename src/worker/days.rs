//! Once an hour: partitions for the days to come are made, and what is kept for a number of days is forgotten.
//!
//! Each room knows how long its own rows are kept; this is only the list of them.

use crate::app::App;
use crate::app_mail::told;
use crate::assistants::{runs as calls, spend, tasks};
use crate::conversations::bulk;
use crate::conversations::reports::count;
use crate::error::Result;
use crate::incoming::quota;
use crate::limits::rate;
use crate::replies::automatic::answer as auto_reply;
use crate::rules::runs;
use crate::store::partitions;
use crate::webhooks::{health, remove};
use crate::workspace::agents::days;
use crate::workspace::clients::grants;
use crate::workspace::people::invitations;
use crate::workspace::second_factor::half;
use crate::workspace::single_sign_on::attempts;
use crate::workspace::{notices, one_time_codes, passkeys, sessions, sign_in_links};

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
    let ended = ended.and(grants::forget(&mut conn, now).await).and(clients);
    let forgotten = forgotten.and(auto_reply::forget(&mut conn, now).await);
    let forgotten = forgotten.and(told::forget(&mut conn, now).await);
    kept.and(forgotten).and(counted).and(webhooks).and(ended).and(quota::forget(&mut conn, now).await)
}
