//! What papers call their fields, in seven languages, folded. A heavier label says more surely what stands beside it.
//! Words of the field and not of one paper: what only one sender writes is in none of these lists.

use std::sync::LazyLock;

use crate::lists::{Labels, Words, labels, words};

pub static REFERENCE: Labels = LazyLock::new(|| labels(include_str!("words/reference.txt")));

/// The name of the paper and then its number: `Rechnung 471102`.
pub static NAMED: Words = LazyLock::new(|| words(include_str!("words/named.txt")));

pub static DATE: Labels = LazyLock::new(|| labels(include_str!("words/date.txt")));

/// A date beside such a word is another one.
pub static NOT_THE_DATE: Words = LazyLock::new(|| words(include_str!("words/not_the_date.txt")));

/// What is paid bit by bit is due on no one day.
pub static INSTALMENTS: Words = LazyLock::new(|| words(include_str!("words/instalments.txt")));

pub static DUE: Labels = LazyLock::new(|| labels(include_str!("words/due.txt")));
