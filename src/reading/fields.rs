//! Rules that find fields by their labels: the value stands behind its label, right of it, or below it. Every value that is
//! found stands in the document, and its line is told; what is not sure is left out.

use std::collections::BTreeSet;

use chrono::{Days, NaiveDate};

use crate::reading::amounts::{self, Amount};
use crate::reading::dates::{self, Order};
use crate::reading::folded::Folded;
use crate::reading::found::{Found, line_with, place};
use crate::reading::labels::{self, Label};
use crate::reading::page::{Bounds, Cell, Line, Page};
use crate::reading::vendor;

/// How far below a label its value may stand, in lines and in heights of its letters.
const BELOW: usize = 3;
const BELOW_HEIGHTS: f32 = 4.0;
/// Cells of a line that can hold the value of one label.
const MOST_BESIDE: usize = 12;
/// Less says nothing: a column that is headed `Total` has items below it.
const SURE_TOTAL: i32 = 4;
/// The latest that something is due.
const LONGEST_TERM: Days = Days::new(400);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    pub vendor: Option<Found<String>>,
    pub amount: Option<Found<i64>>,
    pub currency: Option<Found<String>>,
    pub date: Option<Found<NaiveDate>>,
    pub due_date: Option<Found<NaiveDate>>,
    pub reference: Option<Found<String>>,
}

pub fn find(pages: &[Page]) -> Fields {
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
    let amount = amount(pages);
    let due_date = due_date(pages, order, date.as_ref().map(|found| found.value));
    Fields {
        vendor: vendor::find(pages),
        currency: currency(pages, amount.as_ref(), &currencies),
        amount: amount.map(|found| Found { value: found.value.hundredths, place: found.place }),
        reference: reference(pages),
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

/// A label that was met, with the texts its value can be in, the likeliest first.
struct Met<'a> {
    weight: u8,
    /// The words of the label's cell, folded, and where the label begins in them.
    cell: Folded,
    start: usize,
    page: &'a Page,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Clone)]
struct Candidate<'a> {
    text: &'a str,
    line: usize,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Behind,
    Right,
    Below,
}

fn meet<'a>(pages: &'a [Page], labels: &[Label]) -> Vec<Met<'a>> {
    let mut all = Vec::new();
    for page in pages {
        for (row, line) in page.lines.iter().enumerate() {
            for (column, cell) in line.cells.iter().enumerate() {
                let folded = Folded::of(&cell.text);
                // The heaviest label of a cell speaks for it.
                let best = labels
                    .iter()
                    .filter_map(|(words, weight)| {
                        folded.find(words).map(|(end, start)| (*weight, words.len(), end, start))
                    })
                    .max();
                if let Some((weight, _, end, start)) = best {
                    let candidates = around(page, row, column, &cell.text[end..]);
                    all.push(Met { weight, cell: folded, start, page, candidates });
                }
            }
        }
    }
    all
}

fn around<'a>(page: &'a Page, row: usize, column: usize, behind: &'a str) -> Vec<Candidate<'a>> {
    let line = &page.lines[row];
    let cell = &line.cells[column];
    let mut all = vec![Candidate { text: behind, line: row, how: How::Behind }];
    all.extend(line.cells[column + 1..].iter().take(MOST_BESIDE).map(|cell| Candidate {
        text: &cell.text,
        line: row,
        how: How::Right,
    }));
    // A small label and its larger value can stand a little apart in height.
    let bottom = |at: &Bounds| at.y + at.height;
    for (below, line) in page.lines.iter().enumerate().skip(row + 1).take(2) {
        let beside = line.cells.iter().filter(|other| {
            other.at.x >= cell.at.right() && bottom(&other.at) - bottom(&cell.at) < 0.9 * cell.at.height
        });
        all.extend(beside.map(|cell| Candidate { text: &cell.text, line: below, how: How::Right }));
    }
    for (below, line) in page.lines.iter().enumerate().skip(row + 1).take(BELOW) {
        let near = line.at().y - cell.at.y < BELOW_HEIGHTS * cell.at.height.max(6.0);
        let under = line.cells.iter().filter(|other| near && other.at.shares_column(&cell.at));
        all.extend(under.map(|cell| Candidate { text: &cell.text, line: below, how: How::Below }));
    }
    all
}

