//! Who wrote the paper. It is the weakest field: only strong signs count (a label, a line of sender, a firm that stands at
//! the top and again beside its bank or tax number), and two names that are equally likely are none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::folded::{Folded, fold};
use crate::found::{FoundValue, ValuePlace, line_with};
use crate::kinds::DocumentClass;
use crate::lists::{Words, words};
use crate::page::{Cell, TextLine, TextPage};
use crate::parties;

/// What it takes to be told.
const SURE: u32 = 6;
/// Lines that belong to a heading.
const SECTION: usize = 7;
/// How far the next name has to be behind.
const AHEAD: u32 = 3;

/// What firms have in their names, as words of their own.
static LEGAL_FORMS: Words = LazyLock::new(|| words(include_str!("words/legal_forms.txt")));
/// What stands first in a section of somebody and is a label itself.
static NO_NAMES: Words = LazyLock::new(|| words(include_str!("words/no_names.txt")));

/// Beside these stands who gets the money.
static OWN_NUMBERS: Words = LazyLock::new(|| words(include_str!("words/own_numbers.txt")));

pub fn find(pages: &[TextPage], kind: DocumentClass) -> Option<FoundValue<String>> {
    if kind == DocumentClass::Id {
        return None;
    }
    let first = pages.first()?;
    let mut names: BTreeMap<String, (u32, String)> = BTreeMap::new();
    let mut add = |name: &str, weight: u32| {
        if let Some(name) = tidy(name) {
            let entry = names.entry(fold(&name)).or_insert((0, name));
            entry.0 += weight;
        }
    };
    let buyers = buyers(first);
    if let Some((name, sure)) = head(first, kind, &buyers) {
        add(&name, sure);
    }
    for (row, line) in first.lines.iter().enumerate() {
        for (column, cell) in line.cells.iter().enumerate() {
            if let Some((name, sure)) = labelled(first, row, column, cell) {
                add(&name, sure);
            }
            if buyers.contains(&(row, column)) {
                continue;
            }
            let top = cell.at.y < 0.3 * first.height;
            if top
                && let Some(name) = sender_line(&cell.text)
                && (row == 0 || !cell.text.contains(", ") || cell.at.height < 0.95 * usual(first))
            {
                add(&name, 8);
            } else if is_beside_buyer(first, row, column) && has_legal_form(&cell.text) && is_name(&cell.text)
            {
                add(&cell.text, 6);
            } else if top && has_legal_form(&cell.text) && is_name(&cell.text) {
                // At the very top, or in the largest letters.
                add(&cell.text, if row < 3 || cell.at.height > 13.0 { 4 } else { 2 });
            }
        }
    }
    // Below: firms in a line or block with the numbers of whoever is paid.
    for page in pages {
        for line in &page.lines {
            let whole = Folded::from_text(&line.text());
            let numbers = OWN_NUMBERS.iter().any(|word| whole.has(word));
            let low = line.at().y > 0.8 * page.height;
            for cell in line.cells.iter().filter(|_| numbers || low) {
                // French firms say what they are worth behind their name.
                if let Some((name, _)) = cell.text.split_once(" au capital") {
                    add(name, 7);
                }
                for part in cell.text.split(['·', '|', '•', ',', ';']).map(str::trim) {
                    if has_legal_form(part) && is_name(part) {
                        add(part, if numbers && low { 5 } else { 3 });
                    }
                }
            }
        }
    }
    let mut all: Vec<(u32, String)> = names.into_values().collect();
    // A brand in large letters and the firm of that name below it are one; the firm is who bills.
    let brands = all.clone();
    for (weight, firm) in all.iter_mut().filter(|(_, firm)| has_legal_form(firm)) {
        let own =
            |brand: &str| fold(firm).strip_prefix(&fold(brand)).is_some_and(|rest| rest.starts_with(' '));
        *weight += brands.iter().filter(|(_, brand)| own(brand)).map(|(weight, _)| *weight).sum::<u32>();
    }
    let firms = all.clone();
    all.retain(|(_, brand)| {
        let longer =
            |firm: &str| fold(firm).strip_prefix(&fold(brand)).is_some_and(|rest| rest.starts_with(' '));
        !firms.iter().any(|(_, firm)| has_legal_form(firm) && longer(firm))
    });
    all.sort_by_key(|one| std::cmp::Reverse(one.0));
    let (weight, value) = all.first().cloned()?;
    let next = all.get(1).map_or(0, |(weight, _)| *weight);
    if weight < SURE || weight < next + AHEAD {
        return None;
    }
    let place: ValuePlace = line_with(pages, |cell| fold(&cell.text).contains(&fold(&value)))?;
    Some(FoundValue { value, place })
}

