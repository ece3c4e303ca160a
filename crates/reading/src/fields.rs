//! Rules that find fields by their labels: the value stands behind its label, right of it, or below it. Every value that is
//! found stands in the document, and its line is told; what is not sure is left out.

use std::collections::BTreeSet;

use chrono::{Days, NaiveDate};

use crate::amounts::{self, Amount};
use crate::dates::{self, Order};
use crate::folded::Folded;
use crate::found::{FoundValue, line_with, place};
use crate::kinds::DocumentClass;
use crate::labels;
use crate::met::{Candidate, How, Met, meet};
use crate::page::{Cell, TextLine, TextPage};
use crate::{reference, sums, vendor};

/// Less says nothing: a column that is headed `Total` has items below it.
const SURE_TOTAL: i32 = 4;
/// The latest that something is due.
const LONGEST_TERM: Days = Days::new(400);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundFields {
    pub vendor: Option<FoundValue<String>>,
    pub amount: Option<FoundValue<i64>>,
    pub currency: Option<FoundValue<String>>,
    pub date: Option<FoundValue<NaiveDate>>,
    pub due_date: Option<FoundValue<NaiveDate>>,
    pub reference: Option<FoundValue<String>>,
}

/// As of a bill.
pub fn find(pages: &[TextPage]) -> FoundFields {
    find_in(pages, DocumentClass::Invoice)
}

pub fn find_in(pages: &[TextPage], kind: DocumentClass) -> FoundFields {
    let texts = || {
        pages.iter().flat_map(|page| &page.lines).flat_map(|line| &line.cells).map(|cell| cell.text.as_str())
    };
    let mut order = dates::order_of(texts());
    // Dollars and no sign of another habit: the month is first.
    let currencies: Vec<&str> = texts().flat_map(amounts::currencies).collect();
    let slashes_decide = texts().any(|text| dates::order_of([text]) == Order::MonthFirst);
    if currencies.first() == Some(&"USD") && currencies.iter().all(|code| *code == "USD") && !slashes_decide {
        order = if texts().any(has_day_first_slash) { Order::DayFirst } else { Order::MonthFirst };
    }
    let date = date(pages, order);
    // What a card or a pass says in numbers is no sum.
    let amount = if kind == DocumentClass::Id { None } else { amount(pages) };
    let due_date = match kind {
        DocumentClass::Id | DocumentClass::Other | DocumentClass::Contract | DocumentClass::Receipt => None,
        _ => due_date(pages, order, date.as_ref().map(|found| found.value)),
    };
    FoundFields {
        vendor: vendor::find(pages, kind),
        currency: currency(pages, amount.as_ref(), &currencies, kind),
        amount: amount.map(|found| FoundValue { value: found.value.hundredths, place: found.place }),
        reference: reference::find(pages, kind),
        date,
        due_date,
    }
}

fn has_day_first_slash(text: &str) -> bool {
    dates::dates(text, Order::DayFirst).iter().any(|dated| {
        let written = &text[dated.at.clone()];
        written.contains('/')
            && written.split('/').next().and_then(|day| day.parse::<u32>().ok()).is_some_and(|day| day > 12)
    })
}

fn date(pages: &[TextPage], order: Order) -> Option<FoundValue<NaiveDate>> {
    let mut best: Option<(u8, FoundValue<NaiveDate>)> = None;
    for met in meet(pages, &labels::DATE) {
        let words = &met.cell;
        if met.weight < 8 && labels::NOT_THE_DATE.iter().any(|other| words.text.contains(other)) {
            continue;
        }
        // A column of days is a table's.
        let below = met.candidates.iter().filter(|candidate| candidate.how == How::Below);
        let days: BTreeSet<NaiveDate> =
            below.flat_map(|candidate| dates::dates(candidate.text, order)).map(|dated| dated.date).collect();
        let first = met.candidates.iter().find_map(|candidate| {
            if candidate.how == How::Below && met.weight < 6 && days.len() > 1 {
                return None;
            }
            let dated = dates::dates(candidate.text, order).into_iter().next()?;
            let usable = candidate.how != How::Below || met.is_heading();
            usable.then(|| {
                (candidate.how, FoundValue { value: dated.date, place: place(met.page, candidate.line) })
            })
        });
        let Some((how, found)) = first else { continue };
        let sure = if how == How::Below { met.weight.saturating_sub(1) } else { met.weight };
        if best.as_ref().is_none_or(|(known, _)| sure > *known) {
            best = Some((sure, found));
        }
    }
    // `Rechnung Nr. 7 vom 06.01.2031`: less sure than a label of its own.
    if best.as_ref().is_none_or(|(known, _)| *known < 6)
        && let Some(found) = reference::named(pages)
            .find_map(|(page, row, _)| date_of(&page.lines[row], order).map(|date| (date, page, row)))
    {
        let (value, page, row) = found;
        return Some(FoundValue { value, place: place(page, row) });
    }
    best.map(|(_, found)| found).or_else(|| only_date(pages, order)).or_else(|| date_alone(pages, order))
}

