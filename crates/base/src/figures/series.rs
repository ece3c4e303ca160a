//! Counters and histograms with labels, in the text form that Prometheus reads. Labels are words of our own tables, never
//! of a request, so their number is bounded; a figure is counted without a lock once its labels were seen.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// The upper bounds of a histogram's buckets, in seconds.
const BOUNDS: [f64; 13] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// What a figure is called, what it says, and the names of its labels.
pub struct SeriesName<const N: usize> {
    pub name: &'static str,
    pub help: &'static str,
    pub labels: [&'static str; N],
}

type Labels<const N: usize> = [&'static str; N];

/// Something for each combination of labels that was seen.
struct Family<const N: usize, T> {
    name: SeriesName<N>,
    by: RwLock<BTreeMap<Labels<N>, T>>,
}

/// How often something happened.
pub struct Counters<const N: usize>(Family<N, AtomicU64>);

/// How long something took.
pub struct Histograms<const N: usize>(Family<N, Histogram>);

#[derive(Default)]
struct Histogram {
    /// One for each bound, and one for what is above all of them.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl<const N: usize, T: Default> Family<N, T> {
    fn new(name: SeriesName<N>) -> Self {
        Self { name, by: RwLock::default() }
    }

    fn change(&self, labels: Labels<N>, change: impl Fn(&T)) {
        if let Some(one) = self.read().get(&labels) {
            return change(one);
        }
        let mut by = self.by.write().unwrap_or_else(PoisonError::into_inner);
        change(by.entry(labels).or_default());
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Labels<N>, T>> {
        self.by.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const N: usize> Counters<N> {
    /// Those that are `known` beforehand begin at 0: a first time can only be seen by its difference to that.
    pub fn new(name: SeriesName<N>, known: &[Labels<N>]) -> Self {
        let counters = Self(Family::new(name));
        known.iter().for_each(|labels| counters.0.change(*labels, |_| {}));
        counters
    }

    pub fn count(&self, labels: Labels<N>) {
        self.0.change(labels, |counter| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
    }

    pub fn write(&self, text: &mut String) {
        let SeriesName { name, help, labels } = &self.0.name;
        head(text, name, "counter", help);
        for (values, counter) in self.0.read().iter() {
            line(text, name, &pairs(labels, values), counter.load(Ordering::Relaxed));
        }
    }
}

impl<const N: usize> Histograms<N> {
    pub fn new(name: SeriesName<N>) -> Self {
        Self(Family::new(name))
    }

    pub fn note(&self, labels: Labels<N>, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.0.change(labels, |histogram| {
            histogram.buckets[bucket].fetch_add(1, Ordering::Relaxed);
            let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            histogram.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        });
    }

    pub fn write(&self, text: &mut String) {
        let SeriesName { name, help, labels } = &self.0.name;
        head(text, name, "histogram", help);
        for (values, histogram) in self.0.read().iter() {
            let (own, mut below) = (pairs(labels, values), 0);
            let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (bucket, bound) in histogram.buckets.iter().zip(bounds) {
                below += bucket.load(Ordering::Relaxed);
                let with_bound = [own.clone(), vec![("le", bound)]].concat();
                line(text, &format!("{name}_bucket"), &with_bound, below);
            }
            let seconds = Duration::from_nanos(histogram.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
            line(text, &format!("{name}_sum"), &own, seconds);
            line(text, &format!("{name}_count"), &own, below);
        }
    }
}

/// One figure that is read when it is asked for.
pub fn gauge(text: &mut String, name: &str, help: &str, figures: &[(&[(&'static str, &str)], f64)]) {
    head(text, name, "gauge", help);
    for (labels, figure) in figures {
        let labels: Vec<_> = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        line(text, name, &labels, figure);
    }
}

/// The same for one that only grows.
pub fn total(text: &mut String, name: &str, help: &str, figure: f64) {
    head(text, name, "counter", help);
    line(text, name, &[], figure);
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn pairs<const N: usize>(names: &Labels<N>, values: &Labels<N>) -> Vec<(&'static str, String)> {
    names.iter().zip(values).map(|(name, value)| (*name, (*value).to_owned())).collect()
}

fn line(text: &mut String, name: &str, labels: &[(&str, String)], figure: impl std::fmt::Display) {
    let _ = match labels {
        [] => writeln!(text, "{name} {figure}"),
        labels => {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            writeln!(text, "{name}{{{}}} {figure}", labels.join(","))
        }
    };
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_known_begins_at_zero() {
        let name = SeriesName { name: "sends_total", help: "Mails.", labels: ["mode", "outcome"] };
        let counters = Counters::new(name, &[["live", "accepted"], ["live", "refused"]]);
        counters.count(["live", "accepted"]);
        counters.count(["live", "accepted"]);
        counters.count(["sandbox", "a \"word\""]);
        let mut text = String::new();
        counters.write(&mut text);
        let expected = "# HELP sends_total Mails.\n# TYPE sends_total counter\n\
            sends_total{mode=\"live\",outcome=\"accepted\"} 2\n\
            sends_total{mode=\"live\",outcome=\"refused\"} 0\n\
            sends_total{mode=\"sandbox\",outcome=\"a \\\"word\\\"\"} 1\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_histogram_has_what_is_at_most_each_bound() {
        let histograms = Histograms::new(SeriesName { name: "t_seconds", help: "Time.", labels: ["of"] });
        for milliseconds in [1, 2, 3, 600, 40_000] {
            histograms.note(["x"], Duration::from_millis(milliseconds));
        }
        let mut text = String::new();
        histograms.write(&mut text);
        for line in [
            "t_seconds_bucket{of=\"x\",le=\"0.002\"} 2",
            "t_seconds_bucket{of=\"x\",le=\"0.005\"} 3",
            "t_seconds_bucket{of=\"x\",le=\"0.5\"} 3",
            "t_seconds_bucket{of=\"x\",le=\"1\"} 4",
            "t_seconds_bucket{of=\"x\",le=\"30\"} 4",
            "t_seconds_bucket{of=\"x\",le=\"+Inf\"} 5",
            "t_seconds_sum{of=\"x\"} 40.606",
            "t_seconds_count{of=\"x\"} 5",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
    }
}
