//! What a paper is: an invoice, a receipt, a statement and so on, by the words at its head; and what to call it.
//! Words in the text say less than words in large letters at the top.

use serde::{Deserialize, Serialize};

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
            "rechnungs-korrektur",
            "rekening",
            "nota",
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
            "factuurnr",
            "factuurdatum",
            "invoice no",
            "invoice date",
            "invoice #",
            "facture n°",
            "bill number",
            "bill date",
            "your bill",
            "electricity bill",
            "gas bill",
            "water bill",
            "phone bill",
            "honorarnote",
            "kostennote",
            "liquidation",
            "faktura",
            "faktura vat",
            "numero de factura",
            "numero fattura",
            "date de facture",
            "fecha de factura",
            "data fattura",
            "rechnungs-nummer",
            "rechnungsbetrag",
            "factuurbedrag",
            "invoice total",
            "total factura",
            "totale fattura",
            "proforma",
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
            "payment confirmation",
            "payment receipt",
            "payment received",
            "confirmacion de pago",
            "hemos recibido tu pago",
            "hemos recibido su pago",
            "zahlungsbestatigung",
            "zahlungseingang",
            "confirmation de paiement",
            "nous avons bien recu votre paiement",
            "betaalbewijs",
            "betaalbevestiging",
            "betaald pin",
            "betaald",
            "paid by",
            "paid card",
            "card paid",
            "paid with",
            "card payment",
            "kartenzahlung",
            "bar bezahlt",
            "carte bancaire",
            "tarjeta",
            "folio",
            "kasse",
            "caisse",
            "wechselgeld",
            "total charges",
            "ruilen",
            "sirve como recibo",
            "spendenquittung",
            "spesenbeleg",
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
            "standmitteilung",
            "jahresmitteilung",
            "saldo",
            "solde",
            "kontostand",
            "depotnummer",
            "balance brought forward",
            "saldo final",
            "saldo inicial",
            "beginsaldo",
            "eindsaldo",
            "nieuw saldo",
            "annual statement",
            "heizkostenabrechnung",
            "movimientos",
            "umsatze",
            "mouvements",
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
            "mietvereinbarung",
            "darlehensvertrag",
            "rahmenvertrag",
            "wartungsvertrag",
            "werkvertrag",
            "befristeter arbeitsvertrag",
            "koopovereenkomst",
            "contrat de vente",
            "contrat d'abonnement",
            "contrat d'entretien",
            "contrato de trabajo",
            "contrato de servicios",
            "contratto di lavoro",
            "terms and conditions of employment",
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
            "carta di identita",
            "permiso de conduccion",
            "carnet de conducir",
            "carte de sejour",
            "passport no",
            "identiteitsbewijs",
            "national id",
            "ausweisnummer",
            "lichtbildausweis",
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
            "tax calculation",
            "tax bill",
            "council tax",
            "notice of assessment",
            "unique taxpayer reference",
            "einkommensteuer",
            "gewerbesteuer",
            "kirchensteuer",
            "grundsteuer",
            "abgabenbescheid",
            "steuernummer des finanzamts",
            "avis d'impot",
            "avis d’impot",
            "avis d’imposition",
            "impot sur le revenu",
            "finances publiques",
            "taxe d'habitation",
            "numero fiscal",
            "recibo de tributos",
            "bienes inmuebles",
            "impuesto",
            "ibi",
            "irpf",
            "ayuntamiento",
            "aanslag",
            "aanslagnummer",
            "definitieve aanslag",
            "voorlopige aanslag",
            "inkomstenbelasting",
            "gemeentelijke belastingen",
            "imposta",
            "tari",
            "imu",
            "imposto",
        ],
    ),
    // Papers that name bills and sums and are none.
    (
        Kind::Other,
        &[
            "angebot",
            "kostenvoranschlag",
            "quote",
            "quotation",
            "estimate",
            "offer",
            "devis",
            "presupuesto",
            "preventivo",
            "offerte",
            "orcamento",
            "lieferschein",
            "delivery note",
            "packing slip",
            "bon de livraison",
            "albaran",
            "albaran de entrega",
            "bolla",
            "documento di trasporto",
            "pakbon",
            "mahnung",
            "zahlungserinnerung",
            "reminder",
            "payment reminder",
            "rappel",
            "relance",
            "mise en demeure",
            "recordatorio de pago",
            "aviso de pago",
            "sollecito",
            "aanmaning",
            "betalingsherinnering",
            "payslip",
            "pay slip",
            "lohnabrechnung",
            "gehaltsabrechnung",
            "entgeltabrechnung",
            "verdienstabrechnung",
            "bulletin de paie",
            "bulletin de salaire",
            "fiche de paie",
            "nomina",
            "busta paga",
            "cedolino",
            "loonstrook",
            "salarisstrook",
            "certificate",
            "zertifikat",
            "attestation",
            "certificado",
            "certificato",
            "certificaat",
            "auftragsbestatigung",
            "order confirmation",
            "bestellung",
            "purchase order",
            "bon de commande",
            "ordonnance",
            "rezept",
            "curriculum vitae",
            "lebenslauf",
            "no es una factura",
            "this is not an invoice",
            "keine rechnung",
            "geen factuur",
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
    let mut sizes: Vec<f32> = page.lines.iter().map(Line::size).collect();
    sizes.sort_by(f32::total_cmp);
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    let mut scores: Vec<(u32, Kind)> = WORDS.iter().map(|(kind, _)| (0, *kind)).collect();
    for (score, (kind, words)) in scores.iter_mut().zip(WORDS) {
        for (row, line) in page.lines.iter().enumerate().take(80) {
            let top = line.at().y < 0.4 * page.height || row < 8;
            let large = line.size() >= 0.9 * largest && largest > 1.1 * usual;
            let upper = line.at().y < 0.6 * page.height;
            // What a table lists says little of the paper: a statement lists receipts.
            let listed =
                line.cells.len() >= 3 && line.text().bytes().any(|byte| byte.is_ascii_digit()) && row > 1;
            for cell in &line.cells {
                let folded = Folded::of(&cell.text);
                let plain = words.iter().filter_map(|word| folded.find(word)).map(|(_, start)| start).min();
                let compound = if *kind == Kind::Invoice { bill(&folded.text) } else { None };
                let Some(start) = plain.or(compound) else { continue };
                // A line that is little more than the word is a heading.
                let count = cell.text.split_whitespace().count();
                let short = count <= 6 && start < 3 || count <= 3 || large && start == 0;
                let numbered = start == 0 && upper && cell.text.bytes().any(|byte| byte.is_ascii_digit());
                // `Lieferschein-Nr.` names another paper.
                let number = folded.text.contains("-nr") || folded.text.contains("-datum");
                if *kind == Kind::Other && (!short || !top || number) {
                    continue;
                }
                score.0 += match (top, short, large) {
                    _ if listed && !large && (*kind != Kind::Invoice || start > 0) => 1,
                    (false, true, false) if numbered && *kind == Kind::Invoice => 4,
                    (true, true, true) => 6,
                    (true, true, false) => 4,
                    (true, false, _) | (false, true, true) => 2,
                    _ => 1,
                };
            }
        }
        // A strip of paper is a till's.
        if *kind == Kind::Receipt && page.width < 0.5 * page.height {
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
