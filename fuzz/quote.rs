//! Quote removal: it takes out one stretch of lines and does nothing else. Nothing is invented, nothing is
//! changed, nothing is moved, and where there were words, words are left.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rookery_fuzz::{is_blank, let_panics_unwind, quickly};
use rookery_reading::mail::parse::parse;
use rookery_reading::mail::quote::{own_words, without_history};

const HEADER: &[u8] = b"Content-Type: text/plain; charset=utf-8\n\n";

// The input is the body of a mail, so that the text is one that the pipeline could see.
fuzz_target!(init: let_panics_unwind(), |body: &[u8]| {
    let Ok(mail) = parse(&[HEADER, body].concat()) else { return };
    one_stretch_is_gone(&mail.text, &quickly(|| own_words(&mail)));
    one_stretch_is_gone(&mail.text, &quickly(|| without_history(&mail.text)));
});

fn one_stretch_is_gone(text: &str, kept: &str) {
    let all: Vec<&str> = text.lines().filter(|line| !is_blank(line)).collect();
    let left: Vec<&str> = kept.lines().filter(|line| !is_blank(line)).collect();
    let above = all.iter().zip(&left).take_while(|(one, other)| one == other).count();
    let below = left.len() - above;
    assert!(
        all.len() >= left.len() && all.ends_with(&left[left.len() - below..]),
        "{text:?} became {kept:?}"
    );
    assert!(all.is_empty() || !left.is_empty(), "nothing is left of {text:?}");
}
