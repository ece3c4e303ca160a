//! The words that a search asks for, as the word index knows them: hashes (`index.rs`). A filter has them, and `find.rs` looks
//! for them. People also find what stands in a note (docs/decisions/notes-in-search.md).

use std::array::from_fn;
use std::collections::BTreeMap;

use crate::conversations::search::stored::as_list;

/// Hashes of words that a conversation must have. With none at all, nothing is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoughtWords {
    pub all: Vec<i64>,
    /// At least one of these, if there are any.
    pub any: Vec<i64>,
    /// Of words that may stand in a note instead: by the hash in mail, the hash in a note. Empty for whoever finds mail only.
    pub noted: BTreeMap<i64, i64>,
}

impl From<Vec<i64>> for SoughtWords {
    fn from(all: Vec<i64>) -> Self {
        Self { all, ..Self::default() }
    }
}

/// Alternatives that the index is asked for at once, beside what only notes have. What is asked for beyond that is compared
/// with what it finds.
const LOOKED_UP: usize = 3;

impl SoughtWords {
    /// Never empty, so that the index always has something to look up: of words that must all occur, one does.
    pub(super) fn some(&self) -> &[i64] {
        if self.any.is_empty() { &self.all[..1] } else { &self.any }
    }

    /// What each word may be: a conversation must have one of each list.
    fn alternatives(&self) -> Vec<Vec<i64>> {
        let also_noted = |words: &[i64]| {
            let in_notes = words.iter().filter_map(|word| self.noted.get(word));
            words.iter().chain(in_notes).copied().collect::<Vec<i64>>()
        };
        let any = (!self.any.is_empty()).then_some(&self.any[..]);
        self.all.chunks(1).chain(any).map(also_noted).collect()
    }

    /// The same, as PostgreSQL takes lists of different lengths.
    pub(super) fn lists(&self) -> Vec<String> {
        self.alternatives().into_iter().map(as_list).collect()
    }

    /// What only notes have: where none of it is, nothing is found by a note.
    pub(super) fn in_notes(&self) -> Vec<i64> {
        self.noted.values().copied().collect()
    }

    /// The first alternatives, which narrow down what notes have. A single word is narrowed by nothing else.
    pub(super) fn looked_up(&self) -> [Vec<i64>; LOOKED_UP] {
        let mut alternatives = self.alternatives();
        if alternatives.len() == 1 {
            alternatives.clear();
        }
        from_fn(|n| alternatives.get(n).cloned().unwrap_or_else(|| self.in_notes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_may_stand_in_mail_or_in_a_note() {
        let noted = BTreeMap::from([(1, -1), (3, -3), (4, -4)]);
        let sought = SoughtWords { all: vec![1, 2], any: vec![3, 4], noted };
        assert_eq!(sought.lists(), ["{1,-1}", "{2}", "{3,4,-3,-4}"]);
        assert_eq!(sought.looked_up(), [vec![1, -1], vec![2], vec![3, 4, -3, -4]]);
        let mail = SoughtWords::from(vec![1, 2]);
        assert_eq!((mail.lists(), mail.in_notes()), (vec!["{1}".to_owned(), "{2}".to_owned()], vec![]));
    }

    #[test]
    fn what_is_looked_up_is_a_part_of_many_words_and_nothing_beside_one() {
        let noted: BTreeMap<i64, i64> = (1..6).map(|word| (word, -word)).collect();
        let many = SoughtWords { all: (1..6).collect(), any: vec![], noted };
        assert_eq!(many.looked_up(), [vec![1, -1], vec![2, -2], vec![3, -3]]);
        let one = SoughtWords { all: vec![7], any: vec![], noted: BTreeMap::from([(7, -7)]) };
        assert_eq!(one.looked_up(), [vec![-7], vec![-7], vec![-7]]);
    }
}
