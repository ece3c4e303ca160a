//! What the fuzz targets share. What strangers send is read by `rookery_reading` alone, which needs neither a database nor a
//! network, so the targets build in minutes, optimised, with the parsers below it instrumented too.

use std::time::{Duration, Instant};

/// No mail may keep us longer than this.
const SLOW: Duration = Duration::from_secs(1);

/// What `work` gives, which must come quickly; a busy machine gets two more tries.
pub fn quickly<T>(work: impl Fn() -> T) -> T {
    for _ in 0..3 {
        let began = Instant::now();
        let done = work();
        if began.elapsed() < SLOW {
            return done;
        }
    }
    panic!("this takes more than {SLOW:?}");
}

/// A panic that the program itself catches is none. Any other ends the run: libFuzzer's wrapper aborts.
pub fn let_panics_unwind() {
    drop(std::panic::take_hook());
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or("", |location| location.file());
        if !place.contains("html2text") {
            eprintln!("{panic}");
        }
    }));
}

/// The same lines with another end.
pub fn with_line_ends(bytes: &[u8], end: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(end)
}

/// Whether a line holds nothing a person would see.
pub fn is_blank(line: &str) -> bool {
    line.chars().all(is_unseen)
}

pub fn is_unseen(c: char) -> bool {
    c.is_whitespace() || rookery_reading::mail::parse::is_deceptive(c)
}
