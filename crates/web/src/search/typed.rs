//! What somebody typed to search for, read in one way wherever a page searches mail: words and operators, of bounded length, as
//! the API has them, and after what came a moment ago was indexed. Other than there, the last word may be a beginning, and
//! words are found in notes too.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::visit::MemberRequest;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::search_terms;
use rookery_base::store::db::Reading;
use rookery_core::conversations::filter::{ConversationCursor, ConversationFilter, View};
use rookery_core::conversations::search::beginnings;
use rookery_core::conversations::search::index;
use rookery_core::conversations::search::narrowing::Narrowing;
use rookery_core::conversations::search::pending::Searched;
use rookery_core::conversations::search::query::Query;
use rookery_core::conversations::search::sought::SoughtWords;

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
    /// None if only operators are searched for.
    pub sought: Option<SoughtWords>,
    /// The last word, if it may be the beginning of one.
    beginning: Option<String>,
    /// What the operators name.
    pub narrowing: Narrowing,
    /// Where the list begins, if `before:` is searched for.
    pub place: Option<ConversationCursor>,
    /// Where it ends, if `after:` is searched for.
    pub since: Option<DateTime<Utc>>,
    /// The words, which results mark.
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
            Err(Error::Problems(problems)) => return Ok(mistake(problems)),
            Err(error) => return Err(error),
        };
        let mut hashes = query.hashes(asked.person.workspace);
        if hashes.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Self::NoWord);
        }
        let narrowing = match Narrowing::look_up(reading, &asked.person, &query).await {
            Err(Error::Problems(problems)) => return Ok(mistake(problems)),
            narrowing => narrowing?,
        };
        if narrowing.is_none() {
            // Nothing is in an inbox, or has a tag, that is not there.
            hashes = Some(Vec::new());
        }
        Ok(Self::Words(SearchWords {
            sought: hashes.map(|all| SoughtWords {
                noted: search_terms::hash_noted(asked.person.workspace, &query.words),
                ..SoughtWords::from(all)
            }),
            beginning: Query::beginning(q),
            narrowing: narrowing.unwrap_or_default(),
            place: query.place(),
            since: query.since(),
            plain: search_terms::query_words(&query.words),
            is_behind: !index::catch_up(asked.app(), reading, Searched::Mail).await,
        }))
    }
}

impl SearchWords {
    /// The filter with what was typed; nothing when both contradict each other. The last word is also what it may be the
    /// beginning of, as the newest mail of the filter has it, on every page of the results.
    pub async fn narrow(
        &mut self,
        conn: &mut PgConnection,
        asked: &MemberRequest,
        filter: ConversationFilter,
        chosen: Option<View>,
    ) -> Result<Option<ConversationFilter>> {
        let Some(mut filter) = self.narrowing.narrow(filter, chosen) else { return Ok(None) };
        if let (Some(beginning), Some(sought)) = (&self.beginning, &mut self.sought)
            && !sought.all.is_empty()
        {
            let (person, now) = (&asked.person, asked.app().clock.now());
            let within = ConversationFilter { before: self.place, ..filter.clone() };
            let words = beginnings::complete(conn, person, now, &within, beginning).await?;
            if !words.is_empty() {
                let of_them: Vec<&str> = [beginning].into_iter().chain(&words).map(String::as_str).collect();
                sought.any = search_terms::hash_terms(person.workspace, of_them.iter().copied());
                sought.noted.extend(search_terms::hash_noted(person.workspace, &of_them.join(" ")));
                let typed = search_terms::hash_terms(person.workspace, [beginning.as_str()]);
                sought.all.retain(|word| !typed.contains(word));
                self.plain.extend(words);
            }
        }
        filter.words = self.sought.clone();
        Ok(Some(filter))
    }
}

fn mistake(problems: Vec<Problem>) -> TypedSearch {
    TypedSearch::Mistake(problems.into_iter().map(|problem| problem.what).collect())
}
