//! Invoices that machines read: ZUGFeRD and Factur-X (CII) inside a PDF, XRechnung and Peppol (UBL) alone. What such a file
//! says is exact; what it does not say is nothing.

use chrono::NaiveDate;
use roxmltree::{Document, Node, ParsingOptions};

use crate::amounts;

/// Elements of one file.
const MOST_NODES: u32 = 200_000;

/// What an invoice says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Einvoice {
    pub vendor: Option<String>,
    /// In hundredths.
    pub amount: Option<i64>,
    pub currency: Option<String>,
    pub date: Option<NaiveDate>,
    pub due_date: Option<NaiveDate>,
    pub reference: Option<String>,
}

/// Nothing when it is another kind of file.
pub fn read(bytes: &[u8]) -> Option<Einvoice> {
    let text = std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok()?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start(), options).ok()?;
    let root = document.root_element();
    match root.tag_name().name() {
        // The name of version 1 is CrossIndustryDocument.
        "CrossIndustryInvoice" | "CrossIndustryDocument" => Some(cross_industry(root)),
        "Invoice" | "CreditNote" if is_ubl(root) => Some(universal(root)),
        _ => None,
    }
}

fn is_ubl(root: Node<'_, '_>) -> bool {
    root.tag_name().namespace().is_some_and(|space| space.contains("oasis:names:specification:ubl"))
}

fn cross_industry(root: Node<'_, '_>) -> Einvoice {
    let document = child(root, &["ExchangedDocument", "HeaderExchangedDocument"]);
    let trade = child(root, &["SupplyChainTradeTransaction", "SpecifiedSupplyChainTradeTransaction"]);
    let part = |names: &[&str]| trade.and_then(|trade| child(trade, names));
    let agreement = part(&["ApplicableHeaderTradeAgreement", "ApplicableSupplyChainTradeAgreement"]);
    let settlement = part(&["ApplicableHeaderTradeSettlement", "ApplicableSupplyChainTradeSettlement"]);
    let sums = settlement.and_then(|settlement| {
        child(
            settlement,
            &["SpecifiedTradeSettlementHeaderMonetarySummation", "SpecifiedTradeSettlementMonetarySummation"],
        )
    });
    let total = sums.and_then(|sums| child(sums, &["GrandTotalAmount"]));
    let terms = settlement.into_iter().flat_map(|settlement| {
        settlement.children().filter(|node| node.tag_name().name() == "SpecifiedTradePaymentTerms")
    });
    let due = terms.filter_map(|terms| day(descend(terms, &["DueDateDateTime"])?)).max();
    let own_currency = total.and_then(|total| total.attribute("currencyID")).map(str::to_owned);
    Einvoice {
        vendor: agreement.and_then(|of| descend(of, &["SellerTradeParty", "Name"])).and_then(words),
        amount: total.and_then(words).and_then(|text| amounts::plain(&text)),
        currency: settlement
            .and_then(|of| descend(of, &["InvoiceCurrencyCode"]))
            .and_then(words)
            .or(own_currency)
            .filter(|code| is_currency(code)),
        date: document.and_then(|of| descend(of, &["IssueDateTime"])).and_then(day),
        due_date: due,
        reference: document.and_then(|of| descend(of, &["ID"])).and_then(words),
    }
}

fn universal(root: Node<'_, '_>) -> Einvoice {
    let party = descend(root, &["AccountingSupplierParty", "Party"]);
    let vendor = party.and_then(|party| {
        let legal = descend(party, &["PartyLegalEntity", "RegistrationName"]).and_then(words);
        legal.or_else(|| descend(party, &["PartyName", "Name"]).and_then(words))
    });
    let total = descend(root, &["LegalMonetaryTotal", "TaxInclusiveAmount"])
        .or_else(|| descend(root, &["LegalMonetaryTotal", "PayableAmount"]));
    let date = |name: &str| child(root, &[name]).and_then(words).and_then(|text| text.parse().ok());
    let terms = descend(root, &["PaymentMeans", "PaymentDueDate"]).and_then(words);
    Einvoice {
        vendor,
        amount: total.and_then(words).and_then(|text| amounts::plain(&text)),
        currency: child(root, &["DocumentCurrencyCode"]).and_then(words).filter(|code| is_currency(code)),
        date: date("IssueDate"),
        due_date: date("DueDate").or_else(|| terms.and_then(|text| text.parse().ok())),
        reference: child(root, &["ID"]).and_then(words),
    }
}

