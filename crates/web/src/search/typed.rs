//! What somebody typed to search for, read in one way wherever a page searches mail: whole words and operators, of bounded
//! length, as the API has them, and after what came a moment ago was indexed.

use std::collections::BTreeSet;

use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::TagId;
use rookery_base::search_terms;
use rookery_base::store::db::Reading;
use rookery_core::conversations::filter::ConversationCursor;
use rookery_core::conversations::search::index;
use rookery_core::conversations::search::pending::Searched;
use rookery_core::conversations::search::query::Query;
use rookery_core::conversations::tags;

/// As the API has it.
const LONGEST: usize = 200;

pub enum TypedSearch {
    Nothing,
    TooLong,
    /// There is no word in it that could be found.
    NoWord,
    /// An operator is not whole; what to write instead.
    Mistake(String),
    Words(SearchWords),
}

pub struct SearchWords {
    /// The hashes of the words; None if only tags or a day are searched for.
    pub hashes: Option<Vec<i64>>,
    pub tags: Vec<TagId>,
    /// Where the list begins, if `before:` is searched for.
    pub place: Option<ConversationCursor>,
    /// The words as they were typed, which results mark.
    pub plain: BTreeSet<String>,
    /// Mail that came just now may be missing.
    pub is_behind: bool,
}

impl TypedSearch {
    pub async fn read(reading: &mut Reading, asked: &MemberRequest, q: &str) -> Result<Self> {
        if q.is_empty() {
            return Ok(Self::Nothing);
        }
        if q.chars().count() > LONGEST {
            return Ok(Self::TooLong);
        }
        let query = match Query::read(q) {
            Ok(query) => query,
            Err(Error::Problems(problems)) => {
                return Ok(Self::Mistake(problems.into_iter().map(|problem| problem.what).collect()));
            }
            Err(error) => return Err(error),
        };
        let mut hashes = query.hashes(asked.person.workspace);
        if hashes.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Self::NoWord);
        }
        let tags = tags::named(reading, &asked.person, &query.tags).await?;
        if tags.is_none() {
            // Nothing has a tag that is not there.
            hashes = Some(Vec::new());
        }
        Ok(Self::Words(SearchWords {
            hashes,
            tags: tags.unwrap_or_default(),
            place: query.place(),
            plain: search_terms::query_words(&query.words),
            is_behind: !index::catch_up(asked.app(), reading, Searched::Mail).await,
        }))
    }
}
