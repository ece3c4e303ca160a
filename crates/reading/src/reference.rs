//! The number of a paper: behind a label of it, behind the name of the paper, or alone beside or below that name. What a
//! paper's own number is differs by kind: of a statement it is the account's, of an identity paper the paper's.

use std::sync::LazyLock;

use crate::amounts;
use crate::dates::{self, Order};
use crate::folded::Folded;
use crate::found::{FoundValue, place};
use crate::kinds::DocumentClass;
use crate::labels;
use crate::lists::{self, Label, section};
use crate::met::{How, meet};
use crate::page::{Cell, TextPage};

/// What the number is called on papers that have a word of their own for it.
static OF_KINDS: LazyLock<Vec<(DocumentClass, Vec<Label>)>> = LazyLock::new(|| {
    let text = include_str!("words/numbers.txt");
    let told =
        [DocumentClass::Statement, DocumentClass::Receipt, DocumentClass::Tax, DocumentClass::Id].into_iter();
    told.map(|kind| (kind, lists::labels(section(text, kind.as_str())))).collect()
});

fn of_kind(kind: DocumentClass) -> &'static [Label] {
    OF_KINDS.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, own)| own)
}

pub fn find(pages: &[TextPage], kind: DocumentClass) -> Option<FoundValue<String>> {
    let mut best: Option<(u8, FoundValue<String>)> = None;
    let own = of_kind(kind);
    for met in meet(pages, own).into_iter().chain(meet(pages, &labels::REFERENCE)) {
        let mut usable =
            met.candidates.iter().filter(|candidate| candidate.how != How::Below || met.is_heading());
        let found = usable.find_map(|candidate| Some((number_in(candidate.text)?, candidate)));
        let Some((value, candidate)) = found else { continue };
        // In the middle of a sentence it may be about another paper.
        let doubt = if met.start > 0 { 3 } else { u8::from(candidate.how == How::Below) };
        let sure = met.weight.saturating_sub(doubt);
        if best.as_ref().is_none_or(|(known, _)| sure > *known) {
            best = Some((sure, FoundValue { value, place: place(met.page, candidate.line) }));
        }
    }
    if best.as_ref().is_none_or(|(known, _)| *known < 8)
        && kind != DocumentClass::Id
        && let Some(found) = named_number(pages)
    {
        return Some(found);
    }
    best.map(|(_, found)| found)
}

/// The number that stands with the name of the paper: `Rechnung Nr. 7`, `Facture FA-2017-0010`.
fn named_number(pages: &[TextPage]) -> Option<FoundValue<String>> {
    named(pages).find_map(|(page, row, column)| {
        let cells = &page.lines[row].cells;
        let behind = behind_name(&cells[column].text);
        let long_enough = |value: &String| !is_year(value) && (value.len() >= 3 || is_numbered(behind));
        // `Handelsrechnung (380)` and beside it `Nr. 471102 vom`
        let mut numbered = cells[column + 1..].iter().filter(|cell| is_numbered(&cell.text));
        let own = number_in(behind).filter(long_enough);
        let value = own.or_else(|| numbered.find_map(|cell| number_in(&cell.text)));
        let (value, row) = value.map(|value| (value, row)).or_else(|| near_name(page, row, column))?;
        Some(FoundValue { value, place: place(page, row) })
    })
}

/// `Facture / Rechnung` and right of it or below it nothing but a number.
fn near_name(page: &TextPage, row: usize, column: usize) -> Option<(String, usize)> {
    let name = &page.lines[row].cells[column];
    if name.text.split_whitespace().count() > 3 {
        return None;
    }
    let alone = |cell: &Cell| {
        let text = cell.text.trim();
        number_in(text).filter(|value| value == text && value.len() >= 4 && !is_year(value))
    };
    if let Some(value) = page.lines[row].cells.get(column + 1).and_then(alone) {
        return Some((value, row));
    }
    let below = page.lines.get(row + 1)?;
    let near = below.at().y - name.at.y < 3.0 * name.at.height.max(6.0);
    let mut under = below.cells.iter().filter(|cell| near && cell.at.shares_column(&name.at));
    under.find_map(alone).map(|value| (value, row + 1))
}

/// Cells of the first page that begin with the name of a bill: (page, row, column).
pub fn named(pages: &[TextPage]) -> impl Iterator<Item = (&TextPage, usize, usize)> {
    pages.iter().take(1).flat_map(|page| {
        page.lines.iter().enumerate().flat_map(move |(row, line)| {
            let is_named = |(_, cell): &(usize, &Cell)| begins_with_name(&Folded::from_text(&cell.text).text);
            line.cells.iter().enumerate().filter(is_named).map(move |(column, _)| (page, row, column))
        })
    })
}

