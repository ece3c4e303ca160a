//! What papers call the sum that counts, in seven languages, folded; what they call its parts; and words that take the
//! doubt away. As in `labels`, no word of one sender alone.

use std::sync::LazyLock;

use crate::lists::{Labels, Words, labels, words};

/// The whole, with tax. What is still to be paid can be less, so it comes after.
pub static TOTAL: Labels = LazyLock::new(|| labels(include_str!("words/total.txt")));

/// Beside such a word stands a part, not the whole.
pub static NOT_THE_TOTAL: Words = LazyLock::new(|| words(include_str!("words/not_the_total.txt")));

/// Words that take the doubt away: the tax is in it.
pub static WITH_TAX: Words = LazyLock::new(|| words(include_str!("words/with_tax.txt")));
