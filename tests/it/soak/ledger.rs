//! What was acknowledged, by number, and what came out of it. Small, because memory is measured in the same process.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Default)]
pub struct Ledger {
    /// Numbers of mails that were answered with 250.
    pub mails: BTreeSet<u32>,
    /// Numbers of notes and replies that were answered with 201, or that a page took.
    pub notes: BTreeSet<u32>,
    pub replies: BTreeSet<u32>,
    /// What may have happened although nobody was told so.
    pub uncertain: BTreeSet<u32>,
    /// By status and door, what was not done.
    pub refused: BTreeMap<String, u32>,
    /// What the relay took: number of the words, and hashes of the Message-IDs.
    pub left: BTreeMap<u32, Vec<u64>>,
    pub approved: u32,
    pub pages: u32,
    /// Ids of events that the feed gave.
    pub fed: BTreeSet<String>,
}

impl Ledger {
    pub fn refuse(&mut self, door: &str, status: u16) {
        *self.refused.entry(format!("{door} {status}")).or_default() += 1;
    }
}

/// The number in the words `w17.` of a mail or note, wherever they stand in it.
pub fn number_in(text: &str) -> Option<u32> {
    let mut parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    parts.find_map(|part| part.strip_prefix('w')?.parse().ok())
}

pub fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
