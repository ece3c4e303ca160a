//! What a paper is: an invoice, a receipt, a statement and so on, by the words at its head; and what to call it.
//! Words in the text say less than words in large letters at the top.

use serde::{Deserialize, Serialize};

use crate::reading::fields::Fields;
use crate::reading::folded::Folded;
use crate::reading::page::{Line, Page};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Invoice,
    Receipt,
    Statement,
    Contract,
    Id,
    Tax,
    Photo,
    Other,
}

impl Kind {
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

const WORDS: &[(Kind, &[&str])] = &[
    (
        Kind::Invoice,
        &[
            "invoice",
            "tax invoice",
            "credit note",
            "rechnung",
            "gutschrift",
            "rechnungskorrektur",
            "schlussrechnung",
            "abschlagsrechnung",
            "teilrechnung",
            "stornorechnung",
            "facture",
            "avoir",
            "factura",
            "fattura",
            "nota di credito",
            "factuur",
            "creditnota",
            "creditfactuur",
            "fatura",
            "abono",
            "rechnungsnummer",
            "rechnungs-nr",
            "rechnungsdatum",
            "invoice number",
            "numero de facture",
            "factuurnummer",
        ],
    ),
    (
        Kind::Receipt,
        &[
            "receipt",
            "sales receipt",
            "quittung",
            "kassenbon",
            "kassenbeleg",
            "kassenzettel",
            "bewirtungsbeleg",
            "recu",
            "ticket de caisse",
            "recibo",
            "ticket",
            "ricevuta",
            "scontrino",
            "documento commerciale",
            "kassabon",
            "bon",
            "bonnummer",
            "thank you for your purchase",
            "vielen dank fur ihren einkauf",
            "change due",
            "ruckgeld",
            "gegeben",
            "talao",
        ],
    ),
    (
        Kind::Statement,
        &[
            "bank statement",
            "account statement",
            "statement of account",
            "statement",
            "kontoauszug",
            "depotauszug",
            "kreditkartenabrechnung",
            "nebenkostenabrechnung",
            "betriebskostenabrechnung",
            "releve de compte",
            "releve bancaire",
            "releve",
            "extracto bancario",
            "extracto de cuenta",
            "extracto",
            "estratto conto",
            "rekeningoverzicht",
            "rekeningafschrift",
            "extrato",
            "opening balance",
            "closing balance",
            "alter kontostand",
            "neuer kontostand",
            "solde precedent",
            "nouveau solde",
            "saldo anterior",
            "saldo iniziale",
        ],
    ),
    (
        Kind::Contract,
        &[
            "contract",
            "agreement",
            "lease",
            "rental agreement",
            "tenancy agreement",
            "employment contract",
            "service agreement",
            "non-disclosure agreement",
            "vertrag",
            "mietvertrag",
            "arbeitsvertrag",
            "kaufvertrag",
            "dienstleistungsvertrag",
            "vereinbarung",
            "contrat",
            "contrat de travail",
            "contrat de location",
            "bail",
            "contrato",
            "contrato de arrendamiento",
            "contratto",
            "contratto di locazione",
            "overeenkomst",
            "huurovereenkomst",
            "arbeidsovereenkomst",
            "hereinafter",
            "the parties agree",
            "die parteien",
            "les parties",
        ],
    ),
    (
        Kind::Id,
        &[
            "passport",
            "identity card",
            "driving licence",
            "driver license",
            "driver's license",
            "residence permit",
            "personalausweis",
            "reisepass",
            "fuhrerschein",
            "aufenthaltstitel",
            "passeport",
            "carte nationale d'identite",
            "carte d'identite",
            "permis de conduire",
            "titre de sejour",
            "pasaporte",
            "documento nacional de identidad",
            "permiso de conducir",
            "passaporto",
            "carta d'identita",
            "patente di guida",
            "paspoort",
            "identiteitskaart",
            "rijbewijs",
            "passaporte",
            "cartao de cidadao",
            "carta de conducao",
        ],
    ),
    (
        Kind::Tax,
        &[
            "tax return",
            "tax assessment",
            "tax statement",
            "income tax",
            "form w-2",
            "form 1099",
            "form 1040",
            "p60",
            "p45",
            "self assessment",
            "steuerbescheid",
            "einkommensteuerbescheid",
            "bescheid fur",
            "finanzamt",
            "lohnsteuerbescheinigung",
            "steuererklarung",
            "umsatzsteuervoranmeldung",
            "grundsteuerbescheid",
            "avis d'imposition",
            "declaration de revenus",
            "taxe fonciere",
            "declaracion de la renta",
            "agencia tributaria",
            "modelo 100",
            "certificazione unica",
            "agenzia delle entrate",
            "modello f24",
            "belastingdienst",
            "belastingaanslag",
            "jaaropgaaf",
            "declaracao de irs",
            "autoridade tributaria",
        ],
    ),
];

/// By the text of the first page.
pub fn of_text(pages: &[Page]) -> Option<Kind> {
    let page = pages.first()?;
    if has_machine_readable_zone(pages) {
        return Some(Kind::Id);
    }
    let largest = page.lines.iter().take(30).map(Line::size).fold(0.0, f32::max);
    let mut scores = [(0_u32, Kind::Other); 6];
    for (score, (kind, words)) in scores.iter_mut().zip(WORDS) {
        score.1 = *kind;
        for (row, line) in page.lines.iter().enumerate().take(80) {
            let top = line.at().y < 0.4 * page.height || row < 8;
            let large = line.size() >= 0.9 * largest && line.size() > 0.0;
            for cell in &line.cells {
                let folded = Folded::of(&cell.text);
                let plain = words.iter().filter_map(|word| folded.find(word)).map(|(_, start)| start).min();
                let compound = if *kind == Kind::Invoice { bill(&folded.text) } else { None };
                let Some(start) = plain.or(compound) else { continue };
                // A line that is little more than the word is a heading.
                let short = cell.text.split_whitespace().count() <= 6 && start < 3;
                score.0 += match (top, short, large) {
                    (true, true, true) => 6,
                    (true, true, false) => 4,
                    (true, false, _) | (false, true, true) => 2,
                    _ => 1,
                };
            }
        }
        score.0 = score.0.min(12);
    }
    scores.sort_by_key(|one| std::cmp::Reverse(one.0));
    let [(first, kind), (second, next), ..] = scores;
    if first >= SURE && first > second {
        return Some(kind);
    }
    // A paid invoice is also a receipt; papers about tax name invoices.
    if first >= SURE && first == second {
        return Some(kind.min(next));
    }
    let words: usize = pages.iter().map(Page::words).sum();
    (words >= ENOUGH_WORDS).then_some(Kind::Other)
}

/// Where a German word for a bill begins: `Handelsrechnung`, `Mietrechnung`.
fn bill(folded: &str) -> Option<usize> {
    let at = folded.find("rechnung")?;
    let ends = !folded[at + "rechnung".len()..].starts_with(char::is_alphabetic);
    let before = folded[..at].trim_end_matches(char::is_alphabetic);
    ends.then_some(before.len())
}

/// The two lines of a passport for machines.
fn has_machine_readable_zone(pages: &[Page]) -> bool {
    let is_zone = |line: &&Line| {
        let text: String = line.text().chars().filter(|letter| !letter.is_whitespace()).collect();
        text.len() >= 28
            && text.matches('<').count() >= 4
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'<')
    };
    pages.iter().flat_map(|page| &page.lines).filter(is_zone).count() >= 2
}

