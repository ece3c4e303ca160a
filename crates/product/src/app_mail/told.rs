//! What connected services told: which reports were taken already, the newest ones with what became of each, and how a
//! connection does. Bounded: a connection keeps its newest 500 reports and 500 that wait for their mail.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::app_mail::adapters::report::{ReportKind, ServiceReport};
use rookery_base::error::Result;
use rookery_base::ids::{SendingServiceId, ServiceReportId, WorkspaceId};
use rookery_base::secrets::hashes::sha256;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget as forget_rows;

/// What the page shows.
pub const SHOWN: i64 = 100;
const KEPT: i64 = 500;
/// Longer than any request is good for.
const REMEMBERED: TimeDelta = TimeDelta::days(2);
/// A bounce that comes again must not undo that the person has written since.
const REMEMBERED_LONGER: TimeDelta = TimeDelta::days(30);

rookery_base::text_enum! {
    /// What became of a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReportVerdict {
        /// The mail is on record from now on.
        Noted = "noted",
        /// It belongs to a mail on record.
        Matched = "matched",
        /// It belongs to one, and its recipient is not written to any more.
        Suppressed = "suppressed",
        /// There is no such mail.
        Unknown = "unknown",
        Refused = "refused",
    }
}

/// Remembers a report, by its id and by what a request may bring only once. False when it was taken before.
pub async fn remember(tx: &mut Tx<'_>, service: SendingServiceId, report: &ServiceReport) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let names = [Some(format!("report {}", report.key)), report.once.clone()];
    let mut keys: Vec<Vec<u8>> =
        names.into_iter().flatten().map(|name| sha256(name)[..16].to_vec()).collect();
    // One order for everybody, so that two requests with the same keys do not wait for each other.
    keys.sort();
    let lasts = matches!(report.kind, ReportKind::Bounced | ReportKind::Complained);
    let until = now + if lasts { REMEMBERED_LONGER } else { REMEMBERED };
    let new = sqlx::query!(
        "insert into seen_reports (workspace_id, service_id, key, until)
         select $1, $2, key, $4 from unnest($3::bytea[]) key on conflict do nothing",
        workspace,
        service.0,
        &keys,
        until
    )
    .execute(&mut **tx)
    .await?;
    Ok(new.rows_affected() == keys.len() as u64)
}

/// A line of the log.
pub struct ReportLogLine<'a> {
    pub kind: Option<ReportKind>,
    pub mail: &'a str,
    pub address: Option<&'a str>,
    pub outcome: ReportVerdict,
    pub why: &'a str,
    /// It is acted on when its mail comes on record.
    pub waits: bool,
}

pub async fn log(tx: &mut Tx<'_>, service: SendingServiceId, line: ReportLogLine<'_>) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let id: ServiceReportId = tx.mint();
    sqlx::query!(
        "insert into service_reports
             (workspace_id, id, service_id, at, kind, message_id, address, outcome, why, waits)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        workspace,
        id.0,
        service.0,
        now,
        line.kind.map_or("none", ReportKind::as_str),
        line.mail,
        line.address,
        line.outcome.as_str(),
        line.why,
        line.waits
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What is written down of a request at its end: that the service is alive, and what was wrong if anything was. The
/// connection's row is locked by this until the commit.
pub async fn count(
    tx: &mut Tx<'_>,
    service: SendingServiceId,
    reports: i32,
    error: Option<&str>,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update sending_services set
             last_report_at = case when $3 > 0 then $5 else last_report_at end,
             day = $6,
             day_count = least(2000000000, (case when day = $6 then day_count else 0 end)::bigint + $3)::int,
             last_error = coalesce($4, last_error),
             last_error_at = case when $4::text is null then last_error_at else $5 end
         where workspace_id = $1 and id = $2",
        workspace,
        service.0,
        reports,
        error,
        now,
        now.date_naive()
    )
    .execute(&mut **tx)
    .await?;
    // Both kinds of rows are the end of an index.
    sqlx::query!(
        "delete from service_reports where workspace_id = $1 and id = any (array(
             (select id from service_reports where workspace_id = $1 and service_id = $2 and not waits
              order by id desc offset $3 limit 2500)
             union all
             (select id from service_reports where workspace_id = $1 and service_id = $2 and waits
              order by id desc offset $3 limit 2500)))",
        workspace,
        service.0,
        KEPT
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What waited for a mail that is on record now: whose addresses, and whether they complained.
pub async fn waited(
    tx: &mut Tx<'_>,
    service: SendingServiceId,
    report: &ServiceReport,
    recipients: &[String],
) -> Result<Vec<(String, bool)>> {
    let workspace = tx.workspace().0;
    let names: Vec<&str> =
        [&report.message_id, &report.service_ref].into_iter().flatten().map(String::as_str).collect();
    let rows = sqlx::query!(
        r#"update service_reports set waits = false, outcome = 'suppressed', why = ''
           where workspace_id = $1 and service_id = $2 and waits and message_id = any($3) and address = any($4)
           returning address as "address!", kind"#,
        workspace,
        service.0,
        &names as &[&str],
        recipients
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.address, row.kind == ReportKind::Complained.as_str())).collect())
}

/// What waited came of somebody who is written to all the same.
pub async fn spared(
    tx: &mut Tx<'_>,
    service: SendingServiceId,
    report: &ServiceReport,
    address: &str,
    why: &str,
) -> Result<()> {
    let workspace = tx.workspace().0;
    let names: Vec<&str> =
        [&report.message_id, &report.service_ref].into_iter().flatten().map(String::as_str).collect();
    sqlx::query!(
        "update service_reports set outcome = 'matched', why = $5
         where workspace_id = $1 and service_id = $2 and outcome = 'suppressed' and message_id = any($3) and address = $4",
        workspace,
        service.0,
        &names as &[&str],
        address,
        why
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A report as people see it.
pub struct ShownReport {
    pub at: DateTime<Utc>,
    pub kind: String,
    pub message_id: String,
    pub address: Option<String>,
    pub outcome: String,
    pub why: String,
}

/// The newest of a connection.
pub async fn newest(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    service: SendingServiceId,
) -> Result<Vec<ShownReport>> {
    Ok(sqlx::query_as!(
        ShownReport,
        r#"select at as "at!", kind as "kind!", message_id as "message_id!", address, outcome as "outcome!", why as "why!"
           from ((select * from service_reports where workspace_id = $1 and service_id = $2 and not waits
                  order by id desc limit $3)
                 union all
                 (select * from service_reports where workspace_id = $1 and service_id = $2 and waits
                  order by id desc limit $3)) newest
           order by id desc limit $3"#,
        workspace.0,
        service.0,
        SHOWN
    )
    .fetch_all(conn)
    .await?)
}

/// Somebody is erased: reports about their address go.
pub async fn erase(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("delete from service_reports where workspace_id = $1 and address = $2", workspace, address)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Forgets reports that cannot come again.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget_rows!(conn, "seen_reports", "until", now, 5000)
}
