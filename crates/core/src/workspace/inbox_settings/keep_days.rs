//! How long closed conversations of an inbox are kept. A shorter time than before begins to count a day later, so that a
//! slip of the hand takes nothing.

use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::inbox_settings::find;
use crate::workspace::people::Person;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Tx;

const LONGEST: i32 = 36_500;
const WAITS: TimeDelta = TimeDelta::days(1);

/// The days of every inbox that somebody may change; none is for ever.
pub async fn all(conn: &mut PgConnection, person: &Person) -> Result<Vec<(MailboxId, Option<i32>)>> {
    let rows = sqlx::query!(
        r#"select id as "id: MailboxId", keep_days from mailboxes where workspace_id = $1 and audience = any($2)"#,
        person.workspace.0,
        &person.audiences()
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.keep_days)).collect())
}

/// Sets the days of these inboxes. All are locked in one order before any of it is recorded, so that two people never wait
/// for each other.
pub async fn set(tx: &mut Tx<'_>, person: &Person, inboxes: &[(MailboxId, Option<i32>)]) -> Result<()> {
    let mut inboxes = inboxes.to_vec();
    inboxes.sort_unstable();
    let mut changed = Vec::new();
    for (id, days) in inboxes {
        changed.extend(set_one(tx, person, id, days).await?.map(|(name, data)| (id, name, data)));
    }
    for (id, name, data) in changed {
        let subject = Subject { id: &id, name: &name };
        audit::record(tx, &person.by(), Did::RetentionChanged, subject, data).await?;
    }
    Ok(())
}

/// The inbox's name and what changed. Nothing when the days were so before.
async fn set_one(
    tx: &mut Tx<'_>,
    person: &Person,
    id: MailboxId,
    days: Option<i32>,
) -> Result<Option<(String, Value)>> {
    if days.is_some_and(|days| !(1..=LONGEST).contains(&days)) {
        return Err(Error::problem("days", format!("must be from 1 to {LONGEST}")));
    }
    let inbox = find(tx, person, id).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    let before = sqlx::query_scalar!(
        "select keep_days from mailboxes where workspace_id = $1 and id = $2 for update",
        workspace,
        id.0
    )
    .fetch_one(&mut **tx)
    .await?;
    if before == days {
        return Ok(None);
    }
    let is_shorter = days.is_some_and(|days| before.is_none_or(|before| days < before));
    sqlx::query!(
        "update mailboxes set keep_days = $3, keep_from = case when $4 then $5 else coalesce(keep_from, $5) end
         where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        days,
        is_shorter,
        now + WAITS
    )
    .execute(&mut **tx)
    .await?;
    Ok(Some((inbox.name, json!({ "days": { "from": before, "to": days } }))))
}
