//! Folds and hashes words for search: case and accents are ignored, whole words count (specification 4.2).
//!
//! A hash includes the workspace, so in an index over all workspaces a small one does not pay for the words of a
//! large one. Stored text and queries are folded alike.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::ids::WorkspaceId;
use crate::secrets::hashes::{number, sha256};

/// Distinct words of one message that are indexed; bounds the cost of a dictionary sent as mail.
const MOST_WORDS: usize = 10_000;
/// Longer runs of letters are encoded data, not words.
const LONGEST_WORD: usize = 64;

/// The hashes of all words of the texts, sorted and distinct.
pub fn hash_terms<'a>(workspace: WorkspaceId, texts: impl IntoIterator<Item = &'a str>) -> Vec<i64> {
    let mut hashes = BTreeSet::new();
    for text in texts {
        each_word(text, |word| {
            if hashes.len() < MOST_WORDS {
                hashes.insert(hash(workspace, word));
            }
        });
    }
    hashes.into_iter().collect()
}

/// What a word in a note is hashed as, so that it is another one than in mail. No word has a colon in it.
const NOTE: &str = "note:";

/// The words of a text: by the hash of each in mail, its hash in a note.
pub fn hash_noted(workspace: WorkspaceId, text: &str) -> BTreeMap<i64, i64> {
    let mut hashes = BTreeMap::new();
    each_word(text, |word| {
        if hashes.len() < MOST_WORDS {
            hashes.insert(hash(workspace, word), hash(workspace, &format!("{NOTE}{word}")));
        }
    });
    hashes
}

/// The hashes of a query's words. Empty when one of them is too long to be indexed, because then nothing can
/// match.
pub fn hash_query(workspace: WorkspaceId, query: &str) -> Vec<i64> {
    let overlong = |run: &str| run.chars().count() > LONGEST_WORD && !run.chars().any(is_unspaced);
    if fold(query).split(|letter: char| !letter.is_alphanumeric()).any(overlong) {
        Vec::new()
    } else {
        hash_terms(workspace, [query])
    }
}

/// Who a message is from, and whom it is to.
pub const FROM: &str = "from";
pub const TO: &str = "to";
/// A message has files. No word has a colon in it.
const FILES: &str = "has:attachment";

/// The hashes of people of a message: of each word of their names and addresses, and of each address as a whole.
pub fn hash_people<'a>(
    workspace: WorkspaceId,
    label: &str,
    people: impl IntoIterator<Item = &'a str>,
) -> Vec<i64> {
    let mut hashes = BTreeSet::new();
    for person in people {
        each_word(person, |word| {
            hashes.insert(hash(workspace, &format!("{label}:{word}")));
        });
        if is_address(person) {
            hashes.insert(hash(workspace, &format!("{label}:{}", fold(person.trim()))));
        }
    }
    hashes.into_iter().take(MOST_WORDS).collect()
}

/// The hashes that a message with somebody must all have, who is asked for by an address or by words. Empty when a word is too
/// long to be indexed.
pub fn hash_person(workspace: WorkspaceId, label: &str, asked: &str) -> Vec<i64> {
    if is_address(asked) {
        vec![hash(workspace, &format!("{label}:{}", fold(asked.trim())))]
    } else if hash_query(workspace, asked).is_empty() {
        Vec::new()
    } else {
        hash_people(workspace, label, [asked])
    }
}

/// Whole, so that it can be looked up as one. Anything else is words.
fn is_address(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && !part.contains(|letter: char| letter.is_whitespace() || "<>".contains(letter))
    };
    text.trim().split_once('@').is_some_and(|(name, domain)| is_part(name) && is_part(domain))
}

/// The hash that messages with files have.
pub fn hash_files(workspace: WorkspaceId) -> i64 {
    hash(workspace, FILES)
}

/// The hashes of all pieces of one to three letters of a folded text.
pub fn pieces(workspace: WorkspaceId, folded: &str) -> Vec<i64> {
    let letters: Vec<char> = folded.chars().collect();
    let pieces = (1..=3).flat_map(|length| letters.windows(length));
    distinct(pieces.map(|piece| hash(workspace, &piece.iter().collect::<String>())).collect())
}

/// The pieces a text must have to contain all of the folded words: the longest ones of each word.
pub fn pieces_of_words<'a>(workspace: WorkspaceId, folded: impl IntoIterator<Item = &'a str>) -> Vec<i64> {
    let mut hashes = Vec::new();
    for word in folded {
        let letters: Vec<char> = word.chars().collect();
        let pieces = letters.windows(letters.len().clamp(1, 3));
        hashes.extend(pieces.map(|piece| hash(workspace, &piece.iter().collect::<String>())));
    }
    distinct(hashes)
}

fn distinct(mut hashes: Vec<i64>) -> Vec<i64> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(MOST_WORDS);
    hashes
}

/// Lower case without accents: `Ångström` and `angstrom` are the same word.
pub fn fold(text: &str) -> String {
    // Fast path: ASCII needs no normalization.
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect()
}

/// The words of a query, folded, as [`marks`] looks for them.
pub fn query_words(query: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    each_word(query, |word| {
        words.insert(word.to_owned());
    });
    words
}

/// Letters that a word must begin with to be looked for by its beginning.
const SHORTEST_BEGINNING: usize = 3;

/// The end of a text as the beginning of a word, folded. Chinese and Japanese have no words that could begin.
pub fn beginning(text: &str) -> Option<String> {
    let folded = fold(text);
    let last = folded.rsplit(|letter: char| !letter.is_alphanumeric()).next()?;
    let is_long = (SHORTEST_BEGINNING..=LONGEST_WORD).contains(&last.chars().count());
    (is_long && !last.chars().any(is_unspaced)).then(|| last.to_owned())
}

