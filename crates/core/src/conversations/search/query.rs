//! What is typed to search for, read once: words, and operators that are not in quotes. `from:` and `to:` are people of the mail, `tag:` is
//! a tag of the conversation, `before:` a day that its newest mail is older than, `after:` one that it is not older than,
//! `has:attachment` mail with files; `is:` is a status, `in:` an inbox, `assigned:` whose it is. Any other `x:` is a word.

use std::iter::from_fn;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use crate::conversations::filter::{ConversationCursor, View};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::search_terms;

const FIELD: &str = "q";
const OPERATORS: [&str; 9] = ["from", "to", "tag", "before", "after", "has", "is", "in", "assigned"];
/// These are words where nothing follows them, as in `check in: 3 pm`.
const NOT_ALONE: [&str; 4] = ["after", "is", "in", "assigned"];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// What is left without the operators.
    pub words: String,
    from: Vec<String>,
    to: Vec<String>,
    pub tags: Vec<String>,
    pub before: Option<NaiveDate>,
    pub after: Option<NaiveDate>,
    has_files: bool,
    pub status: Option<View>,
    /// The name of an inbox, or its address.
    pub inbox: Option<String>,
    pub assigned: Option<WantedAssignee>,
}

/// Whose a conversation is wanted to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedAssignee {
    /// Who asks.
    Me,
    Nobody,
    /// Somebody of the team by name.
    Named(String),
}

