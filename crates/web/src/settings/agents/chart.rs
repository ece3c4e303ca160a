//! Pictures of an agent's days, drawn here as SVG without a style of their own: colours come from classes. Every picture
//! says its numbers in words.

use askama::filters::Safe;

use crate::show::Times;
use rookery_core::workspace::agents::days::{CountedDay, Numbers};

/// In units of the picture: 30 columns.
const COLUMN: f64 = 20.0;
const BAR: f64 = 14.0;
const HIGH: f64 = 96.0;
const BELOW: f64 = 24.0;
/// Height of the bars in a small picture.
const SMALL: f64 = 24.0;

/// The parts of a day's bar from below, each with its CSS class and number.
fn stacked(did: &Numbers) -> [(&'static str, i64); 4] {
    [("asis", did.approved), ("edited", did.edited), ("alone", did.scheduled), ("thrown", did.discarded)]
}

fn total(did: &Numbers) -> i64 {
    stacked(did).iter().map(|(_, count)| count).sum()
}

/// Thirty days, with the numbers of the highest one and the dates of some.
pub fn month(days: &[CountedDay], times: &Times) -> Safe<String> {
    let highest = days.iter().map(|day| total(&day.did)).max().unwrap_or_default();
    let scale = HIGH / highest.max(1) as f64;
    let (wide, floor) = (COLUMN * days.len() as f64, HIGH + 14.0);
    let mut drawn = format!(
        r#"<svg class="chart" viewBox="0 0 {wide} {}" role="img" aria-label="{}"><line class="axis" x1="0" x2="{wide}" y1="{floor}" y2="{floor}"/>"#,
        floor + BELOW,
        said(days)
    );
    for (number, day) in days.iter().enumerate() {
        let left = COLUMN * number as f64 + (COLUMN - BAR) / 2.0;
        let mut top = floor;
        for (class, count) in stacked(&day.did).into_iter().filter(|(_, count)| *count > 0) {
            let high = (count as f64 * scale).max(1.0);
            top -= high;
            drawn.push_str(&format!(
                r#"<rect class="{class}" x="{left}" y="{top:.1}" width="{BAR}" height="{high:.1}"/>"#
            ));
        }
        let middle = left + BAR / 2.0;
        if highest > 0 && total(&day.did) == highest {
            drawn.push_str(&format!(
                r#"<text class="count" x="{middle}" y="{:.1}" text-anchor="middle">{highest}</text>"#,
                top - 4.0
            ));
        }
        // Every sixth, and always today.
        if (days.len() - 1 - number).is_multiple_of(6) {
            let date = times.day_of_year(day.day);
            let (at, anchor) = if number + 1 == days.len() { (wide, "end") } else { (middle, "middle") };
            drawn.push_str(&format!(
                r#"<text x="{at}" y="{}" text-anchor="{anchor}">{date}</text>"#,
                floor + 18.0
            ));
        }
    }
    drawn.push_str("</svg>");
    Safe(drawn)
}

/// The same very small, for a row of the list.
pub fn small(days: &[CountedDay]) -> Safe<String> {
    let highest = days.iter().map(|day| total(&day.did)).max().unwrap_or_default();
    let scale = SMALL / highest.max(1) as f64;
    let wide = days.len() * 4;
    let label = said(days);
    let mut drawn = format!(
        r#"<svg class="spark" width="{wide}" height="24" viewBox="0 0 {wide} 24" role="img" aria-label="{label}">"#
    );
    for (number, day) in days.iter().enumerate() {
        let count = total(&day.did);
        let (class, high) = match count {
            0 => ("none", 1.0),
            count => ("some", (count as f64 * scale).max(2.0)),
        };
        drawn.push_str(&format!(
            r#"<rect class="{class}" x="{}" y="{:.1}" width="3" height="{high:.1}"/>"#,
            number * 4,
            SMALL - high
        ));
    }
    drawn.push_str("</svg>");
    Safe(drawn)
}

/// Of a number of hundred; never wider than the whole.
pub fn share(part: i64, whole: i64) -> i64 {
    if whole <= 0 { 100 } else { (100 * part / whole).clamp(0, 100) }
}

/// The numbers of a picture. They are numbers and dates, so nothing needs to be escaped.
fn said(days: &[CountedDay]) -> String {
    let all: Numbers = days.iter().map(|day| day.did).sum();
    format!(
        "In {} days: {} approved unedited, {} edited first, {} sent without approval, {} discarded",
        days.len(),
        all.approved,
        all.edited,
        all.scheduled,
        all.discarded
    )
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Days, NaiveDate};
    use jiff::tz::TimeZone;

    use super::*;
    use rookery_core::workspace::preferences::Dates;

    #[test]
    fn a_picture_says_its_numbers_and_draws_nothing_outside() {
        let first: NaiveDate = "2031-01-06".parse().unwrap();
        let day = |n: u64, did| CountedDay { day: first + Days::new(n), did };
        let busy = Numbers { approved: 400, edited: 100, discarded: 3, ..Numbers::default() };
        let mut days: Vec<CountedDay> = (0..30).map(|n| day(n, Numbers::default())).collect();
        let times = Times { now: DateTime::UNIX_EPOCH, zone: TimeZone::UTC, dates: Dates::default() };
        assert!(
            month(&days, &times).0.contains("0 approved unedited"),
            "a month without anything is a picture too"
        );
        days[7].did = busy;
        let drawn = month(&days, &times).0;
        assert!(drawn.contains("400 approved unedited, 100 edited first"), "{drawn}");
        assert!(drawn.contains(">503</text>") && drawn.contains(">4 Feb</text>"), "{drawn}");
        assert!(!drawn.contains("y=\"-"), "{drawn}");
        assert!(small(&days).0.contains("class=\"some\""));
        assert_eq!([share(0, 0), share(1, 3), share(9, 3)], [100, 33, 100]);
    }
}
