//! Dates as they stand in text, in seven languages: `05.03.2018`, `5. März 2018`, `March 5, 2018`, `2018-03-05`.
//! Where day and month could be either, the rest of the document decides.

use std::ops::Range;
use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate};
use regex::{Captures, Regex};

use crate::folded::fold;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dated {
    pub date: NaiveDate,
    pub at: Range<usize>,
}

/// Whether `03/05/2018` is in March or in May.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    DayFirst,
    MonthFirst,
}

/// Months by the beginnings of their names, folded.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene", "gen", "janv"],
    &["feb", "fev", "febr", "fevr"],
    &["mar", "mrz", "maerz", "mars", "maart", "mrt"],
    &["apr", "avr", "abr"],
    &["may", "mai", "mag", "mei", "mayo", "maio"],
    &["jun", "juin", "giu"],
    &["jul", "juil", "lug"],
    &["aug", "aou", "ago"],
    &["sep", "sept", "set"],
    &["oct", "okt", "ott", "out"],
    &["nov"],
    &["dec", "dez", "dic", "des"],
];

static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?P<a>\d{1,4})(?P<s>[./-]) ?(?P<b>\d{1,2})(?P<t>[./-]) ?(?P<c>\d{4}|\d{2})\b")
        .expect("a pattern")
});
static DAY_FIRST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?P<d>\d{1,2})(?:st|nd|rd|th|er|ème|º|°)?\.?(?: de | |-|/)?(?P<m>\p{L}{3,10})\.?,?(?: de | del | do |[ -]|/)(?P<y>\d{4})\b",
    )
    .expect("a pattern")
});
static MONTH_FIRST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?P<m>\p{L}{3,10})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>\d{4})\b")
        .expect("a pattern")
});

/// All dates of a text, in order.
pub fn dates(text: &str, order: Order) -> Vec<Dated> {
    let mut found: Vec<Dated> = Vec::new();
    let mut keep = |part: &Captures<'_>, date: Option<NaiveDate>| {
        if let (Some(date), Some(all)) = (date.filter(is_likely), part.get(0)) {
            found.push(Dated { date, at: all.range() });
        }
    };
    for part in NUMBERS.captures_iter(text) {
        keep(&part, of_numbers(&part, order));
    }
    for part in DAY_FIRST.captures_iter(text).chain(MONTH_FIRST.captures_iter(text)) {
        keep(&part, of_words(&part));
    }
    found.sort_by_key(|dated| (dated.at.start, dated.at.end));
    found.dedup_by(|later, first| later.at.start < first.at.end);
    found
}

/// What the document's own dates say: a number over twelve is a day.
pub fn order_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Order {
    let (mut day_first, mut month_first) = (0_u32, 0_u32);
    for text in texts {
        for part in NUMBERS.captures_iter(text).filter(|part| &part["s"] == "/") {
            match (part["a"].parse::<u32>(), part["b"].parse::<u32>()) {
                (Ok(13..=31), Ok(1..=12)) => day_first += 1,
                (Ok(1..=12), Ok(13..=31)) => month_first += 1,
                _ => {}
            }
        }
    }
    if month_first > day_first { Order::MonthFirst } else { Order::DayFirst }
}

fn of_numbers(part: &Captures<'_>, order: Order) -> Option<NaiveDate> {
    if part["s"] != part["t"] {
        return None;
    }
    let number = |name: &str| part[name].parse::<i32>().ok();
    let (a, b, c) = (number("a")?, number("b")?, number("c")?);
    if part["a"].len() == 4 {
        return NaiveDate::from_ymd_opt(a, b as u32, c as u32).filter(|_| part["c"].len() == 2);
    }
    if part["a"].len() > 2 {
        return None;
    }
    let year = if part["c"].len() == 2 { 2000 + c } else { c };
    let (day, month) = match order {
        // Only a slash is written with the month first.
        Order::MonthFirst if &part["s"] == "/" && b <= 31 && a <= 12 => (b, a),
        _ if b > 12 && &part["s"] == "/" => (b, a),
        _ => (a, b),
    };
    NaiveDate::from_ymd_opt(year, month as u32, day as u32)
}

fn of_words(part: &Captures<'_>) -> Option<NaiveDate> {
    let month = month(&part["m"])?;
    NaiveDate::from_ymd_opt(part["y"].parse().ok()?, month, part["d"].parse().ok()?)
}

fn month(name: &str) -> Option<u32> {
    let name = fold(name);
    let known =
        |names: &&[&str]| names.iter().any(|start| name.starts_with(start) && is_month_like(&name, start));
    MONTHS.iter().position(known).map(|at| at as u32 + 1)
}

/// The whole name or its short form, not any word that begins alike: `March`, `mar`, but not `marketing`.
fn is_month_like(name: &str, start: &str) -> bool {
    const NAMES: &str = "january february march april may june july august september october november december \
        januar februar marz maerz mai juni juli oktober dezember janvier fevrier mars avril juin juillet aout septembre \
        octobre novembre decembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre \
        diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre januari februari maart mei \
        augustus janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro janner";
    name == start || NAMES.split_whitespace().any(|known| known == name)
}

/// Of papers that are about now.
fn is_likely(date: &NaiveDate) -> bool {
    (1990..=2099).contains(&date.year())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_dates(text: &str) -> Vec<String> {
        dates(text, Order::DayFirst).into_iter().map(|dated| dated.date.to_string()).collect()
    }

    #[test]
    fn dates_are_read_in_seven_languages() {
        for text in [
            "05.03.2018",
            "5. März 2018",
            "5 mars 2018",
            "March 5, 2018",
            "5th March 2018",
            "2018-03-05",
            "05/03/2018",
            "5 de marzo de 2018",
            "5 marzo 2018",
            "5 maart 2018",
            "5 de março de 2018",
            "05-Mar-2018",
            "05.03.18",
            "München, den 05. 03. 2018",
        ] {
            assert_eq!(read_dates(text), ["2018-03-05"], "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "31.02.2018",
            "1.2.3",
            "192.168.10.20",
            "5 marketing 2018",
            "12/2018",
            "0049-30-2018",
            "1234.12.2018",
        ] {
            assert_eq!(read_dates(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn the_other_dates_tell_whether_the_month_is_first() {
        assert_eq!(order_of(["03/25/2018", "03/05/2018"]), Order::MonthFirst);
        assert_eq!(order_of(["25/03/2018"]), Order::DayFirst);
        let read = dates("03/05/2018", Order::MonthFirst);
        assert_eq!(read[0].date.to_string(), "2018-03-05");
    }
}