/// Who stands at the head of the page, and how surely: in larger letters than the rest, above an address or a number of
/// its own, or on the first line of a receipt. A title, or somebody who is addressed, is no sender.
fn head(page: &TextPage, kind: DocumentClass, buyers: &BTreeSet<(usize, usize)>) -> Option<(String, u32)> {
    if kind == DocumentClass::Contract {
        return None;
    }
    let usual = usual(page);
    for (row, line) in page.lines.iter().enumerate().take(2) {
        for (column, cell) in line.cells.iter().enumerate() {
            let name = name_before_title(&cell.text);
            if buyers.contains(&(row, column)) || !is_sender(name) {
                continue;
            }
            let large = cell.at.height > 1.15 * usual;
            let below: Vec<&Cell> = page.lines[row + 1..]
                .iter()
                .take(3)
                .filter_map(|line| line.cells.iter().find(|other| other.at.shares_column(&cell.at)))
                .collect();
            let numbers = below.iter().any(|cell| has_own_number(&cell.text));
            let address = below.iter().take(2).any(|cell| is_address(&cell.text));
            let firm = has_legal_form(name);
            return match kind {
                _ if large || numbers => Some((name.to_owned(), 7)),
                DocumentClass::Tax if is_office(name) => Some((name.to_owned(), 7)),
                DocumentClass::Receipt if row == 0 && line.cells.len() == 1 => Some((name.to_owned(), 6)),
                // A person who writes a letter begins it so, too.
                DocumentClass::Other if !firm => None,
                _ if row == 0 && (firm || address) => Some((name.to_owned(), if firm { 2 } else { 6 })),
                _ => None,
            };
        }
        // Nothing but a title: the next line counts as the first.
        if row == 0 && !line.cells.iter().all(|cell| is_titled(&cell.text)) {
            return None;
        }
    }
    None
}

