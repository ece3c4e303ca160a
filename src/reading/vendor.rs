//! Who wrote the paper. It is the weakest field: only strong signs count (a label, a line of sender, a firm that stands at
//! the top and again beside its bank or tax number), and two names that are equally likely are none.

use std::collections::{BTreeMap, BTreeSet};

use crate::reading::folded::{Folded, fold};
use crate::reading::found::{Found, Place, line_with};
use crate::reading::labels;
use crate::reading::page::{Cell, Page};

/// What it takes to be told.
const SURE: u32 = 6;
/// Lines that belong to a heading.
const SECTION: usize = 7;
/// How far the next name has to be behind.
const AHEAD: u32 = 2;

/// What firms have in their names, as words of their own.
const LEGAL_FORMS: &[&str] = &[
    "gmbh",
    "ag",
    "ug",
    "kg",
    "ohg",
    "gbr",
    "e.v.",
    "e.k.",
    "eg",
    "se",
    "mbh",
    "ltd",
    "ltd.",
    "limited",
    "llc",
    "llp",
    "inc",
    "inc.",
    "corp",
    "corp.",
    "corporation",
    "plc",
    "sarl",
    "s.a.r.l.",
    "sas",
    "sasu",
    "eurl",
    "s.a.",
    "sa",
    "srl",
    "s.r.l.",
    "spa",
    "s.p.a.",
    "s.l.",
    "sl",
    "slu",
    "bv",
    "b.v.",
    "nv",
    "n.v.",
    "vof",
    "lda",
    "lda.",
    "ltda",
    "ab",
    "oy",
    "as",
    "a/s",
    "aps",
    "sprl",
    "bvba",
    "pty",
    "kft",
    "s.r.o.",
    "oü",
    "gesellschaft",
    "genossenschaft",
    "stiftung",
    "partg",
];
/// What stands first in a section of somebody and is a label itself.
const NO_NAMES: &[&str] = &[
    "nummer",
    "nr",
    "nr.",
    "number",
    "no",
    "no.",
    "numero",
    "id",
    "name",
    "nom",
    "nombre",
    "naam",
    "nome",
    "adresse",
    "address",
    "anschrift",
    "direccion",
    "indirizzo",
    "adres",
    "morada",
    "telefon",
    "phone",
    "datum",
    "date",
    "page",
    "seite",
];

/// Beside these stands who gets the money.
const OWN_NUMBERS: &[&str] = &[
    "iban",
    "bic",
    "ust-id",
    "ust-idnr",
    "ustid",
    "ust.-id",
    "steuernummer",
    "steuer-nr",
    "vat no",
    "vat id",
    "vat number",
    "vat reg",
    "siret",
    "siren",
    "rcs",
    "tva intracom",
    "handelsregister",
    "hrb",
    "hra",
    "amtsgericht",
    "company no",
    "company number",
    "registered in",
    "geschaftsfuhrer",
    "p.iva",
    "partita iva",
    "nif",
    "cif",
    "kvk",
    "btw-nummer",
];

pub fn find(pages: &[Page]) -> Option<Found<String>> {
    let first = pages.first()?;
    let mut names: BTreeMap<String, (u32, String)> = BTreeMap::new();
    let mut add = |name: &str, weight: u32| {
        if let Some(name) = tidy(name) {
            let entry = names.entry(fold(&name)).or_insert((0, name));
            entry.0 += weight;
        }
    };
    let buyers = buyers(first);
    for (row, line) in first.lines.iter().enumerate() {
        for (column, cell) in line.cells.iter().enumerate() {
            if let Some((name, sure)) = labelled(first, row, column, cell) {
                add(&name, sure);
            }
            if buyers.contains(&(row, column)) {
                continue;
            }
            let top = cell.at.y < 0.3 * first.height;
            if top && let Some(name) = sender_line(&cell.text) {
                add(&name, 6);
            } else if top && has_legal_form(&cell.text) && is_name(&cell.text) {
                // At the very top, or in the largest letters.
                add(&cell.text, if row < 3 || cell.at.height > 13.0 { 4 } else { 2 });
            }
        }
    }
    // Below: firms in a line or block with the numbers of whoever is paid.
    for page in pages {
        for line in &page.lines {
            let whole = Folded::of(&line.text());
            let numbers = OWN_NUMBERS.iter().any(|word| whole.has(word));
            let low = line.at().y > 0.8 * page.height;
            for cell in line.cells.iter().filter(|_| numbers || low) {
                for part in cell.text.split(['·', '|', '•', ',', ';']).map(str::trim) {
                    if has_legal_form(part) && is_name(part) {
                        add(part, if numbers && low { 5 } else { 3 });
                    }
                }
            }
        }
    }
    let mut all: Vec<(u32, String)> = names.into_values().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.0));
    let (weight, value) = all.first().cloned()?;
    let next = all.get(1).map_or(0, |(weight, _)| *weight);
    if weight < SURE || weight < next + AHEAD {
        return None;
    }
    let place: Place = line_with(pages, |cell| fold(&cell.text).contains(&fold(&value)))?;
    Some(Found { value, place })
}

/// Cells that belong to the other side: those under a label of it, and the label itself.
fn buyers(page: &Page) -> BTreeSet<(usize, usize)> {
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
fn labelled(page: &Page, row: usize, column: usize, cell: &Cell) -> Option<(String, u32)> {
    let folded = Folded::of(&cell.text);
    let (end, start, weight) = labels::SELLER
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
    let folded = Folded::of(text);
    labels::BUYER.iter().any(|label| folded.find(label).is_some_and(|(_, start)| start < 3))
}

/// A cell that is a label and not a name that begins like one: `Lieferant`, but not `Lieferant GmbH`.
fn is_label(text: &str) -> bool {
    let folded = fold(text);
    let sellers = labels::SELLER.iter().map(|(label, _)| label);
    sellers.chain(labels::BUYER).any(|label| {
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
    let name = name.trim().trim_end_matches([',', ';', '-', '·', '|']).trim();
    is_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vendor(text: &str) -> Option<String> {
        find(&[Page::of_text(1, text)]).map(|found| found.value)
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
        let mut page = Page::of_text(1, "Lieferant\tKäufer\nGLN 43 Nr: 5\tGLN 44\nMuster Handel\tUnser Haus");
        for line in &mut page.lines {
            line.cells[1].at.x = 300.0;
        }
        assert_eq!(find(&[page]).map(|found| found.value), Some("Muster Handel".into()));
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
}