fn child<'a, 'i>(node: Node<'a, 'i>, names: &[&str]) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.is_element() && names.contains(&child.tag_name().name()))
}

fn descend<'a, 'i>(node: Node<'a, 'i>, path: &[&str]) -> Option<Node<'a, 'i>> {
    path.iter().try_fold(node, |node, name| child(node, &[name]))
}

/// The text of an element, on one line and not endless.
fn words(node: Node<'_, '_>) -> Option<String> {
    let text = crate::text::snippet(node.text()?, 200);
    (!text.is_empty()).then_some(text)
}

/// `20180305` in a DateTimeString, or a plain date.
fn day(node: Node<'_, '_>) -> Option<NaiveDate> {
    let text =
        node.descendants().find_map(|inner| inner.text().map(str::trim).filter(|text| !text.is_empty()))?;
    let start: String = text.chars().take(10).collect();
    let compact: String = text.chars().take(8).collect();
    NaiveDate::parse_from_str(&compact, "%Y%m%d").ok().or_else(|| start.parse().ok())
}

pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CII: &str = r#"<?xml version="1.0"?>
        <rsm:CrossIndustryInvoice xmlns:rsm="urn:r" xmlns:ram="urn:a" xmlns:udt="urn:u">
          <rsm:ExchangedDocument><ram:ID>RE-7</ram:ID><ram:IssueDateTime>
            <udt:DateTimeString format="102">20310106</udt:DateTimeString></ram:IssueDateTime></rsm:ExchangedDocument>
          <rsm:SupplyChainTradeTransaction>
            <ram:ApplicableHeaderTradeAgreement><ram:SellerTradeParty><ram:Name>Nordwind
              GmbH</ram:Name></ram:SellerTradeParty>
              <ram:BuyerTradeParty><ram:Name>Us</ram:Name></ram:BuyerTradeParty></ram:ApplicableHeaderTradeAgreement>
            <ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
              <ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime>
                <udt:DateTimeString format="102">20310120</udt:DateTimeString></ram:DueDateDateTime>
              </ram:SpecifiedTradePaymentTerms>
              <ram:SpecifiedTradeSettlementHeaderMonetarySummation>
                <ram:TaxBasisTotalAmount>1250.00</ram:TaxBasisTotalAmount>
                <ram:GrandTotalAmount>1487.5</ram:GrandTotalAmount>
                <ram:DuePayableAmount>1000</ram:DuePayableAmount>
              </ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement>
          </rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"#;

    fn date(text: &str) -> Option<NaiveDate> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_invoice_in_cii_says_all_of_itself() {
        let whole = Einvoice {
            vendor: Some("Nordwind GmbH".into()),
            amount: Some(148_750),
            currency: Some("EUR".into()),
            date: date("2031-01-06"),
            due_date: date("2031-01-20"),
            reference: Some("RE-7".into()),
        };
        assert_eq!(read(CII.as_bytes()), Some(whole.clone()));
        assert_eq!(read(format!("\u{feff}{CII}").as_bytes()), Some(whole));
    }

    #[test]
    fn an_invoice_in_ubl_says_all_of_itself() {
        let ubl = r#"<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:c="urn:c">
            <c:ID>7</c:ID><c:IssueDate>2031-01-06</c:IssueDate><c:DueDate>2031-02-06</c:DueDate>
            <c:DocumentCurrencyCode>SEK</c:DocumentCurrencyCode>
            <c:AccountingSupplierParty><c:Party><c:PartyName><c:Name>Ask</c:Name></c:PartyName></c:Party>
            </c:AccountingSupplierParty>
            <c:LegalMonetaryTotal><c:TaxInclusiveAmount currencyID="SEK">-12.30</c:TaxInclusiveAmount>
            </c:LegalMonetaryTotal></Invoice>"#;
        let read = read(ubl.as_bytes()).unwrap();
        assert_eq!(
            (read.vendor.as_deref(), read.amount, read.currency.as_deref()),
            (Some("Ask"), Some(-1230), Some("SEK"))
        );
        assert_eq!((read.date, read.due_date), (date("2031-01-06"), date("2031-02-06")));
    }

    #[test]
    fn other_xml_and_what_would_grow_is_nothing() {
        assert_eq!(read(b"<Invoice/>"), None);
        assert_eq!(read(b"<svg/>"), None);
        assert_eq!(read(b"not xml"), None);
        let laughs = r#"<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><CrossIndustryInvoice>&b;</CrossIndustryInvoice>"#;
        assert_eq!(read(laughs.as_bytes()), None);
    }
}
