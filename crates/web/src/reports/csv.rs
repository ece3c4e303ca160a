//! `/reports/csv`: every number of the page, a line for each week and inbox.
//! Names are people's own words, so they are cells that no spreadsheet runs.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;

use crate::csv::cell;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::conversations::reports::weeks;

const HEADING: &str = "week,inbox,arrived,answered,first answer: half within (minutes),first answer: nine in ten within (minutes),open at the end,drafts approved unedited,drafts approved after editing";

pub async fn download(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let report = weeks::lately(&mut reading, &asked.person, asked.times().now).await?;
    let mut text = format!("{HEADING}\r\n");
    for (inbox, figures) in &report.inboxes {
        for (week, figures) in report.weeks.iter().zip(figures) {
            let minutes =
                |time: Option<TimeDelta>| time.map(|time| time.num_minutes().to_string()).unwrap_or_default();
            let line = [
                week.to_string(),
                cell(&inbox.name),
                figures.arrived.to_string(),
                figures.answered.to_string(),
                minutes(figures.half()),
                minutes(figures.most()),
                figures.open.map(|open| open.to_string()).unwrap_or_default(),
                figures.approved.to_string(),
                figures.edited.to_string(),
            ];
            text.push_str(&line.join(","));
            text.push_str("\r\n");
        }
    }
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"reports.csv\""),
    ];
    Ok((headers, text).into_response())
}