fn reference(pages: &[Page]) -> Option<Found<String>> {
    let mut best: Option<(u8, Found<String>)> = None;
    for met in meet(pages, labels::REFERENCE) {
        let mut usable =
            met.candidates.iter().filter(|candidate| candidate.how != How::Below || met.is_heading());
        let found = usable.find_map(|candidate| Some((number_in(candidate.text)?, candidate)));
        let Some((value, candidate)) = found else { continue };
        // In the middle of a sentence it may be about another paper.
        let doubt = if met.start > 0 { 3 } else { u8::from(candidate.how == How::Below) };
        let sure = met.weight.saturating_sub(doubt);
        if best.as_ref().is_none_or(|(known, _)| sure > *known) {
            best = Some((sure, Found { value, place: place(met.page, candidate.line) }));
        }
    }
    if best.as_ref().is_none_or(|(known, _)| *known < 8)
        && let Some(found) = named_number(pages)
    {
        return Some(found);
    }
    best.map(|(_, found)| found)
}

/// The number that stands with the name of the paper: `Rechnung Nr. 7`, `Facture FA-2017-0010`.
fn named_number(pages: &[Page]) -> Option<Found<String>> {
    named(pages).find_map(|(page, row, column)| {
        let cells = &page.lines[row].cells;
        let behind = behind_name(&cells[column].text);
        let long_enough = |value: &String| !is_year(value) && (value.len() >= 3 || is_numbered(behind));
        // `Handelsrechnung (380)` and beside it `Nr. 471102 vom`
        let mut numbered = cells[column + 1..].iter().filter(|cell| is_numbered(&cell.text));
        let own = number_in(behind).filter(long_enough);
        let value = own.or_else(|| numbered.find_map(|cell| number_in(&cell.text)))?;
        Some(Found { value, place: place(page, row) })
    })
}

/// Cells of the first page that begin with the name of a bill: (page, row, column).
fn named(pages: &[Page]) -> impl Iterator<Item = (&Page, usize, usize)> {
    pages.iter().take(1).flat_map(|page| {
        page.lines.iter().enumerate().flat_map(move |(row, line)| {
            let is_named = |(_, cell): &(usize, &Cell)| begins_with_name(&Folded::of(&cell.text).text);
            line.cells.iter().enumerate().filter(is_named).map(move |(column, _)| (page, row, column))
        })
    })
}

fn begins_with_name(folded: &str) -> bool {
    let first =
        folded.split(|letter: char| !letter.is_alphanumeric() && letter != '-').next().unwrap_or_default();
    let compound = first.ends_with("rechnung") || first.ends_with("gutschrift");
    compound
        || labels::NAMED
            .iter()
            .any(|name| folded.starts_with(name) && !first.is_empty() && first.len() <= name.len())
}

/// What follows the name and a remark in brackets.
fn behind_name(text: &str) -> &str {
    let rest = text.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '-').trim_start();
    match rest.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((_, behind)) => behind,
        None => rest,
    }
}

fn is_numbered(text: &str) -> bool {
    let folded = Folded::of(text).text;
    ["nr", "no", "n°", "#", "nummer", "number", "numero"].iter().any(|sign| {
        folded.strip_prefix(sign).is_some_and(|rest| rest.starts_with(|letter: char| !letter.is_alphabetic()))
    })
}

impl Met<'_> {
    /// A cell that is nothing but its label heads what is below it.
    fn is_heading(&self) -> bool {
        self.start == 0 && self.cell.text.split_whitespace().count() <= 4
    }
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
    let value = match first.contains(|letter: char| letter.is_ascii_digit()) {
        true => trimmed(first),
        // A short prefix that stands apart.
        false if first.len() <= 4 && first.chars().all(|letter| letter.is_ascii_uppercase()) => {
            let second =
                words.next().filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
            format!("{first} {}", trimmed(second))
        }
        false => return None,
    };
    let sound = (2..=40).contains(&value.len())
        && value.chars().all(|letter| letter.is_alphanumeric() || "-/_. #".contains(letter))
        && dates::dates(&value, Order::DayFirst).first().is_none_or(|dated| dated.at.len() < value.len())
        && !is_amount(&value);
    sound.then_some(value)
}

fn is_amount(value: &str) -> bool {
    amounts::amounts(value).first().is_some_and(|amount| amount.at.len() == value.len())
}

fn is_year(value: &str) -> bool {
    value.len() == 4 && (value.starts_with("19") || value.starts_with("20"))
}

fn date(pages: &[Page], order: Order) -> Option<Found<NaiveDate>> {
    let mut best: Option<(u8, Found<NaiveDate>)> = None;
    for met in meet(pages, labels::DATE) {
        let words = &met.cell;
        if met.weight < 8 && labels::NOT_THE_DATE.iter().any(|other| words.text.contains(other)) {
            continue;
        }
        let first = met.candidates.iter().find_map(|candidate| {
            let dated = dates::dates(candidate.text, order).into_iter().next()?;
            let usable = candidate.how != How::Below || met.is_heading();
            usable
                .then(|| (candidate.how, Found { value: dated.date, place: place(met.page, candidate.line) }))
        });
        let Some((how, found)) = first else { continue };
        let sure = if how == How::Below { met.weight.saturating_sub(1) } else { met.weight };
        if best.as_ref().is_none_or(|(known, _)| sure > *known) {
            best = Some((sure, found));
        }
    }
    // `Rechnung Nr. 7 vom 06.01.2031`: less sure than a label of its own.
    if best.as_ref().is_none_or(|(known, _)| *known < 6)
        && let Some(found) = named(pages)
            .find_map(|(page, row, _)| date_of(&page.lines[row], order).map(|date| (date, page, row)))
    {
        let (value, page, row) = found;
        return Some(Found { value, place: place(page, row) });
    }
    best.map(|(_, found)| found).or_else(|| only_date(pages, order))
}

