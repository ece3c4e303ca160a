//! Pictures of twelve weeks, drawn here as SVG without a style of their own: colours come from classes. Every picture says
//! its numbers in words. Everything in them is a number or a date, so nothing needs to be escaped.

use askama::filters::Safe;
use chrono::{NaiveDate, TimeDelta};

/// In units of the picture.
const WIDE: f64 = 420.0;
const HIGH: f64 = 120.0;
const LEFT: f64 = 40.0;
const TOP: f64 = 12.0;
const FLOOR: f64 = 92.0;
const HOUR: f64 = 3600.0;

/// A row of bars: its class and its heights, the lowest part first.
pub struct Bars {
    pub class: &'static str,
    pub values: Vec<i64>,
}

/// Bars by week; several parts stand on each other.
pub fn bars(weeks: &[NaiveDate], parts: &[Bars], label: &str) -> Safe<String> {
    let total = |week: usize| parts.iter().filter_map(|part| part.values.get(week)).sum::<i64>();
    let highest = (0..weeks.len()).map(total).max().unwrap_or_default();
    let top = nice(highest as f64);
    let mut drawn = opening(label);
    drawn.push_str(&scale(top, whole));
    let column = (WIDE - LEFT) / weeks.len().max(1) as f64;
    for week in 0..weeks.len() {
        let mut floor = FLOOR;
        for part in parts {
            let value = part.values.get(week).copied().unwrap_or_default();
            if value > 0 {
                let high = (value as f64 / top * (FLOOR - TOP)).max(1.0);
                floor -= high;
                let (left, wide) = (LEFT + column * (week as f64 + 0.15), column * 0.7);
                let class = part.class;
                drawn.push_str(&format!(
                    r#"<rect class="{class}" x="{left:.1}" y="{floor:.1}" width="{wide:.1}" height="{high:.1}"/>"#
                ));
            }
        }
    }
    closing(drawn, weeks)
}

/// Two lines: what half stayed below, and what nine in ten did. A week without a number is a gap.
pub fn times(
    weeks: &[NaiveDate],
    half: &[Option<TimeDelta>],
    most: &[Option<TimeDelta>],
    label: &str,
) -> Safe<String> {
    let hours = |time: &Option<TimeDelta>| time.map(|time| time.num_seconds() as f64 / HOUR);
    let half: Vec<Option<f64>> = half.iter().map(hours).collect();
    let most: Vec<Option<f64>> = most.iter().map(hours).collect();
    let highest = half.iter().chain(&most).flatten().copied().fold(0.0, f64::max);
    let top = nice(highest);
    let mut drawn = opening(label);
    drawn.push_str(&scale(top, |hours| format!("{} h", whole(hours))));
    drawn.push_str(&line("upper", &most, top));
    drawn.push_str(&line("main", &half, top));
    closing(drawn, weeks)
}

/// One line of counts.
pub fn counts(weeks: &[NaiveDate], values: &[Option<i64>], label: &str) -> Safe<String> {
    let values: Vec<Option<f64>> = values.iter().map(|value| value.map(|value| value as f64)).collect();
    let top = nice(values.iter().flatten().copied().fold(0.0, f64::max));
    let mut drawn = opening(label);
    drawn.push_str(&scale(top, whole));
    drawn.push_str(&line("main", &values, top));
    closing(drawn, weeks)
}