fn date_of(line: &TextLine, order: Order) -> Option<NaiveDate> {
    let another = |cell: &&Cell| {
        let folded = Folded::from_text(&cell.text).text;
        labels::NOT_THE_DATE.iter().any(|word| folded.contains(word))
    };
    let own = line.cells.iter().filter(|cell| !another(cell));
    own.flat_map(|cell| dates::dates(&cell.text, order)).map(|dated| dated.date).next()
}

/// Without a label: the only date of the first page, or the one that follows a town.
fn only_date(pages: &[TextPage], order: Order) -> Option<FoundValue<NaiveDate>> {
    let page = pages.first()?;
    let mut all: Vec<(NaiveDate, usize, bool)> = Vec::new();
    for (row, line) in page.lines.iter().enumerate() {
        for cell in &line.cells {
            let folded = Folded::from_text(&cell.text);
            if labels::NOT_THE_DATE.iter().any(|other| folded.text.contains(other)) {
                continue;
            }
            for dated in dates::dates(&cell.text, order) {
                all.push((dated.date, row, follows_town(&cell.text[..dated.at.start])));
            }
        }
    }
    let town = all.iter().find(|(.., town)| *town).copied();
    let first = all.first().copied()?;
    let only = all.iter().all(|(date, ..)| *date == first.0).then_some(first);
    let (value, row, _) = town.or(only)?;
    Some(FoundValue { value, place: place(page, row) })
}

/// A cell at the top that is nothing but a date, when all such cells say the same.
fn date_alone(pages: &[TextPage], order: Order) -> Option<FoundValue<NaiveDate>> {
    let page = pages.first()?;
    let mut all: Vec<(NaiveDate, usize)> = Vec::new();
    for (row, line) in page.lines.iter().enumerate().filter(|(_, line)| line.at().y < 0.35 * page.height) {
        for cell in &line.cells {
            let dated = dates::dates(&cell.text, order).into_iter().next();
            all.extend(
                dated.filter(|dated| dated.at.len() + 4 >= cell.text.len()).map(|dated| (dated.date, row)),
            );
        }
    }
    let (value, row) = *all.first()?;
    all.iter().all(|(date, _)| *date == value).then(|| FoundValue { value, place: place(page, row) })
}

/// `München, den `, `Paris, le `
fn follows_town(before: &str) -> bool {
    let before = before.trim_end();
    let before = ["den", "le", "am", "the", "li", "a"]
        .iter()
        .find_map(|word| before.strip_suffix(word))
        .unwrap_or(before)
        .trim_end();
    let Some(town) = before.strip_suffix(',') else { return false };
    let words = town.split_whitespace().count();
    (1..=3).contains(&words)
        && town.chars().next().is_some_and(char::is_uppercase)
        && !town.contains(|letter: char| letter.is_ascii_digit())
}

fn due_date(pages: &[TextPage], order: Order, issued: Option<NaiveDate>) -> Option<FoundValue<NaiveDate>> {
    let mut best: Option<(u8, FoundValue<NaiveDate>)> = None;
    for met in meet(pages, &labels::DUE) {
        // Several days, of which none is the one.
        if labels::INSTALMENTS.iter().any(|word| met.cell.has(word)) {
            continue;
        }
        for candidate in
            met.candidates.iter().filter(|candidate| candidate.how != How::Below || met.is_heading())
        {
            // Of two terms the later is the one without a discount.
            let Some(date) = dates::dates(candidate.text, order).into_iter().map(|dated| dated.date).max()
            else {
                continue;
            };
            let likely = issued.is_none_or(|issued| {
                date >= issued && issued.checked_add_days(LONGEST_TERM).is_none_or(|latest| date <= latest)
            });
            if likely && best.as_ref().is_none_or(|(known, _)| met.weight > *known) {
                best = Some((met.weight, FoundValue { value: date, place: place(met.page, candidate.line) }));
            }
            break;
        }
    }
    best.map(|(_, found)| found)
}

