//! Reading the audit log: newest first, by who, what and when, and what the last check of its chain found.
//! Only owners and admins are shown it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::workspace::audit::{AuditEntry, Did, Head};
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;

/// Which entries. Nothing chosen means all.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// As entries name who acted.
    pub actor: Option<String>,
    pub kinds: Option<Vec<Did>>,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
    /// Only what came before this entry.
    pub before: Option<i64>,
}

pub async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    wanted: &AuditQuery,
    most: i64,
) -> Result<Vec<AuditEntry>> {
    let kinds =
        wanted.kinds.as_ref().map(|kinds| kinds.iter().map(|did| did.name().to_owned()).collect::<Vec<_>>());
    Ok(sqlx::query_as!(
        AuditEntry,
        "select n, at, actor, actor_name, did, subject, subject_name, data from audit_entries
         where workspace_id = $1 and n < coalesce($2, 9223372036854775807)
           and ($3::text is null or actor = $3) and ($4::text[] is null or did = any($4))
           and ($5::timestamptz is null or at >= $5) and ($6::timestamptz is null or at < $6)
         order by n desc limit $7",
        workspace.0,
        wanted.before,
        wanted.actor.as_deref(),
        kinds.as_deref() as Option<&[String]>,
        wanted.since,
        wanted.until,
        most
    )
    .fetch_all(conn)
    .await?)
}

/// Everybody who stands in it, with the name they had last.
pub async fn actors(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<(String, String)>> {
    let rows = sqlx::query!(
        r#"with recursive them as (
               (select actor, actor_name from audit_entries where workspace_id = $1 order by actor, n desc limit 1)
               union all
               select other.actor, other.actor_name from them cross join lateral (
                   select actor, actor_name from audit_entries
                   where workspace_id = $1 and actor > them.actor order by actor, n desc limit 1) other)
           select actor as "actor!", actor_name as "name!" from them order by lower(actor_name), actor"#,
        workspace.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.actor, row.name)).collect())
}

/// What is known of the chain.
#[derive(Debug)]
pub struct Chain {
    pub newest: Head,
    /// How many entries have had their year.
    pub trimmed: i64,
    pub checked_at: Option<DateTime<Utc>>,
    pub checked_to: i64,
    /// The first place that is not as it was written.
    pub broken: Option<(i64, String)>,
}

pub async fn chain(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<Chain>> {
    let row = sqlx::query!(
        "select n, mac, trimmed_n, checked_at, checked_n, broken_n, broken_why from audit_heads where workspace_id = $1",
        workspace.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Chain {
        newest: Head { n: row.n, mac: row.mac },
        trimmed: row.trimmed_n,
        checked_at: row.checked_at,
        checked_to: row.checked_n.unwrap_or_default(),
        broken: row.broken_n.zip(row.broken_why),
    }))
}
