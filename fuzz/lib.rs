//! The files of the program that read what strangers send, and nothing else of it. They need neither a database
//! nor a network, so the targets build in a minute, optimised, with the parsers below them instrumented too.

use std::time::{Duration, Instant};

#[path = "../src/secrets"]
pub mod secrets {
    pub mod hashes;
}

#[path = "../src/text.rs"]
pub mod text;

#[path = "../src/app_mail"]
pub mod app_mail {
    pub mod reference;
}

#[path = "../src/incoming"]
pub mod incoming {
    pub mod parse;
    pub mod quote;

    pub mod listen {
        pub mod data;
    }
}

#[path = "../src/reading"]
pub mod reading {
    pub mod amounts;
    pub mod dates;
    pub mod fields;
    pub mod files {
        pub mod archive;
        pub mod einvoice;
        pub mod office;
        pub mod picture;
        pub mod sheet;
        pub mod words;
        pub mod xml;
    }
    pub mod folded;
    pub mod found;
    pub mod kinds;
    pub mod labels;
    pub mod met;
    pub mod page;
    pub mod parties;
    pub mod reference;
    pub mod sums;
    pub mod title;
    pub mod vendor;
}

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
    c.is_whitespace() || incoming::parse::is_deceptive(c)
}
