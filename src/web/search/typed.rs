//! What somebody typed to search for, read in one way wherever a page searches mail: in whole words, of bounded length,
//! and after what came a moment ago was indexed.

use crate::conversations::search::index;
use crate::search_terms;
use crate::store::db::Reading;
use crate::web::visit::Asked;

/// As the API has it.
const LONGEST: usize = 200;

pub enum Typed {
    Nothing,
    TooLong,
    /// There is no word in it that could be found.
    NoWord,
    Words(Words),
}

pub struct Words {
    pub hashes: Vec<i64>,
    /// Mail that came just now may be missing.
    pub is_behind: bool,
}

impl Typed {
    pub async fn read(reading: &mut Reading, asked: &Asked, q: &str) -> Self {
        if q.is_empty() {
            return Self::Nothing;
        }
        if q.chars().count() > LONGEST {
            return Self::TooLong;
        }
        let hashes = search_terms::hash_query(asked.person.workspace, q);
        if hashes.is_empty() {
            return Self::NoWord;
        }
        Self::Words(Words { hashes, is_behind: !index::catch_up(asked.app(), reading).await })
    }
}
