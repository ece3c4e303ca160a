//! What somebody typed to search for, read in one way wherever a page searches mail: whole words and operators, of bounded
//! length, as the API has them, and after what came a moment ago was indexed.

use std::collections::BTreeSet;

use crate::conversations::filter::Cursor;
use crate::conversations::search::index;
use crate::conversations::search::pending::Searched;
use crate::conversations::search::query::Query;
use crate::conversations::tags;
use crate::error::{Error, Result};
use crate::ids::TagId;
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
    /// An operator is not whole; what to write instead.
    Mistake(String),
    Words(Words),
}

pub struct Words {
    /// Nothing when only tags or a day are asked for.
    pub hashes: Option<Vec<i64>>,
    pub tags: Vec<TagId>,
    /// Where a list that is older than the day begins.
    pub place: Option<Cursor>,
    /// To be marked where they stand.
    pub plain: BTreeSet<String>,
    /// Mail that came just now may be missing.
    pub is_behind: bool,
}

impl Typed {
    pub async fn read(reading: &mut Reading, asked: &Asked, q: &str) -> Result<Self> {
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
        Ok(Self::Words(Words {
            hashes,
            tags: tags.unwrap_or_default(),
            place: query.place(),
            plain: search_terms::query_words(&query.words),
            is_behind: !index::catch_up(asked.app(), reading, Searched::Mail).await,
        }))
    }
}
