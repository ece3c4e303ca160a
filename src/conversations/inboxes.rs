//! The inboxes an actor can see, each with its number of open conversations (specification 2.5, 4.10).
//! The number agrees with what `view=open` lists.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::MailboxId;
use crate::workspace::access::Actor;

#[derive(Debug)]
pub struct CountedMailbox {
    pub id: MailboxId,
    pub address: String,
    pub name: String,
    /// Only its owner sees it.
    pub private: bool,
    /// The same conversations that `view=open` lists: snoozes that have run out are among them.
    pub open: i64,
}

pub async fn list(conn: &mut PgConnection, actor: &Actor, now: DateTime<Utc>) -> Result<Vec<CountedMailbox>> {
    Ok(sqlx::query_as!(
        CountedMailbox,
        r#"select id as "id: MailboxId", address, name, kind = 'private' as "private!",
               (coalesce(counted.n, 0) + coalesce(expired.n, 0))::bigint as "open!"
           from mailboxes
           left join (
               select subject_id, audience, sum(n) as n from (
                   select subject_id, audience, n from counts
                   where workspace_id = $1 and what = 'open' and audience = any($2)
                   union all
                   select subject_id, audience, change from count_changes
                   where workspace_id = $1 and what = 'open' and audience = any($2)) parts
               group by subject_id, audience) counted
               on counted.subject_id = mailboxes.id and counted.audience = mailboxes.audience
           left join (
               select mailbox_id, count(*) as n from conversations
               where workspace_id = $1 and snoozed_until <= $3
               group by mailbox_id) expired on expired.mailbox_id = mailboxes.id
           where workspace_id = $1 and mailboxes.audience = any($2)
           order by name, id"#,
        actor.workspace.0,
        &actor.audiences(),
        now
    )
    .fetch_all(conn)
    .await?)
}
