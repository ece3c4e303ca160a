//! What is typed to search for, read once: words, and operators that are not in quotes. `from:` and `to:` are people of the mail, `tag:` is
//! a tag of the conversation, `before:` a day that its newest mail is older than, `has:attachment` mail with files. Any other `x:` is a word.

use chrono::{NaiveDate, NaiveTime};

use crate::conversations::filter::ConversationCursor;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::search_terms;

const FIELD: &str = "q";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// What is left without the operators.
    pub words: String,
    from: Vec<String>,
    to: Vec<String>,
    pub tags: Vec<String>,
    before: Option<NaiveDate>,
    has_files: bool,
}

impl Query {
    /// A mistake in an operator says what to write instead.
    pub fn read(text: &str) -> Result<Self> {
        let mut query = Self::default();
        let mut rest = text;
        while let Some(start) = rest.find(|letter: char| !letter.is_whitespace()) {
            rest = &rest[start..];
            rest = match operator(rest) {
                Some((name, behind)) => {
                    let (value, behind) = value(behind);
                    query.take(name, value.trim())?;
                    behind
                }
                None => {
                    let (word, behind) = word(rest);
                    query.words.push_str(word);
                    query.words.push(' ');
                    behind
                }
            };
        }
        query.words.truncate(query.words.trim_end().len());
        Ok(query)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<()> {
        let problem = |what: &str| Err(Error::problem(FIELD, what));
        let has_no_word = search_terms::query_words(value).is_empty();
        match name {
            "from" if has_no_word => {
                return problem("write whom after from: as in from:ada@customer.example");
            }
            "to" if has_no_word => return problem("write whom after to: as in to:help@acme.example"),
            "tag" if value.is_empty() => {
                return problem("write a tag after tag: as in tag:vip or tag:\"refund due\"");
            }
            "from" => self.from.push(value.to_owned()),
            "to" => self.to.push(value.to_owned()),
            "tag" => self.tags.push(value.to_owned()),
            "has" if value.eq_ignore_ascii_case("attachment") => self.has_files = true,
            "has" => return problem("write has:attachment, there is nothing else that can follow has:"),
            _ => match day(value) {
                // Several: all of them have to hold.
                Some(day) => self.before = Some(self.before.map_or(day, |other| other.min(day))),
                None => return problem("write a day after before: as in before:2026-01-31"),
            },
        }
        Ok(())
    }

    /// Hashes that a conversation must all have. Nothing when there is nothing to look up; empty when nothing can match.
    pub fn hashes(&self, workspace: WorkspaceId) -> Option<Vec<i64>> {
        let mut hashes = Vec::new();
        let mut is_asked = false;
        let mut must = |found: Vec<i64>| {
            is_asked = true;
            let nothing = found.is_empty();
            hashes.extend(found);
            nothing
        };
        let mut nothing = !self.words.is_empty() && must(search_terms::hash_query(workspace, &self.words));
        for (label, values) in [(search_terms::FROM, &self.from), (search_terms::TO, &self.to)] {
            for value in values {
                nothing |= must(search_terms::hash_person(workspace, label, value));
            }
        }
        if self.has_files {
            nothing |= must(vec![search_terms::hash_files(workspace)]);
        }
        match (is_asked, nothing) {
            (false, _) => None,
            (true, true) => Some(Vec::new()),
            (true, false) => {
                hashes.sort_unstable();
                hashes.dedup();
                Some(hashes)
            }
        }
    }

    /// The place in a list from which on everything is older than the day.
    pub fn place(&self) -> Option<ConversationCursor> {
        let at = self.before?.and_time(NaiveTime::MIN).and_utc();
        Some(ConversationCursor { at, id: ConversationId(0) })
    }
}

/// Four, two and two digits: years of five digits or before the first would be read too, which the database has no place for.
fn day(text: &str) -> Option<NaiveDate> {
    let is_written = text.len() == 10
        && text.bytes().enumerate().all(|(at, letter)| match at {
            4 | 7 => letter == b'-',
            _ => letter.is_ascii_digit(),
        });
    is_written.then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

/// The operator that a text begins with, and what is behind its colon.
fn operator(text: &str) -> Option<(&'static str, &str)> {
    let (name, behind) = text.split_once(':')?;
    let known = ["from", "to", "tag", "before", "has"];
    known.into_iter().find(|known| known.eq_ignore_ascii_case(name)).map(|known| (known, behind))
}

/// What follows an operator: up to the next space, or everything in quotes.
fn value(text: &str) -> (&str, &str) {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
        None => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    }
}

/// A word, or everything in quotes, where an operator is a word. Quotes around nothing are no word, and find nothing.
fn word(text: &str) -> (&str, &str) {
    match text.strip_prefix('"') {
        Some(quoted) => match quoted.split_once('"').unwrap_or((quoted, "")) {
            (inside, behind) if inside.trim().is_empty() => ("\"", behind),
            whole => whole,
        },
        None => text.split_at(
            text.find(|letter: char| letter.is_whitespace() || letter == '"').unwrap_or(text.len()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Query {
        Query::read(text).unwrap()
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn operators_are_taken_out_and_the_rest_are_words() {
        let query = read(
            "  deposit from:ada@x.example FROM:bob to:help Tag:vip has:Attachment before:2026-01-31 lease ",
        );
        assert_eq!(query.words, "deposit lease");
        assert_eq!(query.from, texts(&["ada@x.example", "bob"]));
        assert_eq!((query.to, query.tags), (texts(&["help"]), texts(&["vip"])));
        assert_eq!((query.before, query.has_files), (NaiveDate::from_ymd_opt(2026, 1, 31), true));
    }

    #[test]
    fn what_stands_in_quotes_or_is_not_known_is_a_word() {
        for text in [
            "re:invoice",
            "https://x.example",
            "\"from:ada to:bob\"",
            "\"has:nothing",
            "12:30",
            "xfrom:ada",
            ":",
            "a\"tag:b\"",
        ] {
            let query = read(text);
            assert_eq!(query, Query { words: query.words.clone(), ..Query::default() }, "{text}");
        }
        assert_eq!(read("\"from:ada to:bob\" re:invoice").words, "from:ada to:bob re:invoice");
        assert_eq!(read("tag:\"refund due\" now").tags, texts(&["refund due"]));
        assert_eq!(read("tag:\"refund due").tags, texts(&["refund due"]));
        assert_eq!(read("before:2026-03-01 before:2026-02-01").before, NaiveDate::from_ymd_opt(2026, 2, 1));
    }

    #[test]
    fn a_mistake_says_what_to_write() {
        for (text, says) in [
            ("from:", "q: write whom after from: as in from:ada@customer.example"),
            ("from: ada", "q: write whom after from: as in from:ada@customer.example"),
            ("to:\"\"", "q: write whom after to: as in to:help@acme.example"),
            ("from:!!!", "q: write whom after from: as in from:ada@customer.example"),
            ("tag:", "q: write a tag after tag: as in tag:vip or tag:\"refund due\""),
            ("has:", "q: write has:attachment, there is nothing else that can follow has:"),
            ("has:files", "q: write has:attachment, there is nothing else that can follow has:"),
            ("before:", "q: write a day after before: as in before:2026-01-31"),
            ("before:tomorrow", "q: write a day after before: as in before:2026-01-31"),
            ("before:2026-1-3", "q: write a day after before: as in before:2026-01-31"),
            ("before:-262143-01-01", "q: write a day after before: as in before:2026-01-31"),
            ("before:+99999-01-01", "q: write a day after before: as in before:2026-01-31"),
            ("before:-026-01-31", "q: write a day after before: as in before:2026-01-31"),
            ("before:２０２６-01-31", "q: write a day after before: as in before:2026-01-31"),
            ("before:2026-02-30", "q: write a day after before: as in before:2026-01-31"),
        ] {
            assert_eq!(Query::read(text).unwrap_err().sentence(), says, "{text}");
        }
    }

    #[test]
    fn a_query_has_hashes_when_there_is_something_to_look_up() {
        let hashes = |text| read(text).hashes(WorkspaceId(1));
        assert_eq!(hashes("tag:vip before:2026-01-31"), None);
        assert_eq!(hashes(""), None);
        for nothing in ["!!!", "\"", "\"\"", "\" \""] {
            assert_eq!(hashes(nothing), Some(Vec::new()), "{nothing}");
        }
        assert_eq!(hashes("!!! from:ada"), Some(Vec::new()));
        assert_eq!(hashes("from:ada").unwrap().len(), 1);
        assert_ne!(hashes("from:ada"), hashes("to:ada"));
        assert_ne!(hashes("from:ada"), hashes("ada"));
        assert_eq!(hashes("from:ada@x.example").unwrap().len(), 1, "an address is one term");
        assert_eq!(hashes("from:ADA@X.example"), hashes("from:ada@x.example"));
        assert_eq!(hashes("from:@x.example"), hashes("from:x.example"), "half an address is words");
        assert_eq!(hashes("from:\"Ada <ada@x.example>\"").unwrap().len(), 3, "and so is one with a name");
        assert_eq!(hashes("has:attachment deposit").unwrap().len(), 2);
    }
}