fn date_of(line: &Line, order: Order) -> Option<NaiveDate> {
    let another = |cell: &&Cell| {
        let folded = Folded::of(&cell.text).text;
        labels::NOT_THE_DATE.iter().any(|word| folded.contains(word))
    };
    let own = line.cells.iter().filter(|cell| !another(cell));
    own.flat_map(|cell| dates::dates(&cell.text, order)).map(|dated| dated.date).next()
}

/// Without a label: the only date of the first page, or the one that follows a town.
fn only_date(pages: &[Page], order: Order) -> Option<Found<NaiveDate>> {
    let page = pages.first()?;
    let mut all: Vec<(NaiveDate, usize, bool)> = Vec::new();
    for (row, line) in page.lines.iter().enumerate() {
        for cell in &line.cells {
            let folded = Folded::of(&cell.text);
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
    Some(Found { value, place: place(page, row) })
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

fn due_date(pages: &[Page], order: Order, issued: Option<NaiveDate>) -> Option<Found<NaiveDate>> {
    let mut best: Option<(u8, Found<NaiveDate>)> = None;
    for met in meet(pages, labels::DUE) {
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
                best = Some((met.weight, Found { value: date, place: place(met.page, candidate.line) }));
            }
            break;
        }
    }
    best.map(|(_, found)| found)
}

fn amount(pages: &[Page]) -> Option<Found<Amount>> {
    let all: BTreeSet<i64> = pages
        .iter()
        .flat_map(|page| &page.lines)
        .flat_map(|line| &line.cells)
        .flat_map(|cell| amounts::amounts(&cell.text))
        .map(|amount| amount.hundredths)
        .collect();
    let mut best: Option<(i32, i64, Found<Amount>)> = None;
    for met in meet(pages, labels::TOTAL) {
        let with_tax = labels::WITH_TAX.iter().any(|words| met.cell.has(words));
        let in_part = labels::NOT_THE_TOTAL.iter().any(|words| met.cell.has(words));
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
            best = Some((sure, value, Found { value: amount, place: place(met.page, line) }));
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
    beside.or_else(|| below().filter_map(last).max_by_key(|(amount, ..)| amount.hundredths))
}

/// Whether two amounts of the document make it up as a net sum and its tax do.
fn is_sum(total: i64, all: &BTreeSet<i64>) -> bool {
    all.iter().any(|net| {
        let tax = total - net;
        *net > 0 && tax > 0 && tax * 100 <= net * 30 && all.contains(&tax)
    })
}

fn currency(pages: &[Page], amount: Option<&Found<Amount>>, named: &[&str]) -> Option<Found<String>> {
    let amount = amount?;
    let own = amount.value.currency.map(str::to_owned);
    let of_line = || amounts::currencies(&amount.place.text).first().map(|code| (*code).to_owned());
    let of_all = || {
        let first = named.first()?;
        let same = named.iter().filter(|code| *code == first).count();
        (same * 10 >= named.len() * 9).then(|| (*first).to_owned())
    };
    if let Some(value) = own.or_else(of_line) {
        return Some(Found { value, place: amount.place.clone() });
    }
    let value = of_all()?;
    let place = line_with(pages, |cell| amounts::currencies(&cell.text).contains(&value.as_str()))?;
    Some(Found { value, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Fields {
        find(&[Page::of_text(1, text)])
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
        assert_eq!(read(""), Fields::default());
        let letter = read("Dear all,\nplease find the minutes of 3 meetings attached.\nBest, Ada");
        assert_eq!(letter, Fields::default());
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
        let read = super::find(&[Page::of_text(
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
        let mut page = Page::of_text(1, "Rechnungsnummer\n471102\nRechnungsdatum\n05.03.2031");
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
        let mut page = Page::of_text(1, "Invoice no\tInvoice date\n77-A\t2031-01-06");
        for line in &mut page.lines {
            line.cells[1].at.x = 300.0;
        }
        let read = find(&[page]);
        assert_eq!(read.reference.unwrap().value, "77-A");
        assert_eq!(read.date.unwrap().value.to_string(), "2031-01-06");
    }
}
