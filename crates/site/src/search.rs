//! Search over the pages and the reference: parts of pages that have every word that was asked for, the best first. It runs
//! over texts in memory, so a question costs the same whoever asks and however often.

use crate::markdown::PagePart;

const MOST_HITS: usize = 30;
const MOST_WORDS: usize = 8;
/// Letters shown around the first word that was found.
const BEFORE: usize = 60;
const SHOWN: usize = 200;

/// A part that was found.
pub struct Hit {
    pub path: String,
    pub page: String,
    pub title: String,
    /// Some of its text; what was asked for is marked.
    pub shown: Vec<HitPiece>,
}

pub struct HitPiece {
    pub text: String,
    pub is_marked: bool,
}

/// A page to look through: its address, its name, its parts.
pub struct Searched<'p> {
    pub path: String,
    pub name: &'p str,
    pub parts: &'p [PagePart],
}

pub fn search<'p>(pages: impl Iterator<Item = Searched<'p>>, asked: &str) -> Vec<Hit> {
    let asked = asked.to_lowercase();
    let words: Vec<&str> = asked.split_whitespace().take(MOST_WORDS).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for page in pages {
        for part in page.parts {
            if let Some(worth) = worth(page.name, part, &words) {
                found.push((worth, page.path.clone(), page.name, part));
            }
        }
    }
    found.sort_by_key(|(worth, ..)| std::cmp::Reverse(*worth));
    found.truncate(MOST_HITS);
    found.into_iter().map(|(_, path, page, part)| hit(path, page, part, &words)).collect()
}

fn hit(path: String, page: &str, part: &PagePart, words: &[&str]) -> Hit {
    let path = if part.id.is_empty() { path } else { format!("{path}#{}", part.id) };
    let title = if part.title.is_empty() { page } else { part.title.as_str() };
    let text = part.text.trim_start();
    let shown = excerpt(text.strip_prefix(part.title.as_str()).unwrap_or(text), words);
    Hit { path, page: page.to_owned(), title: title.to_owned(), shown }
}

/// How well a part answers; nothing when it lacks a word.
fn worth(page: &str, part: &PagePart, words: &[&str]) -> Option<usize> {
    let (page, title, text) = (page.to_lowercase(), part.title.to_lowercase(), part.text.to_lowercase());
    let mut worth = 0;
    for word in words {
        let in_text = text.matches(word).count();
        let own =
            20 * usize::from(title.contains(word)) + 5 * usize::from(page.contains(word)) + in_text.min(5);
        if own == 0 {
            return None;
        }
        worth += own;
    }
    Some(worth)
}

/// The text around the first word, with every word marked.
fn excerpt(text: &str, words: &[&str]) -> Vec<HitPiece> {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let letters: Vec<char> = text.chars().collect();
    // One small letter for each: what becomes two when it is made small is left as it is.
    let small: Vec<char> = letters.iter().map(|letter| small(*letter)).collect();
    let words: Vec<Vec<char>> = words.iter().map(|word| word.chars().collect()).collect();
    let is_at = |at: usize, word: &Vec<char>| small[at..].starts_with(word);
    let first = (0..small.len()).find(|at| words.iter().any(|word| is_at(*at, word))).unwrap_or(0);
    let is_gap = |at: &usize| letters[*at] == ' ';
    let start = first.saturating_sub(BEFORE);
    // Whole words, where there is a gap near enough.
    let start = if start == 0 { 0 } else { (start..first).find(is_gap).map_or(start, |gap| gap + 1) };
    let end = (start + SHOWN).min(letters.len());
    let end = if end == letters.len() { end } else { (first..end).rev().find(is_gap).unwrap_or(end) };
    let mut pieces: Vec<HitPiece> = Vec::new();
    let mut push = |text: String, is_marked: bool| match pieces.last_mut() {
        Some(last) if last.is_marked == is_marked && !is_marked => last.text.push_str(&text),
        _ => pieces.push(HitPiece { text, is_marked }),
    };
    if start > 0 {
        push("…".into(), false);
    }
    let mut at = start;
    while at < end {
        match words.iter().filter(|word| is_at(at, word)).map(Vec::len).max() {
            Some(long) => {
                let to = (at + long).min(letters.len());
                push(letters[at..to].iter().collect(), true);
                at = to;
            }
            None => {
                push(letters[at].to_string(), false);
                at += 1;
            }
        }
    }
    if end < letters.len() {
        push("…".into(), false);
    }
    pieces
}

fn small(letter: char) -> char {
    let mut made = letter.to_lowercase();
    match (made.next(), made.next()) {
        (Some(one), None) => one,
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(title: &str, text: &str) -> PagePart {
        PagePart { id: title.to_lowercase(), title: title.into(), text: text.into() }
    }

    fn found(asked: &str) -> Vec<Hit> {
        let parts = [
            part("Scopes", "A key has scopes. The send scope lets a reply leave."),
            part("Errors", "A missing scope is 403. İstanbul <b>."),
        ];
        search([Searched { path: "/docs/x".into(), name: "Keys", parts: &parts }].into_iter(), asked)
    }

    #[test]
    fn every_word_must_occur_and_titles_count_most() {
        let hits = found("SCOPE");
        assert_eq!(
            hits.iter().map(|hit| hit.path.as_str()).collect::<Vec<_>>(),
            ["/docs/x#scopes", "/docs/x#errors"]
        );
        assert_eq!(found("scope 403").len(), 1);
        assert!(found("scope nowhere").is_empty() && found("  ").is_empty());
    }

    #[test]
    fn what_was_asked_for_is_marked() {
        let shown = &found("403")[0].shown;
        let marked: Vec<_> =
            shown.iter().filter(|piece| piece.is_marked).map(|piece| piece.text.as_str()).collect();
        assert_eq!(marked, ["403"]);
        let long = format!("{} needle {}", "before ".repeat(30), "after ".repeat(60));
        let parts = [PagePart { id: String::new(), title: "Title".into(), text: format!("Title {long}") }];
        let hits =
            search([Searched { path: "/docs/x".into(), name: "Keys", parts: &parts }].into_iter(), "needle");
        let cut: String = hits[0].shown.iter().map(|piece| piece.text.as_str()).collect();
        assert!(cut.starts_with("…before") && cut.ends_with("after…"), "{cut}");
        let whole: String = shown.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(whole, "A missing scope is 403. İstanbul <b>.");
    }
}
