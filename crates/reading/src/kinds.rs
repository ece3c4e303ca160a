//! What a paper is: an invoice, a receipt, a statement and so on, by the words at its head; and what to call it.
//! Words in the text say less than words in large letters at the top.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::folded::Folded;
use crate::lists::{section, words};
use crate::page::{TextLine, TextPage};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentClass {
    Invoice,
    Receipt,
    Statement,
    Contract,
    Id,
    Tax,
    Photo,
    Other,
}

impl DocumentClass {
    pub const ALL: [Self; 8] = [
        Self::Invoice,
        Self::Receipt,
        Self::Statement,
        Self::Contract,
        Self::Id,
        Self::Tax,
        Self::Photo,
        Self::Other,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invoice => "invoice",
            Self::Receipt => "receipt",
            Self::Statement => "statement",
            Self::Contract => "contract",
            Self::Id => "id",
            Self::Tax => "tax",
            Self::Photo => "photo",
            Self::Other => "other",
        }
    }
}

/// What it takes to be named.
const SURE: u32 = 4;
/// Text that is enough to say that it is something else.
const ENOUGH_WORDS: usize = 30;

static WORDS: LazyLock<Vec<(DocumentClass, Vec<&str>)>> = LazyLock::new(|| {
    let text = include_str!("words/kinds.txt");
    let told = DocumentClass::ALL.into_iter().filter(|kind| *kind != DocumentClass::Photo);
    told.map(|kind| (kind, words(section(text, kind.as_str())))).collect()
});

/// By the text of the first page.
pub fn of_text(pages: &[TextPage]) -> Option<DocumentClass> {
    let page = pages.first()?;
    if has_machine_readable_zone(pages) {
        return Some(DocumentClass::Id);
    }
    let largest = page.lines.iter().take(30).map(TextLine::size).fold(0.0, f32::max);
    let mut sizes: Vec<f32> = page.lines.iter().map(TextLine::size).collect();
    sizes.sort_by(f32::total_cmp);
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    let mut scores: Vec<(u32, DocumentClass)> = WORDS.iter().map(|(kind, _)| (0, *kind)).collect();
    for (score, (kind, words)) in scores.iter_mut().zip(WORDS.iter()) {
        for (row, line) in page.lines.iter().enumerate().take(80) {
            let top = line.at().y < 0.4 * page.height || row < 8;
            let large = line.size() >= 0.9 * largest && largest > 1.1 * usual;
            let upper = line.at().y < 0.6 * page.height;
            // What a table lists says little of the paper: a statement lists receipts.
            let listed =
                line.cells.len() >= 3 && line.text().bytes().any(|byte| byte.is_ascii_digit()) && row > 1;
            for cell in &line.cells {
                let folded = Folded::from_text(&cell.text);
                let plain = words.iter().filter_map(|word| folded.find(word)).map(|(_, start)| start).min();
                let compound = if *kind == DocumentClass::Invoice { bill(&folded.text) } else { None };
                let Some(start) = plain.or(compound) else { continue };
                // A line that is little more than the word is a heading.
                let count = cell.text.split_whitespace().count();
                let short = count <= 6 && start < 3 || count <= 3 || large && start == 0;
                let numbered = start == 0 && upper && cell.text.bytes().any(|byte| byte.is_ascii_digit());
                // `Lieferschein-Nr.` names another paper.
                let number = folded.text.contains("-nr") || folded.text.contains("-datum");
                if *kind == DocumentClass::Other && (!short || !top || number) {
                    continue;
                }
                score.0 += match (top, short, large) {
                    _ if listed && !large && (*kind != DocumentClass::Invoice || start > 0) => 1,
                    (false, true, false) if numbered && *kind == DocumentClass::Invoice => 4,
                    (true, true, true) => 6,
                    (true, true, false) => 4,
                    (true, false, _) | (false, true, true) => 2,
                    _ => 1,
                };
            }
        }
        // A strip of paper is a till's.
        if *kind == DocumentClass::Receipt && page.width < 0.5 * page.height {
            score.0 += 4;
        }
        score.0 = score.0.min(12);
    }
    scores.sort_by_key(|one| std::cmp::Reverse(one.0));
    let [(first, kind), (second, next), ..] = scores[..] else { return None };
    if first >= SURE && first > second {
        return Some(kind);
    }
    // A paid invoice is also a receipt; papers about tax name invoices.
    if first >= SURE && first == second {
        return Some(kind.min(next));
    }
    let words: usize = pages.iter().map(TextPage::words).sum();
    (words >= ENOUGH_WORDS).then_some(DocumentClass::Other)
}

/// Where a German word for a bill begins: `Handelsrechnung`, `Mietrechnung`.
fn bill(folded: &str) -> Option<usize> {
    let at = folded.find("rechnung")?;
    let ends = !folded[at + "rechnung".len()..].starts_with(char::is_alphabetic);
    let before = folded[..at].trim_end_matches(char::is_alphabetic);
    ends.then_some(before.len())
}

/// The two lines of a passport for machines.
fn has_machine_readable_zone(pages: &[TextPage]) -> bool {
    let is_zone = |line: &&TextLine| {
        let text: String = line.text().chars().filter(|letter| !letter.is_whitespace()).collect();
        text.len() >= 28
            && text.matches('<').count() >= 4
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'<')
    };
    pages.iter().flat_map(|page| &page.lines).filter(is_zone).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<DocumentClass> {
        of_text(&[TextPage::of_text(1, text)])
    }

    #[test]
    fn papers_are_known_by_their_heads() {
        assert_eq!(kind("ACME Ltd\nINVOICE\nInvoice number 7\nTotal $5.00"), Some(DocumentClass::Invoice));
        assert_eq!(
            kind("Bäckerei Süß\nKassenbon\nBrot 3,20\nSumme 3,20\nGegeben 5,00\nRückgeld 1,80"),
            Some(DocumentClass::Receipt)
        );
        assert_eq!(
            kind("Kontoauszug\nAlter Kontostand 5,00\nNeuer Kontostand 7,00"),
            Some(DocumentClass::Statement)
        );
        assert_eq!(kind("Mietvertrag\nzwischen Ada und Bo wird geschlossen"), Some(DocumentClass::Contract));
        assert_eq!(kind("Avis d'impôt\nAvis d'imposition 2031"), Some(DocumentClass::Tax));
        assert_eq!(
            kind(
                "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10"
            ),
            Some(DocumentClass::Id)
        );
    }

    #[test]
    fn a_few_words_are_no_kind() {
        assert_eq!(kind("hello"), None);
        assert_eq!(kind(&"some words of a long letter to a friend ".repeat(5)), Some(DocumentClass::Other));
    }
}
