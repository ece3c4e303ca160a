//! What happens by itself: loops that are behind, webhooks that fail or cannot be reached, services that report errors, and
//! audit logs that somebody changed.

use chrono::TimeDelta;
use url::Url;

use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::net::outside::OutsideFailure;

/// Seconds that a loop may be behind.
const BEHIND: f64 = 120.0;
/// Webhooks whose address is looked up.
const WEBHOOKS: i64 = 10;
const DAY: TimeDelta = TimeDelta::days(1);

pub async fn inspect(app: &App, names_are_found: bool) -> Vec<CheckRow> {
    let mut rows = vec![
        CheckRow::from_result("loops", format!("none is {BEHIND:.0} s behind"), loops(app).await),
        CheckRow::from_result("webhooks", "none has failed for a day", webhooks(app).await),
        CheckRow::from_result("sending-services", "none reports an error", services(app).await),
    ];
    if names_are_found {
        rows.push(CheckRow::from_result(
            "webhook-way-out",
            "addresses of webhooks can be reached",
            way_out(app).await,
        ));
    }
    rows
}

async fn loops(app: &App) -> Result<RowJudgement> {
    let Some(lags) = app.loop_lags.get() else { return Ok(right("not known here")) };
    let late: Vec<String> = lags(app)
        .await
        .into_iter()
        .filter(|(_, lag)| lag.is_nan() || *lag > BEHIND)
        .map(
            |(name, lag)| {
                if lag.is_nan() { format!("{name}: not known") } else { format!("{name}: {}", span(lag)) }
            },
        )
        .collect();
    Ok(if late.is_empty() {
        right("all are on time")
    } else {
        wrong(
            late.join("; "),
            "Is the service running? Its log names what fails: `journalctl -u rookery | grep 'put off'`",
        )
    })
}

async fn webhooks(app: &App) -> Result<RowJudgement> {
    let since = app.clock.now() - DAY;
    let addresses: Vec<String> = sqlx::query_scalar(
        "select url from webhooks join webhook_lanes on webhook_lanes.workspace_id = webhooks.workspace_id
             and webhook_lanes.webhook_id = webhooks.id
         where removed_at is null and (state = 'off' or failing_since < $1) order by url limit 20",
    )
    .bind(since)
    .fetch_all(&mut *app.connection().await?)
    .await?;
    // An address may have a secret in its path.
    let mut hosts: Vec<String> = addresses.iter().map(|address| host(address)).collect();
    hosts.dedup();
    Ok(if hosts.is_empty() {
        right("none")
    } else {
        wrong(
            format!("those to {}", hosts.join(", ")),
            "Check their log in Settings, Webhooks, fix the receiver, then resume them.",
        )
    })
}

async fn way_out(app: &App) -> Result<RowJudgement> {
    let addresses: Vec<String> = sqlx::query_scalar(
        "select url from webhooks where removed_at is null and state = 'active'
         order by workspace_id desc, id desc limit $1",
    )
    .bind(WEBHOOKS)
    .fetch_all(&mut *app.connection().await?)
    .await?;
    let mut failed = Vec::new();
    for address in &addresses {
        let found = match Url::parse(address) {
            Ok(url) => app.outside.reach(&url).await,
            Err(_) => Err(OutsideFailure::Refused),
        };
        if let Err(failure) = found {
            failed.push(format!("{}: {failure}", host(address)));
        }
    }
    failed.dedup();
    let all = addresses.len();
    Ok(if failed.is_empty() {
        right(if all == 0 { "no webhooks yet".to_owned() } else { format!("{all} of {all}") })
    } else {
        wrong(
            failed.join("; "),
            "Let connections to port 443 out and names be looked up; an address that is gone is changed in Settings, \
             Webhooks.",
        )
    })
}

async fn services(app: &App) -> Result<RowJudgement> {
    let since = app.clock.now() - DAY;
    let names: Vec<String> = sqlx::query_scalar(
        "select name from sending_services
         where disconnected_at is null and paused_at is null and last_error_at > $1
           and last_error_at > coalesce(last_report_at, '-infinity')
         order by name limit 20",
    )
    .bind(since)
    .fetch_all(&mut *app.connection().await?)
    .await?;
    Ok(if names.is_empty() {
        right("none")
    } else {
        wrong(names.join(", "), "Settings, Sending services says what each error is.")
    })
}

pub async fn audit_log(app: &App) -> CheckRow {
    let judged = async {
        let broken: Vec<(String, i64)> = sqlx::query_as(
            "select name, broken_n from audit_heads join workspaces on workspaces.id = workspace_id
             where broken_n is not null order by workspace_id limit 20",
        )
        .fetch_all(&mut *app.connection().await?)
        .await?;
        let told: Vec<String> = broken.iter().map(|(name, n)| format!("{name}, from entry {n}")).collect();
        Ok(either(
            told.is_empty(),
            if told.is_empty() { "none is".to_owned() } else { told.join("; ") },
            "Somebody may have changed the database. Compare with a backup and with the heads in the server's log: \
             `rookery admin audit verify --workspace wsp_…`",
        ))
    };
    CheckRow::from_result("audit-log", "no audit log is broken", judged.await)
}

fn span(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.0} hours", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

fn host(address: &str) -> String {
    Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}
