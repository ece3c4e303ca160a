//! Mail of the service to its own people, about things they look after. A notice is written in the transaction
//! of what it tells of, and waits to be sent.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{Id, NoticeId, PersonId, WorkspaceId};
use crate::random::Random;

pub struct Notice<'a> {
    /// Who looks after it; when they are gone, all owners are told.
    pub to: PersonId,
    pub kind: &'a str,
    pub subject: &'a str,
    pub body: &'a str,
}

pub async fn write(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    now: DateTime<Utc>,
    random: &Random,
    notice: Notice<'_>,
) -> Result<()> {
    let recipients = sqlx::query_scalar!(
        "with them as (
             select email from people where workspace_id = $1 and id = $2 and removed_at is null)
         select email as \"email!\" from them
         union all
         select email from people
         where workspace_id = $1 and role = 'owner' and removed_at is null and not exists (select from them)",
        workspace.0,
        notice.to.0
    )
    .fetch_all(&mut *conn)
    .await?;
    let ids: Vec<i64> = recipients.iter().map(|_| NoticeId::mint(now, random).0).collect();
    sqlx::query!(
        "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
         select $1, id, recipient, $4, $5, $6, $7, $7 from unnest($2::bigint[], $3::text[]) as t (id, recipient)",
        workspace.0,
        &ids,
        &recipients,
        notice.kind,
        notice.subject,
        notice.body,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}
