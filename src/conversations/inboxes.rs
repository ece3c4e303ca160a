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
    /// The same conversations that `view=open` lists: snoozes that have run out are among them.
    pub open: i64,
}

pub async fn list(conn: &mut PgConnection, actor: &Actor, now: DateTime<Utc>) -> Result<Vec<CountedMailbox>> {
    Ok(sqlx::query_as!(
        CountedMailbox,
        r#"select id as "id: MailboxId", address, name,
               (coalesce((select n from counts where workspace_id = $1 and what = 'open'
                           and subject_id = mailboxes.id and counts.audience = mailboxes.audience), 0)
                + coalesce((select sum(change) from count_changes where workspace_id = $1 and what = 'open'
                             and subject_id = mailboxes.id and count_changes.audience = mailboxes.audience), 0)
                + (select count(*) from conversations where workspace_id = $1
                     and conversations.audience = mailboxes.audience and mailbox_id = mailboxes.id
                     and snoozed_until <= $3))::bigint as "open!"
           from mailboxes
           where workspace_id = $1 and audience = any($2)
           order by name, id"#,
        actor.workspace.0, &actor.audiences(), now)
        .fetch_all(conn)
        .await?)
}
