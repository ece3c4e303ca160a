//! `rookery doctor`: prints what is wrong with what mends it, what is right, and what changed since the last run; or all
//! rows as a JSON array. Ends with 1 when something is not right.

use serde_json::to_string;

use crate::worker::metrics;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::confined::run::Confined;
use rookery_base::error::{Error, Result};
use rookery_base::random::Random;
use rookery_reading::text;
use rookery_upkeep::doctor::examine::examine;
use rookery_upkeep::doctor::given::Given;
use rookery_upkeep::doctor::kept::{self, Kept};
use rookery_upkeep::doctor::row::DoctorReport;

#[derive(clap::Args)]
pub struct DoctorArguments {
    /// Print an array of rows: name, ok, found, expected, fix.
    #[arg(long)]
    json: bool,
}

pub async fn doctor(config: Config, arguments: DoctorArguments) -> Result<()> {
    let mut app = App::new(config, Clock::system(), Random::system())?;
    app.confined = Confined::by_ourselves();
    let _ = app.loop_lags.set(|app| Box::pin(metrics::lags(app)));
    // One that is away is a row.
    let _ = app.follow_the_databases_clock().await;
    let report = examine(&app, &Given::default()).await;
    let (rows, wrong) = (report.rows.len(), report.wrong());
    if arguments.json {
        println!("{}", text::visible_json(&to_string(&report.rows)?));
    } else {
        print!("{}", text::visible(&format_report(&report)));
    }
    match kept::keep(&app, report).await {
        Ok(Kept { changed, .. }) => {
            for (_, sentence) in changed {
                eprintln!("Since the last run: {}", text::visible(&sentence));
            }
        }
        Err(error) => {
            eprintln!("What was found cannot be kept for the next run: {}", text::visible(&error.to_string()))
        }
    }
    match wrong {
        0 => Ok(()),
        wrong => Err(Error::internal(format!("{wrong} of {rows} checks are not right."))),
    }
}

/// What is right first, in one line each, so that what is not is at the end.
fn format_report(report: &DoctorReport) -> String {
    let mut lines = Vec::new();
    for row in report.rows.iter().filter(|row| row.ok) {
        lines.push(format!("ok     {:<22} {}", row.name, row.found));
    }
    for row in report.rows.iter().filter(|row| !row.ok) {
        lines.push(format!("WRONG  {:<22} {}", row.name, row.found));
        lines.push(format!("       {:<22} {}", "expected", row.expected));
        lines.push(format!("       {:<22} {}", "how to fix it", row.fix));
    }
    lines.push(String::new());
    lines.join("\n")
}