fn amount(pages: &[TextPage]) -> Option<FoundValue<Amount>> {
    let all: BTreeSet<i64> = pages
        .iter()
        .flat_map(|page| &page.lines)
        .flat_map(|line| &line.cells)
        .flat_map(|cell| amounts::amounts(&cell.text))
        .map(|amount| amount.hundredths)
        .collect();
    let mut best: Option<(i32, i64, FoundValue<Amount>)> = None;
    for met in meet(pages, &sums::TOTAL) {
        let with_tax = sums::WITH_TAX.iter().any(|words| met.cell.has(words));
        let in_part = sums::NOT_THE_TOTAL.iter().any(|words| met.cell.has(words));
        if in_part && !with_tax {
            continue;
        }
        let Some((amount, line, how)) = total_of(&met) else { continue };
        let mut sure = i32::from(met.weight);
        if with_tax {
            sure += 1;
        }
        if how == How::Below {
            sure -= 2;
        }
        if is_sum(amount.hundredths, &all) {
            sure += 3;
        }
        let value = amount.hundredths;
        if best.as_ref().is_none_or(|(known, largest, _)| (sure, value) > (*known, *largest)) {
            best = Some((sure, value, FoundValue { value: amount, place: place(met.page, line) }));
        }
    }
    best.filter(|(sure, ..)| *sure >= SURE_TOTAL).map(|(.., found)| found)
}

/// Behind the label or at the end of its line; else below it, when it heads a column.
fn total_of(met: &Met<'_>) -> Option<(Amount, usize, How)> {
    let last = |candidate: &Candidate<'_>| {
        amounts::amounts(candidate.text).pop().map(|amount| (amount, candidate.line, candidate.how))
    };
    let beside =
        met.candidates.iter().filter(|candidate| candidate.how != How::Below).filter_map(last).next_back();
    // A column of sums has its own below it: the largest is the whole.
    let below = || met.candidates.iter().filter(|candidate| candidate.how == How::Below && met.is_heading());
    beside.or_else(|| below().filter_map(last).max_by_key(|(amount, ..)| amount.hundredths.abs()))
}

/// Whether two amounts of the document make it up as a net sum and its tax do.
fn is_sum(total: i64, all: &BTreeSet<i64>) -> bool {
    all.iter().any(|net| {
        let tax = total - net;
        *net > 0 && tax > 0 && tax * 100 <= net * 30 && all.contains(&tax)
    })
}

