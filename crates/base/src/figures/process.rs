//! What the process takes of its machine, under the names that every Prometheus client uses. Read from `/proc` when it is
//! asked for; on a system without it these figures are left out.

use chrono::{DateTime, Utc};
use rustix::process::{Resource, getrlimit};

use crate::figures::series::{gauge, total};

/// Ticks of a processor's second in `/proc`: Linux has had no other number for decades.
const TICKS: f64 = 100.0;
const PAGE: f64 = 4096.0;

/// When it began is always the same number: an alert counts how often it changes.
pub fn write(text: &mut String, began: DateTime<Utc>) {
    let started = began.timestamp_millis() as f64 / 1000.0;
    gauge(text, "process_start_time_seconds", "When the process began.", &[(&[], started)]);
    if let Some(seconds) = processor_seconds() {
        total(text, "process_cpu_seconds_total", "Time on the processor.", seconds);
    }
    if let Some(bytes) = resident_bytes() {
        gauge(text, "process_resident_memory_bytes", "Memory in use.", &[(&[], bytes)]);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        gauge(text, "process_open_fds", "Open files and connections.", &[(&[], open.count() as f64)]);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        gauge(text, "process_max_fds", "Open files and connections at most.", &[(&[], most as f64)]);
    }
}

fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in brackets, which may hold spaces. User and system time are the
    // fourteenth and fifteenth.
    let mut after = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = after.next()?.parse::<f64>().ok()? + after.next()?.parse::<f64>().ok()?;
    Some(ticks / TICKS)
}

fn resident_bytes() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<f64>().ok()? * PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_known_to_the_system() {
        assert!(processor_seconds().is_some_and(|seconds| (0.0..1e6).contains(&seconds)));
        assert!(resident_bytes().is_some_and(|bytes| bytes > 1e6));
        let mut text = String::new();
        write(&mut text, DateTime::UNIX_EPOCH);
        assert!(text.contains("\nprocess_open_fds ") && text.contains("\nprocess_max_fds "), "{text}");
    }
}
