//! The clock of a message that is about to leave. It goes by the server's time: the markup says what time it is here and
//! when the message leaves, and `undo-clock` only counts on from there.

use askama::filters::Safe;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, Result};

#[derive(Clone, Debug)]
pub struct Clock {
    now: DateTime<Utc>,
    sends_at: DateTime<Utc>,
    /// How long it waits in all.
    window: TimeDelta,
}

impl Clock {
    /// Of a message that waits since `at`.
    pub fn new(asked: &MemberRequest, at: DateTime<Utc>, sends_at: DateTime<Utc>) -> Self {
        let app = asked.app();
        let window = (sends_at - at).min(app.config.undo_window(true));
        Self { now: app.clock.now(), sends_at, window }
    }

    /// When it leaves, as the hidden field that says which time was shown.
    pub fn shown(&self) -> i64 {
        self.sends_at.timestamp_micros()
    }

    /// The clock as HTML. Everything filled in is a number, so nothing needs escaping.
    pub fn html(&self) -> Safe<String> {
        let stamp = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let left = self.seconds_left();
        let window = self.window.num_seconds().max(1);
        let gone = 100 - (100 * left / window).clamp(0, 100);
        let (sends_at, now, text) = (stamp(self.sends_at), stamp(self.now), written(left));
        Safe(format!(
            r#"<undo-clock class="clock" data-sends-at="{sends_at}" data-now="{now}" data-window="{window}"><svg class="ring" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="8"/><circle cx="10" cy="10" r="8" pathLength="100" stroke-dasharray="100" stroke-dashoffset="{gone}"/></svg><time datetime="{sends_at}">{text}</time></undo-clock>"#
        ))
    }

    fn seconds_left(&self) -> i64 {
        let left = (self.sends_at - self.now).num_milliseconds().max(0);
        (left + 999) / 1000
    }
}

/// The time that a form was shown with.
pub fn shown_time(form: &FormFields) -> Result<DateTime<Utc>> {
    let shown = form.parse::<i64>("shown")?.and_then(DateTime::from_timestamp_micros);
    shown.ok_or_else(|| Error::problem("shown", "is required"))
}

/// How long a mail can be taken back, in words: `20 seconds`, `1 minute`. Nothing if it leaves at once.
pub fn undo_time(window: TimeDelta) -> Option<String> {
    let counted = |n: i64, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    match window.num_seconds() {
        ..=0 => None,
        seconds if seconds % 60 == 0 => Some(counted(seconds / 60, "minute")),
        seconds => Some(counted(seconds, "second")),
    }
}

/// How long what agents send and what people approve can be stopped, in words.
pub fn stop_time(asked: &MemberRequest) -> String {
    undo_time(asked.app().config.undo_window(true)).unwrap_or_else(|| "a moment".to_owned())
}

/// `9:41`, `1:02:00`
fn written(seconds: i64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_take_a_mail_back_is_in_words() {
        let words = [0, 1, 20, 60, 90, 600].map(|seconds| undo_time(TimeDelta::seconds(seconds)));
        let words = words.map(Option::unwrap_or_default);
        assert_eq!(words, ["", "1 second", "20 seconds", "1 minute", "90 seconds", "10 minutes"]);
    }

    #[test]
    fn it_counts_down_to_nothing_and_no_further() {
        assert_eq!([0, 9, 65, 600, 3_720].map(written), ["0:00", "0:09", "1:05", "10:00", "1:02:00"]);
        let now: DateTime<Utc> = "2031-01-06T09:00:00Z".parse().unwrap();
        let clock = |seconds| Clock {
            now,
            sends_at: now + TimeDelta::seconds(seconds),
            window: TimeDelta::minutes(10),
        };
        assert!(clock(600).html().0.contains(r#"stroke-dashoffset="0""#));
        assert!(clock(-5).html().0.contains(r#"stroke-dashoffset="100""#));
        assert!(clock(-5).html().0.contains(">0:00<"));
    }
}