/// The height that half of the lines do not pass.
fn usual(page: &TextPage) -> f32 {
    let mut sizes: Vec<f32> = page.lines.iter().map(TextLine::size).collect();
    sizes.sort_by(f32::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or_default()
}

/// `Rutas Verdes - confirmación de pago`
fn name_before_title(text: &str) -> &str {
    match text.split_once(" - ").or_else(|| text.split_once(" – ")) {
        Some((name, rest)) if is_titled(rest) => name,
        _ => text,
    }
}

fn is_titled(text: &str) -> bool {
    let folded = fold(text);
    let words = || folded.split(|letter: char| !letter.is_alphanumeric());
    parties::NO_FIRM.iter().any(|word| {
        // German puts words together: `Standmitteilung`, `Schlussrechnung`.
        Folded::from_text(text).has(word) || word.len() > 5 && words().any(|own| own.ends_with(word))
    })
}

/// Who sends notices of tax.
fn is_office(text: &str) -> bool {
    static OFFICES: Words = LazyLock::new(|| words(include_str!("words/offices.txt")));
    let folded = Folded::from_text(text);
    OFFICES.iter().any(|office| folded.has(office))
}

fn is_sender(text: &str) -> bool {
    let folded = fold(text);
    let first = folded.split([' ', '.', ',']).next().unwrap_or_default();
    is_name(text)
        && !text.chars().any(|letter| letter.is_ascii_digit())
        && text.chars().next().is_some_and(char::is_uppercase)
        && !text.ends_with(['.', '!', '?']) | has_legal_form(text)
        && !parties::ADDRESSED.contains(&first)
        && !is_titled(text)
        && !is_label(text)
}

fn has_own_number(text: &str) -> bool {
    let folded = Folded::from_text(text);
    OWN_NUMBERS.iter().chain(&["vat", "nip", "tva", "btw"]).any(|word| folded.has(word))
        && text.chars().filter(char::is_ascii_digit).count() >= 6
}

/// A post code, or a number of a house, and no more than an address has.
fn is_address(text: &str) -> bool {
    let digits = |word: &str| word.trim_matches(',').bytes().all(|byte| byte.is_ascii_digit());
    let code =
        text.split_whitespace().any(|word| (4..=6).contains(&word.trim_matches(',').len()) && digits(word));
    code && text.split_whitespace().count() <= 8 && !text.contains([':', '€', '$', '£'])
}

/// `Cobalt Hosting Inc.` left of `Bill to`: the two sides stand beside each other.
fn is_beside_buyer(page: &TextPage, row: usize, column: usize) -> bool {
    column == 0
        && page.lines[row].cells.len() == 2
        && is_label(&page.lines[row].cells[1].text)
        && is_buyer(&page.lines[row].cells[1].text)
}

/// Cells that belong to the other side: those under a label of it, and the label itself.
fn buyers(page: &TextPage) -> BTreeSet<(usize, usize)> {
    let mut all = BTreeSet::new();
    for (row, line) in page.lines.iter().enumerate() {
        for (column, cell) in line.cells.iter().enumerate() {
            if !is_buyer(&cell.text) {
                continue;
            }
            all.insert((row, column));
            for (below, line) in page.lines.iter().enumerate().skip(row).take(5) {
                let under = |(_, other): &(usize, &Cell)| {
                    if below == row { other.at.x > cell.at.x } else { other.at.shares_column(&cell.at) }
                };
                all.extend(line.cells.iter().enumerate().filter(under).map(|(at, _)| (below, at)));
            }
        }
    }
    all
}

/// What a label of the seller names, and how surely: behind it, right of it, below it, or as `Name:` in its section.
fn labelled(page: &TextPage, row: usize, column: usize, cell: &Cell) -> Option<(String, u32)> {
    let folded = Folded::from_text(&cell.text);
    let (end, start, weight) = parties::SELLER
        .iter()
        .find_map(|(label, weight)| folded.find(label).map(|(end, start)| (end, start, *weight)))?;
    // Whoever holds the account is not always who sells.
    let sure = if weight >= 8 { 7 } else { 3 };
    if start > 0 {
        return None;
    }
    let behind = cell.text[end..].trim_start_matches([':', ' ', '/']);
    if cell.text[end..].trim_start().starts_with(':') && is_name(behind) {
        return Some((behind.to_owned(), sure));
    }
    if !behind.is_empty() {
        return None;
    }
    let sound = |cell: &&Cell| is_name(&cell.text) && !is_label(&cell.text);
    if let Some(right) = page.lines[row].cells.get(column + 1).filter(sound) {
        return Some((right.text.clone(), sure));
    }
    for line in page.lines.iter().skip(row + 1).take(SECTION) {
        if line.cells.iter().any(|other| is_buyer(&other.text)) {
            break;
        }
        let mut cells = line.cells.iter().skip_while(|other| !is_name_label(&other.text));
        if let (Some(_), Some(name)) = (cells.next(), cells.next().filter(sound)) {
            return Some((name.text.clone(), sure));
        }
    }
    let below = page.lines.iter().skip(row + 1).take(3).flat_map(|line| &line.cells);
    let first = below
        .filter(|other| other.at.shares_column(&cell.at))
        .find(|other| sound(other) && !other.text.chars().any(|letter| letter.is_ascii_digit()));
    first.map(|name| (name.text.clone(), sure))
}

/// `Name:`, `Firma`
fn is_name_label(text: &str) -> bool {
    let folded = fold(text.trim_end_matches([':', ' ']));
    ["name", "firma", "nom", "company", "nombre", "naam", "nome"].contains(&folded.as_str())
}

fn is_buyer(text: &str) -> bool {
    let folded = Folded::from_text(text);
    parties::BUYER.iter().any(|label| folded.find(label).is_some_and(|(_, start)| start < 3))
}

/// A cell that is a label and not a name that begins like one: `Lieferant`, but not `Lieferant GmbH`.
fn is_label(text: &str) -> bool {
    let folded = fold(text);
    let sellers = parties::SELLER.iter().map(|(label, _)| label);
    sellers.chain(parties::BUYER.iter()).any(|label| {
        let rest = folded.strip_prefix(label);
        rest.is_some_and(|rest| rest.trim_matches([':', ' ']).is_empty() || rest.starts_with(['/', ':']))
    })
}

/// `Nordwind GmbH · Storkower Str. 118 · 10407 Berlin`: the small line above the window of an envelope.
fn sender_line(text: &str) -> Option<String> {
    const SEPARATORS: [&str; 8] = [" · ", " • ", " ● ", " | ", " ∙ ", " - ", " – ", ", "];
    let separator = SEPARATORS.into_iter().find(|sign| text.matches(sign).count() >= 2)?;
    let parts: Vec<&str> = text.split(separator).map(str::trim).filter(|part| !part.is_empty()).collect();
    let has_digits = |part: &&&str| part.chars().any(|letter| letter.is_ascii_digit());
    let post_code = |part: &&&str| {
        part.split_whitespace()
            .any(|word| (4..=5).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (name, rest) = parts.split_first()?;
    let is_address =
        rest.iter().filter(has_digits).count() >= 2 && rest.iter().filter(post_code).count() >= 1;
    (is_address && is_name(name) && !has_digits(&name)).then(|| (*name).to_owned())
}

fn has_legal_form(text: &str) -> bool {
    let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
    // Behind at least one other word; `AG` and `SA` are forms, `as` and `se` are words.
    words.skip(1).map(|word| word.trim_end_matches([';', ':'])).any(|word| {
        let is_upper = word.chars().all(|letter| !letter.is_lowercase());
        LEGAL_FORMS.contains(&fold(word).as_str()) && (is_upper || word.chars().count() > 2)
    })
}

fn is_name(text: &str) -> bool {
    let text = text.trim();
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    (2..=70).contains(&text.chars().count())
        && letters >= 2
        && digits * 3 <= letters
        && !text.contains(['@', ':', '%', '€', '$'])
        && text.split_whitespace().count() <= 8
        && !NO_NAMES.contains(&fold(text).as_str())
}

fn tidy(name: &str) -> Option<String> {
    // What stands behind the name on its line, and what leads to it in a contract.
    let name =
        [" · ", " • ", " | ", " ● "].iter().fold(name, |name, sign| name.split(sign).next().unwrap_or(name));
    let name =
        ["Zwischen der ", "Zwischen dem ", "Zwischen ", "zwischen der ", "zwischen ", "Between ", "Entre "]
            .iter()
            .find_map(|words| name.strip_prefix(words))
            .unwrap_or(name);
    // `Acme Ltd, 5 Mill Lane`, but `Acme, Inc.`
    let name =
        name.split_once(", ").map(|(firm, _)| firm).filter(|firm| has_legal_form(firm)).unwrap_or(name);
    let name = name.trim().trim_end_matches([',', ';', '-', '·', '|']).trim();
    is_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vendor(text: &str) -> Option<String> {
        find(&[TextPage::of_text(1, text)], DocumentClass::Invoice).map(|found| found.value)
    }

    #[test]
    fn a_line_of_sender_names_the_vendor() {
        assert_eq!(
            vendor(
                "Nordwind Heiztechnik GmbH · Storkower Str. 118 · 10407 Berlin\nLarkfield Homes\nRechnung"
            ),
            Some("Nordwind Heiztechnik GmbH".into())
        );
        assert_eq!(sender_line("Wir danken - für Ihren - Auftrag"), None);
    }

    #[test]
    fn a_label_names_the_vendor() {
        assert_eq!(vendor("Seller\nAcme Tools\nBuyer\nUs Ltd"), Some("Acme Tools".into()));
        assert_eq!(vendor("Verkäufer: Holz Meier\nKäufer: Wir GmbH"), Some("Holz Meier".into()));
    }

    #[test]
    fn a_section_of_the_seller_names_the_vendor() {
        let paper = "Verkäufer\nNummer:\t549910\nName:\tLieferant Huber\nAnschrift:\tStraße 20\nKäufer\nName:\tKunden AG Mitte";
        assert_eq!(vendor(paper), Some("Lieferant Huber".into()));
        let mut page =
            TextPage::of_text(1, "Lieferant\tKäufer\nGLN 43 Nr: 5\tGLN 44\nMuster Handel\tUnser Haus");
        for line in &mut page.lines {
            line.cells[1].at.x = 300.0;
        }
        assert_eq!(
            find(&[page], DocumentClass::Invoice).map(|found| found.value),
            Some("Muster Handel".into())
        );
        let colons =
            "Verkäufer:\nNummer\t: 549910\nGlobale Nummer: 43 (GTIN)\nMUSTER-Autovermietung\nMusterstr. 99";
        assert_eq!(vendor(colons), Some("MUSTER-Autovermietung".into()));
        assert_eq!(vendor("Kontoinhaber: Max Mustermann"), None, "whoever holds the account may be another");
    }

    #[test]
    fn a_firm_at_the_top_counts_when_it_is_also_paid() {
        let paid = "Blumen Schmidt GmbH\nBill to\nUs Ltd\nInvoice 7\nBlumen Schmidt GmbH, IBAN DE02 1203";
        assert_eq!(vendor(paid), Some("Blumen Schmidt GmbH".into()));
    }

    #[test]
    fn doubt_is_nothing() {
        assert_eq!(vendor("Acme GmbH\nOther AG\nInvoice 7"), None);
        assert_eq!(vendor("Invoice 7\nTotal 5,00 €"), None);
        assert_eq!(vendor(""), None);
    }

    #[test]
    fn whoever_is_addressed_or_a_title_heads_no_page() {
        for text in
            ["Madame Hélène Barthe\n14 rue du Parc, 86999 Ville", "Kaufvertrag\nBahnweg 2, 99975 Gleis"]
        {
            assert_eq!(vendor(text), None, "{text}");
        }
        assert_eq!(
            vendor("Autohaus Brenner\nTor 5, 99987 Hafen\nRechnung 7"),
            Some("Autohaus Brenner".into())
        );
    }
}
