//! The words that a search asks for, as the word index knows them: hashes (`index.rs`). A filter has them, and `find.rs` looks
//! for them.

/// Hashes of words that a conversation must have. With none at all, nothing is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoughtWords {
    pub all: Vec<i64>,
    /// At least one of these, if there are any.
    pub any: Vec<i64>,
}

impl From<Vec<i64>> for SoughtWords {
    fn from(all: Vec<i64>) -> Self {
        Self { all, any: Vec::new() }
    }
}

impl SoughtWords {
    /// Never empty, so that the index always has something to look up: of words that must all occur, one does.
    pub(super) fn some(&self) -> &[i64] {
        if self.any.is_empty() { &self.all[..1] } else { &self.any }
    }
}