impl Query {
    /// A mistake in an operator says what to write instead.
    pub fn read(text: &str) -> Result<Self> {
        let mut query = Self::default();
        for Piece { operator, value, .. } in pieces(text) {
            match operator {
                Some(name) => query.take(name, value.trim())?,
                None => {
                    query.words.push_str(value);
                    query.words.push(' ');
                }
            }
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
            "is" => match status(value) {
                Some(status) => once(&mut self.status, status, "is:")?,
                None => {
                    return problem("write open, waiting, snoozed or closed after is: as in is:closed");
                }
            },
            "in" => once(&mut self.inbox, value.to_lowercase(), "in:")?,
            "assigned" => once(&mut self.assigned, WantedAssignee::read(value), "assigned:")?,
            // Several days: all of them have to hold.
            "after" => match day(value) {
                Some(day) => self.after = Some(self.after.map_or(day, |other| other.max(day))),
                None => return problem("write a day after after: as in after:2026-01-31"),
            },
            _ => match day(value) {
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

    /// The newest mail is from this moment or later.
    pub fn since(&self) -> Option<DateTime<Utc>> {
        Some(self.after?.and_time(NaiveTime::MIN).and_utc())
    }

    /// The last word, folded, if it may be the beginning of one: it is not in quotes, and nothing follows it but operators.
    pub fn beginning(text: &str) -> Option<String> {
        let last = pieces(text).filter(|piece| piece.operator.is_none()).last()?;
        if last.whole.starts_with('"') { None } else { search_terms::beginning(last.value) }
    }

    /// The same text without an operator.
    pub fn without(text: &str, unwanted: &str) -> String {
        let kept = pieces(text).filter(|piece| piece.operator != Some(unwanted));
        kept.map(|piece| piece.whole.trim()).collect::<Vec<_>>().join(" ")
    }
}

impl WantedAssignee {
    fn read(value: &str) -> Self {
        match value.to_lowercase().as_str() {
            "me" => Self::Me,
            "nobody" => Self::Nobody,
            _ => Self::Named(value.to_owned()),
        }
    }
}

/// One that can hold only once. The same twice is the same.
fn once<T: PartialEq>(of: &mut Option<T>, value: T, operator: &str) -> Result<()> {
    if of.as_ref().is_some_and(|known| *known != value) {
        return Err(Error::problem(FIELD, format!("write {operator} once, a conversation has one of those")));
    }
    *of = Some(value);
    Ok(())
}

/// What `is:` can be. Everything is what a search without it looks at.
fn status(value: &str) -> Option<View> {
    View::named(&value.to_lowercase()).filter(|view| *view != View::All)
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

/// A part of what was typed: an operator with its value, or a word.
struct Piece<'a> {
    operator: Option<&'static str>,
    value: &'a str,
    /// As it was typed.
    whole: &'a str,
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text.trim_start();
    from_fn(move || {
        let from = Some(rest).filter(|rest| !rest.is_empty())?;
        let (operator, (value, behind)) = match operator(from) {
            Some((name, behind)) => (Some(name), value(behind)),
            None => (None, word(from)),
        };
        rest = behind.trim_start();
        Some(Piece { operator, value, whole: &from[..from.len() - behind.len()] })
    })
}

/// The operator that a text begins with, and what is behind its colon.
fn operator(text: &str) -> Option<(&'static str, &str)> {
    let (name, behind) = text.split_once(':')?;
    let known = OPERATORS.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
    let is_alone = behind.is_empty() || behind.starts_with(char::is_whitespace);
    (!is_alone || !NOT_ALONE.contains(&known)).then_some((known, behind))
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
    fn status_inbox_assignee_and_days_are_operators_too() {
        let query =
            read("lease is:Closed in:\"Help Desk\" assigned:ME after:2026-01-01 after:2026-02-01 is:closed");
        assert_eq!((query.words.as_str(), query.status), ("lease", Some(View::Closed)));
        assert_eq!(query.inbox.as_deref(), Some("help desk"));
        assert_eq!(query.assigned, Some(WantedAssignee::Me));
        assert_eq!(query.since().unwrap().to_rfc3339(), "2026-02-01T00:00:00+00:00");
        assert_eq!(read("assigned:nobody").assigned, Some(WantedAssignee::Nobody));
        assert_eq!(read("assigned:\"Ada B\"").assigned, Some(WantedAssignee::Named("Ada B".to_owned())));
    }

    #[test]
    fn an_operator_is_taken_out_of_a_text() {
        let text = "  lease after:2026-01-01 \"after:x y\" tag:\"a b\"  AFTER:2026-02-01 due";
        assert_eq!(Query::without(text, "after"), "lease \"after:x y\" tag:\"a b\" due");
        assert_eq!(Query::without(text, "tag"), "lease after:2026-01-01 \"after:x y\" AFTER:2026-02-01 due");
        assert_eq!(Query::without("", "tag"), "");
    }

    #[test]
    fn the_last_word_may_be_a_beginning() {
        for (text, beginning) in [
            ("depos", Some("depos")),
            ("lease DÉPOS is:open in:\"Help Desk\"", Some("depos")),
            ("priya@exam", Some("exam")),
            ("\"lease\" dep", Some("dep")),
            ("de", None),
            ("depos!", None),
            ("dep \"lease\"", None),
            ("dep \"lease", None),
            ("請求書", None),
            ("tag:deposit", None),
            ("", None),
        ] {
            assert_eq!(Query::beginning(text).as_deref(), beginning, "{text}");
        }
    }

    #[test]
    fn what_stands_in_quotes_or_is_not_known_is_a_word() {
        for text in [
            "re:invoice",
            "https://x.example",
            "\"from:ada to:bob\"",
            "\"has:nothing",
            "12:30",
            "\"is:open in:help\"",
            "isis:open",
            "check in: 3 pm",
            "is:",
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
            ("after:today", "q: write a day after after: as in after:2026-01-31"),
            ("is:unread", "q: write open, waiting, snoozed or closed after is: as in is:closed"),
            ("is:all", "q: write open, waiting, snoozed or closed after is: as in is:closed"),
            ("is:open is:closed", "q: write is: once, a conversation has one of those"),
            ("in:a in:b", "q: write in: once, a conversation has one of those"),
            ("assigned:me assigned:bob", "q: write assigned: once, a conversation has one of those"),
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