fn currency(
    pages: &[TextPage],
    amount: Option<&FoundValue<Amount>>,
    named: &[&str],
    kind: DocumentClass,
) -> Option<FoundValue<String>> {
    let of_all = || {
        let first = named.first()?;
        let same = named.iter().filter(|code| *code == first).count();
        (same * 10 >= named.len() * 9).then(|| (*first).to_owned())
    };
    let Some(amount) = amount else {
        // A price in a letter is not what the letter is about.
        let value = of_all().filter(|_| {
            !matches!(kind, DocumentClass::Other | DocumentClass::Id | DocumentClass::Contract)
        })?;
        let place = line_with(pages, |cell| amounts::currencies(&cell.text).contains(&value.as_str()))?;
        return Some(FoundValue { value, place });
    };
    let own = amount.value.currency.map(str::to_owned);
    let of_line = || amounts::currencies(&amount.place.text).first().map(|code| (*code).to_owned());
    if let Some(value) = own.or_else(of_line) {
        return Some(FoundValue { value, place: amount.place.clone() });
    }
    let value = of_all()?;
    let place = line_with(pages, |cell| amounts::currencies(&cell.text).contains(&value.as_str()))?;
    Some(FoundValue { value, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FoundFields {
        find(&[TextPage::of_text(1, text)])
    }

    #[test]
    fn a_german_invoice_is_read_by_its_labels() {
        let read = read(
            "Rechnung\nRechnungs-Nr.:\tAB-2031/17\nRechnungsdatum\t06.01.2031\nLieferdatum\t01.01.2031\n\
             Summe netto\t100,00 EUR\nUmsatzsteuer 19 %\t19,00 EUR\nGesamtbetrag\t119,00 EUR\n\
             Zahlbar bis 20.01.2031 ohne Abzug",
        );
        assert_eq!(read.reference.unwrap().value, "AB-2031/17");
        let date = read.date.unwrap();
        assert_eq!((date.value.to_string().as_str(), date.place.line), ("2031-01-06", 3));
        assert_eq!(read.due_date.unwrap().value.to_string(), "2031-01-20");
        let amount = read.amount.unwrap();
        assert_eq!((amount.value, amount.place.text.as_str()), (11_900, "Gesamtbetrag 119,00 EUR"));
        assert_eq!(read.currency.unwrap().value, "EUR");
    }

    #[test]
    fn an_american_invoice_has_the_month_first() {
        let read = read(
            "INVOICE #\t4711\nDate\t03/04/2031\nDue date\t04/03/2031\nSubtotal\t$90.00\nTax\t$7.20\nTotal\t$97.20",
        );
        assert_eq!(read.date.unwrap().value.to_string(), "2031-03-04");
        assert_eq!(read.due_date.unwrap().value.to_string(), "2031-04-03");
        assert_eq!((read.amount.unwrap().value, read.currency.unwrap().value.as_str()), (9_720, "USD"));
        assert_eq!(read.reference.unwrap().value, "4711");
    }

    #[test]
    fn a_french_invoice_is_read_with_its_accents() {
        let read = read(
            "FACTURE N° F20310023\nDate d’émission : 6 janvier 2031\nDate d'échéance : 05/02/2031\n\
             Total HT\t671,15 €\nTVA 5,5 %\t3,68 €\nTotal TTC\t674,83 €",
        );
        assert_eq!(read.reference.unwrap().value, "F20310023");
        assert_eq!(read.date.unwrap().value.to_string(), "2031-01-06");
        assert_eq!(read.due_date.unwrap().value.to_string(), "2031-02-05");
        assert_eq!(read.amount.unwrap().value, 67_483);
    }

    #[test]
    fn what_is_not_said_is_not_found() {
        assert_eq!(read(""), FoundFields::default());
        let letter = read("Dear all,\nplease find the minutes of 3 meetings attached.\nBest, Ada");
        assert_eq!(letter, FoundFields::default());
        assert_eq!(read("Rechnung 2031").reference, None);
    }

    #[test]
    fn a_heading_holds_number_and_date() {
        let read = read(
            "Handelsrechnung (380)\tNr. 471102 vom\t05.03.2031\nRechnung gemäß Bestellung vom 01.03.2031",
        );
        assert_eq!(
            (read.reference.unwrap().value, read.date.unwrap().value.to_string()),
            ("471102".into(), "2031-03-05".into())
        );
        let read = super::find(&[TextPage::of_text(
            1,
            "Rechnung # RE-20311118/506 von 18.11.2031\nLeistungsdatum 17.11.2031",
        )]);
        assert_eq!(
            (read.reference.unwrap().value, read.date.unwrap().value.to_string()),
            ("RE-20311118/506".into(), "2031-11-18".into())
        );
    }

    #[test]
    fn a_small_label_has_its_value_a_little_lower_on_the_right() {
        let mut page = TextPage::of_text(1, "Rechnungsnummer\n471102\nRechnungsdatum\n05.03.2031");
        for (row, line) in page.lines.iter_mut().enumerate() {
            line.cells[0].at.y = 100.0 + 14.0 * (row / 2) as f32 + if row % 2 == 1 { 3.0 } else { 0.0 };
            line.cells[0].at.x = if row % 2 == 1 { 500.0 } else { 300.0 };
        }
        let read = find(&[page]);
        assert_eq!(
            (read.reference.unwrap().value, read.date.unwrap().value.to_string()),
            ("471102".into(), "2031-03-05".into())
        );
    }

    #[test]
    fn columns_with_headings_are_read_downwards() {
        let mut page = TextPage::of_text(1, "Invoice no\tInvoice date\n77-A\t2031-01-06");
        for line in &mut page.lines {
            line.cells[1].at.x = 300.0;
        }
        let read = find(&[page]);
        assert_eq!(read.reference.unwrap().value, "77-A");
        assert_eq!(read.date.unwrap().value.to_string(), "2031-01-06");
    }
}
