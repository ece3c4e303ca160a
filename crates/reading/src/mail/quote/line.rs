//! Predicates on one line of text: is it quoted, what is left without decoration, does it contain a phrase. Each
//! is linear in the line.

use crate::mail::parse::is_deceptive;

/// Whether a line contains this phrase as whole words, in languages that put spaces between words.
pub fn says(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, found)| {
        let before = line[..at].chars().next_back();
        let after = line[at + found.len()..].chars().next();
        let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() && !is_unspaced(c));
        !(goes_on(before) || goes_on(after))
    })
}

/// Without surrounding white space and direction marks.
pub fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || is_deceptive(c))
}

pub fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// Chinese, Japanese and Korean letters.
fn is_unspaced(c: char) -> bool {
    c >= '\u{2e80}'
}
