//! What papers call the two sides, in seven languages, folded: who issues the paper, and who gets it. How people are
//! addressed belongs to the second: nobody writes `Frau` above a name of their own.

use std::sync::LazyLock;

use crate::lists::{Labels, Words, labels, words};

pub static SELLER: Labels = LazyLock::new(|| labels(include_str!("words/seller.txt")));

/// What follows is the other side.
pub static BUYER: Words = LazyLock::new(|| words(include_str!("words/buyer.txt")));

/// Before the name of whoever gets a letter.
pub static ADDRESSED: Words = LazyLock::new(|| words(include_str!("words/addressed.txt")));

/// A line with one of these is about a paper, or is its name: nobody's own.
pub static NO_FIRM: Words = LazyLock::new(|| words(include_str!("words/no_firm.txt")));
