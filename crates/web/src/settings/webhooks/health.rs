//! How a webhook does, at a glance: a picture of its last day, one bar an hour, with its numbers in words; and its state
//! in a word.

use std::fmt::Write;

use askama::filters::Safe;
use chrono::TimeDelta;

use crate::show::{Times, grouped_of};
use rookery_webhooks::health::{HOURS, HealthDay, Hour};
use rookery_webhooks::webhook::{Webhook, WebhookState};

const WIDE: i64 = 5;
const STEP: i64 = 7;
const TALL: i64 = 32;
/// The tallest bar; a bar of something is never lower than a line.
const BAR: i64 = 28;
const LINE: i64 = 2;

/// A state, as a word with its colour and icon.
pub struct WebhookHealth {
    pub class: &'static str,
    pub icon: &'static str,
    pub words: String,
}

pub fn state_of(webhook: &Webhook, day: &HealthDay, times: &Times) -> WebhookHealth {
    let shown = |class, icon, words: &str| WebhookHealth { class, icon, words: words.to_owned() };
    if !webhook.in_plan {
        return shown("warn-text", "ban", "Not in your plan");
    }
    match (webhook.state, webhook.failing_since) {
        (WebhookState::Paused, _) => shown("warn-text", "pause", "Paused"),
        (WebhookState::Off, _) => shown("bad-text", "circle-x", "Off"),
        (WebhookState::Active, Some(since)) => {
            shown("warn-text", "triangle-alert", &format!("Failing since {}", times.brief(&since)))
        }
        (WebhookState::Active, None) if day.iter().any(|hour| hour.delivered > 0) => {
            shown("good", "circle-check", "Healthy")
        }
        (WebhookState::Active, None) => shown("second", "circle-check", "Ready"),
    }
}

/// `412 delivered, 3 tries failed`
pub fn words(day: &HealthDay) -> String {
    let Hour { delivered, failed } = total(day);
    match (delivered, failed) {
        (0, 0) => "Nothing sent".to_owned(),
        (delivered, 0) => format!("{} delivered", grouped_of(delivered)),
        (delivered, failed) => format!(
            "{} delivered, {} {} failed",
            grouped_of(delivered),
            grouped_of(failed),
            if failed == 1 { "try" } else { "tries" }
        ),
    }
}

/// The picture. Who cannot see it hears the sums, and when tries failed.
pub fn picture(day: &HealthDay, times: &Times) -> Safe<String> {
    let most = day.iter().map(|hour| hour.delivered + hour.failed).max().unwrap_or_default();
    let mut bars = String::new();
    for (number, hour) in day.iter().enumerate() {
        let left = number as i64 * STEP;
        let (good, bad) = (height(hour.delivered, most), height(hour.failed, most));
        let mut bar = |class: &str, from_below: i64, height: i64| {
            let top = TALL - from_below - height;
            let _ = write!(
                bars,
                r#"<rect class="{class}" x="{left}" y="{top}" width="{WIDE}" height="{height}"/>"#
            );
        };
        if good + bad == 0 {
            bar("none", 0, LINE);
        } else {
            bar("bad", 0, bad);
            bar("ok", bad, good);
        }
    }
    let wide = HOURS as i64 * STEP - (STEP - WIDE);
    Safe(format!(
        r#"<svg class="spark" viewBox="0 0 {wide} {TALL}" width="{wide}" height="{TALL}" role="img" aria-label="{}">{bars}</svg>"#,
        aloud(day, times)
    ))
}

/// Numbers and times only, so nothing in it has to be escaped.
fn aloud(day: &HealthDay, times: &Times) -> String {
    let mut said = format!("Last 24 hours: {}", words(day).to_lowercase());
    let hours = day.iter().enumerate().filter(|(_, hour)| hour.failed > 0);
    let failed: Vec<String> = hours
        .map(|(number, hour)| {
            let ago = TimeDelta::hours((HOURS - 1 - number) as i64);
            format!("{} at {}", hour.failed, times.hour(&(times.now - ago)))
        })
        .collect();
    if !failed.is_empty() {
        let _ = write!(said, ". Failed: {}", failed.join(", "));
    }
    said
}

fn total(day: &HealthDay) -> Hour {
    day.iter().fold(Hour::default(), |sum, hour| Hour {
        delivered: sum.delivered + hour.delivered,
        failed: sum.failed + hour.failed,
    })
}

fn height(count: i64, most: i64) -> i64 {
    if count == 0 { 0 } else { (count * BAR / most.max(1)).max(LINE) }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use rookery_core::workspace::preferences::Dates;

    #[test]
    fn a_day_is_drawn_by_the_hour_and_told_in_words() {
        let times = Times {
            now: "2031-01-06T09:30:00Z".parse().unwrap(),
            zone: TimeZone::UTC,
            dates: Dates::default(),
        };
        let mut day = HealthDay::default();
        assert_eq!(words(&day), "Nothing sent");
        assert_eq!(picture(&day, &times).0.matches(r#"class="none""#).count(), 24);
        day[23] = Hour { delivered: 1200, failed: 0 };
        day[22] = Hour { delivered: 1, failed: 3 };
        assert_eq!(words(&day), "1,201 delivered, 3 tries failed");
        let svg = picture(&day, &times).0;
        assert!(svg.contains(r#"role="img" aria-label="Last 24 hours: 1,201 delivered, 3 tries failed. Failed: 3 at 08:00""#), "{svg}");
        assert!(svg.contains(r#"<rect class="ok" x="161" y="4" width="5" height="28"/>"#), "{svg}");
        assert!(
            svg.contains(r#"<rect class="bad" x="154" y="30" width="5" height="2"/>"#),
            "few are seen too: {svg}"
        );
    }
}