fn begins_with_name(folded: &str) -> bool {
    let first =
        folded.split(|letter: char| !letter.is_alphanumeric() && letter != '-').next().unwrap_or_default();
    // `Tax invoice`, `Sales invoice`
    let folded = ["tax ", "vat ", "sales ", "deposit ", "final ", "proforma "]
        .iter()
        .find_map(|word| folded.strip_prefix(word))
        .unwrap_or(folded);
    let first = if first.len() < 9 && folded.starts_with("invoice") { "invoice" } else { first };
    let compound = first.ends_with("rechnung") || first.ends_with("gutschrift");
    compound
        || labels::NAMED
            .iter()
            .any(|name| folded.starts_with(name) && !first.is_empty() && first.len() <= name.len())
}

/// What follows the name and remarks in brackets.
fn behind_name(text: &str) -> &str {
    let rest = text.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '-').trim_start();
    let mut rest = rest;
    while let Some((_, behind)) = rest.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        rest = behind.trim_start();
    }
    rest
}

fn is_numbered(text: &str) -> bool {
    let folded = Folded::from_text(text).text;
    ["nr", "no", "n°", "#", "nummer", "number", "numero"].iter().any(|sign| {
        folded.strip_prefix(sign).is_some_and(|rest| rest.starts_with(|letter: char| !letter.is_alphabetic()))
    })
}

/// The first word with a digit that can be a number of a paper: `RE-2026-4471`, `471102`, `FA 2017/3`.
fn number_in(text: &str) -> Option<String> {
    let text = text.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let text = ["nr", "no", "number", "nummer", "num", "n", "numero"]
        .iter()
        .find_map(|word| {
            let rest = text.get(word.len()..)?;
            let same = text.get(..word.len())?.eq_ignore_ascii_case(word);
            (same && rest.starts_with([' ', '.', ':', '°', 'º', '#'])).then_some(rest)
        })
        .unwrap_or(text)
        .trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let trimmed = |word: &str| -> String { word.trim_end_matches(['.', ',', ';', ':', ')', '-']).to_owned() };
    let value = if first.contains(|letter: char| letter.is_ascii_digit()) {
        if is_group(first) {
            // `118 220 455/01`: groups of digits are one number, unless a date or a sum follows.
            let mut value = first.to_owned();
            for word in
                words.by_ref().take_while(|word| is_group(word.trim_end_matches(['.', ',', ';', ')'])))
            {
                value = format!("{value} {word}");
            }
            trimmed(&value)
        } else {
            trimmed(first)
        }
    } else if first.len() <= 4 && first.chars().all(|letter| letter.is_ascii_uppercase()) {
        // A short prefix that stands apart.
        let second = words.next().filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
        format!("{first} {}", trimmed(second))
    } else {
        return None;
    };
    let sound = (2..=40).contains(&value.len())
        && value.chars().all(|letter| letter.is_alphanumeric() || "-/_. #".contains(letter))
        && dates::dates(&value, Order::DayFirst).first().is_none_or(|dated| dated.at.len() < value.len())
        && !is_amount(&value);
    sound.then_some(value)
}

fn is_group(word: &str) -> bool {
    let (digits, rest) = word.split_at(word.bytes().take_while(u8::is_ascii_digit).count());
    let tail = rest.strip_prefix(['/', '-']).unwrap_or(rest);
    (2..=10).contains(&digits.len()) && tail.len() <= 3 && tail.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_amount(value: &str) -> bool {
    amounts::amounts(value).first().is_some_and(|amount| amount.at.len() == value.len())
}

fn is_year(value: &str) -> bool {
    value.len() == 4 && (value.starts_with("19") || value.starts_with("20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, kind: DocumentClass) -> Option<String> {
        find(&[TextPage::of_text(1, text)], kind).map(|found| found.value)
    }

    #[test]
    fn a_number_alone_belongs_to_the_name_beside_or_above_it() {
        assert_eq!(
            number("Facture / Rechnung\t2031-0228-3", DocumentClass::Invoice).as_deref(),
            Some("2031-0228-3")
        );
        assert_eq!(number("Angebot\nA-2209\n10.02.2031", DocumentClass::Other).as_deref(), Some("A-2209"));
        assert_eq!(number("Angebot\n10.02.2031", DocumentClass::Other), None);
    }

    #[test]
    fn groups_of_digits_are_one_number() {
        assert_eq!(number_in("118 220 455/01").as_deref(), Some("118 220 455/01"));
        assert_eq!(number_in("471102 vom 05.03.2031").as_deref(), Some("471102"));
        assert_eq!(number_in("471102 05.03.2031").as_deref(), Some("471102"));
    }

    #[test]
    fn an_account_is_the_number_of_a_statement_alone() {
        let text = "Account number\t00118220";
        assert_eq!(number(text, DocumentClass::Statement).as_deref(), Some("00118220"));
        assert_eq!(number(text, DocumentClass::Invoice), None);
    }
}