fn opening(label: &str) -> String {
    format!(r#"<svg class="chart" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{label}">"#)
}

fn closing(mut drawn: String, weeks: &[NaiveDate]) -> Safe<String> {
    if let (Some(first), Some(last)) = (weeks.first(), weeks.last()) {
        let (first, last, y) = (first.format("%-d %b"), last.format("%-d %b"), FLOOR + 20.0);
        drawn.push_str(&format!(
            r#"<text x="{LEFT}" y="{y}">{first}</text><text x="{WIDE}" y="{y}" text-anchor="end">{last}</text>"#
        ));
    }
    drawn.push_str("</svg>");
    Safe(drawn)
}

/// The floor, the top and the middle.
fn scale(top: f64, name: impl Fn(f64) -> String) -> String {
    let mut drawn = String::new();
    for (class, share) in [("axis", 0.0), ("grid", 0.5), ("grid", 1.0)] {
        let y = FLOOR - share * (FLOOR - TOP);
        drawn.push_str(&format!(
            r#"<line class="{class}" x1="{LEFT}" x2="{WIDE}" y1="{y:.1}" y2="{y:.1}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 6.0,
            y + 4.0,
            name(top * share)
        ));
    }
    drawn
}

fn line(class: &str, values: &[Option<f64>], top: f64) -> String {
    let step = (WIDE - LEFT - 8.0) / (values.len().max(2) - 1) as f64;
    let place = |week: usize, value: f64| {
        (LEFT + 4.0 + step * week as f64, FLOOR - (value / top).min(1.0) * (FLOOR - TOP))
    };
    let mut drawn = String::new();
    let mut points: Vec<String> = Vec::new();
    let mut end = |points: &mut Vec<String>| {
        if points.len() > 1 {
            drawn.push_str(&format!(r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")));
        }
        points.clear();
    };
    for (week, value) in values.iter().enumerate() {
        match value {
            Some(value) => {
                let (x, y) = place(week, *value);
                points.push(format!("{x:.1},{y:.1}"));
            }
            None => end(&mut points),
        }
    }
    end(&mut points);
    // Every week has its dot on the main line, so that one that stands alone is seen.
    if class == "main" {
        for (week, value) in values.iter().enumerate() {
            if let Some(value) = value {
                let (x, y) = place(week, *value);
                drawn.push_str(&format!(r#"<circle class="dot" cx="{x:.1}" cy="{y:.1}" r="3"/>"#));
            }
        }
    }
    drawn
}

fn whole(value: f64) -> String {
    let is_round = (value - value.round()).abs() < 0.05;
    if is_round { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// The next number that people would write at the end of a scale.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1.0).log10().floor());
    [1.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|end| *end >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use chrono::Days;

    use super::*;

    fn weeks() -> Vec<NaiveDate> {
        let first: NaiveDate = "2030-10-21".parse().unwrap();
        (0..12).map(|week| first + Days::new(7 * week)).collect()
    }

    #[test]
    fn pictures_hold_what_they_are_given_and_nothing_outside() {
        let empty = bars(&weeks(), &[Bars { class: "solid", values: vec![0; 12] }], "nothing").0;
        assert!(
            !empty.contains("<rect") && empty.contains(">21 Oct</text>") && empty.contains(">6 Jan</text>")
        );
        let mut values = vec![3; 12];
        values[4] = 1_999;
        let drawn = bars(
            &weeks(),
            &[Bars { class: "solid", values: values.clone() }, Bars { class: "soft", values }],
            "x",
        )
        .0;
        assert_eq!(drawn.matches("<rect").count(), 24);
        assert!(drawn.contains(">4000</text>") && !drawn.contains("=\"-"), "{drawn}");
        let gap: Vec<Option<i64>> = (0..12).map(|week| (week != 5).then_some(week)).collect();
        let drawn = counts(&weeks(), &gap, "x").0;
        assert_eq!((drawn.matches("<polyline").count(), drawn.matches("<circle").count()), (2, 11));
        let alone: Vec<Option<TimeDelta>> =
            (0..12).map(|week| (week == 5).then(|| TimeDelta::minutes(90))).collect();
        let drawn = times(&weeks(), &alone, &alone, "x").0;
        assert!(
            drawn.contains("<circle") && !drawn.contains("<polyline") && drawn.contains(">2 h</text>"),
            "{drawn}"
        );
    }

    #[test]
    fn scales_end_with_round_numbers() {
        assert_eq!(
            [0.0, 1.0, 3.0, 11.0, 80.0, 81.0, 1_234.0].map(nice),
            [1.0, 1.0, 4.0, 20.0, 80.0, 100.0, 2_000.0]
        );
    }
}