/// A title in words, when there is enough to make one of; else the name of the file stays.
pub fn title(kind: Option<Kind>, fields: &Fields, pages: &[Page]) -> Option<String> {
    let name = match kind? {
        Kind::Invoice => "Invoice",
        Kind::Receipt => "Receipt",
        Kind::Statement => "Statement",
        Kind::Contract | Kind::Tax | Kind::Other => return heading(pages),
        Kind::Id | Kind::Photo => return None,
    };
    let reference = fields.reference.as_ref().map(|found| found.value.as_str());
    let vendor = fields.vendor.as_ref().map(|found| found.value.as_str());
    let date = fields.date.as_ref().map(|found| found.value.to_string());
    let title = match (vendor, reference, date) {
        (Some(vendor), Some(reference), _) => format!("{name} {reference}, {vendor}"),
        (Some(vendor), None, Some(date)) => format!("{name} of {date}, {vendor}"),
        (Some(vendor), None, None) => format!("{name}, {vendor}"),
        (None, Some(reference), _) => format!("{name} {reference}"),
        (None, None, Some(date)) => format!("{name} of {date}"),
        (None, None, None) => return None,
    };
    Some(title.chars().take(150).collect())
}

/// The line in the largest letters of the upper half, when it reads like one.
fn heading(pages: &[Page]) -> Option<String> {
    let page = pages.first()?;
    let upper = page.lines.iter().filter(|line| line.at().y < 0.5 * page.height);
    let readable = upper.filter(|line| {
        let text = line.text();
        let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
        (4..=90).contains(&text.chars().count()) && letters * 2 > text.chars().count()
    });
    let line = readable.reduce(|best, line| if line.size() > best.size() * 1.05 { line } else { best })?;
    let usual = page.lines.iter().map(Line::size).fold((0.0, 0.0), |(sum, n), size| (sum + size, n + 1.0));
    (line.size() > 1.15 * usual.0 / usual.1).then(|| crate::text::line(&line.text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<Kind> {
        of_text(&[Page::of_text(1, text)])
    }

    #[test]
    fn papers_are_known_by_their_heads() {
        assert_eq!(kind("ACME Ltd\nINVOICE\nInvoice number 7\nTotal $5.00"), Some(Kind::Invoice));
        assert_eq!(
            kind("Bäckerei Süß\nKassenbon\nBrot 3,20\nSumme 3,20\nGegeben 5,00\nRückgeld 1,80"),
            Some(Kind::Receipt)
        );
        assert_eq!(kind("Kontoauszug\nAlter Kontostand 5,00\nNeuer Kontostand 7,00"), Some(Kind::Statement));
        assert_eq!(kind("Mietvertrag\nzwischen Ada und Bo wird geschlossen"), Some(Kind::Contract));
        assert_eq!(kind("Avis d'impôt\nAvis d'imposition 2031"), Some(Kind::Tax));
        assert_eq!(
            kind(
                "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10"
            ),
            Some(Kind::Id)
        );
    }

    #[test]
    fn a_few_words_are_no_kind() {
        assert_eq!(kind("hello"), None);
        assert_eq!(kind(&"some words of a long letter to a friend ".repeat(5)), Some(Kind::Other));
    }
}
