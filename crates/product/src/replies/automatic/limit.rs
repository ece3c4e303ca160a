//! How much mail of its own the service may write to one address (D146): a few a day, so that two machines that
//! answer each other come to an end. Notices to the workspace's own people do not count.

use chrono::{DateTime, TimeDelta, Utc};

use rookery_base::error::Result;
use rookery_base::store::db::Tx;

/// Mails of the service's own that one address gets in a day.
pub const MOST_A_DAY: i32 = 10;
const DAY: TimeDelta = TimeDelta::days(1);

/// Counts one more mail to the address, or says when the next may be written.
pub async fn count(tx: &mut Tx<'_>, livemode: bool, address: &str) -> Result<Result<(), DateTime<Utc>>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let counted = sqlx::query!(
        r#"insert into automatic_mail as kept (workspace_id, livemode, address, since, n)
           values ($1, $2, lower($3), $4, 1)
           on conflict (workspace_id, livemode, address) do update set
               n = case when kept.since <= $5 then 1 else least(kept.n, $6) + 1 end,
               since = case when kept.since <= $5 then excluded.since else kept.since end
           returning n, since"#,
        workspace,
        livemode,
        address,
        now,
        now - DAY,
        MOST_A_DAY
    )
    .fetch_one(&mut **tx)
    .await?;
    // Days that are over are forgotten in passing; last, so that nobody waits while they hold rows of others.
    sqlx::query!(
        "delete from automatic_mail where ctid = any(array(
             select ctid from automatic_mail where workspace_id = $1 and since <= $2
             limit 100 for update skip locked))",
        workspace,
        now - DAY
    )
    .execute(&mut **tx)
    .await?;
    Ok(if counted.n <= MOST_A_DAY { Ok(()) } else { Err(counted.since + DAY) })
}