/// The longer words of a text that begin so, folded.
pub fn begun_by(text: &str, beginning: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    each_word(text, |word| {
        if word.len() > beginning.len() && word.starts_with(beginning) && !words.contains(word) {
            words.insert(word.to_owned());
        }
    });
    words
}

/// Where words of a query stand in a text, as byte ranges in order that do not touch.
pub fn marks(text: &str, words: &BTreeSet<String>) -> Vec<Range<usize>> {
    let mut marks: Vec<Range<usize>> = Vec::new();
    let mut mark = |found: Range<usize>| match marks.last_mut() {
        Some(last) if found.start <= last.end => last.end = last.end.max(found.end),
        _ => marks.push(found),
    };
    let in_a_word = |letter: char| letter.is_alphanumeric() || is_combining_mark(letter);
    let mut rest = 0;
    while let Some(start) = text[rest..].find(in_a_word).map(|at| rest + at) {
        let end = text[start..].find(|letter| !in_a_word(letter)).map_or(text.len(), |at| start + at);
        let run = &text[start..end];
        if run.chars().any(is_unspaced) {
            let places: Vec<usize> = run.char_indices().map(|(at, _)| start + at).chain([end]).collect();
            for pair in places.windows(3.min(places.len())) {
                let range = pair[0]..pair[pair.len() - 1];
                if words.contains(&fold(&text[range.clone()])) {
                    mark(range);
                }
            }
        } else if words.contains(&fold(run)) {
            mark(start..end);
        }
        rest = end;
    }
    marks
}

fn each_word(text: &str, mut found: impl FnMut(&str)) {
    let folded = fold(text);
    for run in folded.split(|letter: char| !letter.is_alphanumeric()) {
        if run.is_empty() {
            continue;
        }
        if run.chars().any(is_unspaced) {
            each_pair(run, &mut found);
        } else if run.chars().count() <= LONGEST_WORD {
            found(run);
        }
    }
}

/// Chinese and Japanese are written without spaces: two neighbouring characters stand in for a word.
fn each_pair(run: &str, found: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    for pair in starts.windows(3) {
        found(&run[pair[0]..pair[2]]);
    }
    if starts.len() == 2 {
        found(run);
    }
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{20000}'..='\u{2fa1f}')
}

fn hash(workspace: WorkspaceId, word: &str) -> i64 {
    number(sha256([&workspace.0.to_be_bytes(), word.as_bytes()].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn case_accents_and_punctuation_do_not_make_another_word() {
        assert_eq!(words("ÉCOLE, (école) ecole!"), ["ecole"; 3]);
        assert_eq!(words("anna.b@example.test"), ["anna", "b", "example", "test"]);
    }

    #[test]
    fn japanese_is_found_by_pairs_of_characters() {
        assert_eq!(words("請求書"), ["請求", "求書"]);
        assert_eq!(words("水"), ["水"]);
    }

    fn marked(text: &str, query: &str) -> Vec<String> {
        marks(text, &query_words(query)).into_iter().map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn what_a_query_finds_is_marked_as_it_stands_in_the_text() {
        assert_eq!(marked("The Crème BRÛLÉE, cremes", "brulee crème"), ["Crème", "BRÛLÉE"]);
        assert_eq!(marked("cre\u{300}me", "creme"), ["cre\u{300}me"]);
        assert_eq!(marked("blowtorches", "blowtorch"), Vec::<String>::new());
        assert_eq!(marked("先月の請求書です", "請求書"), ["請求書"]);
        assert_eq!(marked("水 と 火", "水"), ["水"]);
        assert_eq!(marked("<mark>", "mark"), ["mark"]);
        assert_eq!(marked("", "mark"), Vec::<String>::new());
    }

    #[test]
    fn words_are_found_by_their_beginning() {
        let begun = |text, beginning| begun_by(text, beginning).into_iter().collect::<Vec<_>>();
        let text = "Your DÉPOSIT, the deposits; a depot (depos). Redeposit!";
        assert_eq!(begun(text, "depos"), ["deposit", "deposits"]);
        assert_eq!(begun(text, "deposits"), Vec::<String>::new());
        assert_eq!(beginning("my lease Dépos").as_deref(), Some("depos"));
        assert_eq!(beginning(&"a".repeat(65)), None);
    }

    /// Rows hold these numbers.
    #[test]
    fn a_word_has_the_same_hash_for_ever() {
        assert_eq!(hash_terms(WorkspaceId(1), ["invoice"]), [-5_142_998_804_097_939_058]);
    }

    #[test]
    fn the_same_word_has_another_hash_in_another_workspace() {
        assert_ne!(hash_terms(WorkspaceId(1), ["invoice"]), hash_terms(WorkspaceId(2), ["invoice"]));
    }

    #[test]
    fn a_word_in_a_note_is_another_one_than_in_mail() {
        let noted = hash_noted(WorkspaceId(1), "Invoice, INVOICE due");
        let mail: Vec<i64> = noted.keys().copied().collect();
        assert_eq!(mail, hash_terms(WorkspaceId(1), ["invoice due"]));
        assert!(noted.values().all(|term| !mail.contains(term)));
        assert_ne!(noted, hash_noted(WorkspaceId(2), "invoice due"));
    }

    #[test]
    fn encoded_blobs_are_not_words() {
        assert!(words(&"a".repeat(65)).is_empty());
    }
}
