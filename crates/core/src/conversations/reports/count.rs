//! Counting what reports tell, in the transaction of what is counted. Mail that arrives is counted by the statement that
//! stores it (messages/inbound.rs), open conversations by the fold of their counts (counts.rs).

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::conversations::reports::waits;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;
use rookery_base::zone::Zone;

/// Rows of a count in a week. Which one a conversation is counted in is chance, so that few wait for each other.
const SHARDS: i64 = 8;
/// More than a year, for whoever asks the database.
const KEPT: TimeDelta = TimeDelta::days(400);
const AT_ONCE: i64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedApproval {
    /// A draft was approved as it was written.
    Approved,
    /// A draft was approved and changed before.
    Edited,
}

/// The row that a conversation is counted in: the lowest bits of ids are random.
pub fn shard(conversation: ConversationId) -> i16 {
    (conversation.0 % SHARDS) as i16
}

/// Counts one in the conversation's inbox. The sandbox is not counted.
pub async fn one(tx: &mut Tx<'_>, conversation: &Conversation, what: CountedApproval) -> Result<()> {
    let name = match what {
        CountedApproval::Approved => "approved",
        CountedApproval::Edited => "edited",
    };
    add(tx, conversation, &[(name, shard(conversation.id))]).await
}

async fn add(tx: &mut Tx<'_>, conversation: &Conversation, counts: &[(&str, i16)]) -> Result<()> {
    if !conversation.livemode() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace(), tx.now());
    let week = Zone::load(tx, workspace).await?.week(now);
    let (names, shards): (Vec<&str>, Vec<i16>) = counts.iter().copied().unzip();
    sqlx::query!(
        "insert into report_counts as kept (workspace_id, mailbox_id, what, week, shard, n)
         select $1, $2, what, $3, shard, 1 from unnest($4::text[], $5::smallint[]) as counted (what, shard) order by what
         on conflict (workspace_id, mailbox_id, what, week, shard) do update set n = kept.n + 1",
        workspace.0,
        conversation.mailbox_id.0,
        week,
        &names as &[&str],
        &shards
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A message of a person or an agent left just now. If it is the first answer to somebody who wrote first, it is counted
/// with the time it took. Mail that was passed on answers nobody.
pub async fn left(tx: &mut Tx<'_>, conversation: &Conversation, message: MessageId) -> Result<()> {
    if !conversation.livemode() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let asked: Option<Option<DateTime<Utc>>> = sqlx::query_scalar!(
        r#"select (select at from messages
                   where workspace_id = $1 and conversation_id = $2 and item >= 0 and direction = 'inbound'
                     and not automatic
                   order by at, item limit 1) as asked
           from messages this
           where workspace_id = $1 and conversation_id = $2 and id = $3 and forwards is null
             and not exists (
                 select from messages earlier
                 where earlier.workspace_id = $1 and earlier.conversation_id = $2 and earlier.id <> $3
                   and earlier.sent_at is not null and earlier.origin is distinct from 'service'
                   and earlier.forwards is null)"#,
        workspace,
        conversation.id.0,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(asked) = asked.flatten().filter(|asked| *asked <= now) else { return Ok(()) };
    let (shard, bucket) = (shard(conversation.id), waits::bucket(now - asked));
    add(tx, conversation, &[("answered", shard), ("wait", bucket)]).await
}

/// Forgets weeks that nobody is shown any more.
pub async fn forget_weeks(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "report_counts", "week", (now - KEPT).date_naive(), AT_ONCE)
}
