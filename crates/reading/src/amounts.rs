//! Amounts of money as they stand in text: `1.234,56 €`, `$1,234.56`, `1 234,56 EUR`, `CHF 1'234.50`. An amount has two
//! decimals, or a currency beside it; any other number is none.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::lists::{Pairs, pairs};

/// An amount, in hundredths, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    pub hundredths: i64,
    pub currency: Option<&'static str>,
    pub at: Range<usize>,
}

/// Signs and codes, and the code they stand for.
static CURRENCIES: Pairs = LazyLock::new(|| pairs(include_str!("words/currencies.txt")));

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let code = r"EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CAD|AUD|BRL|INR";
    let sign = format!(r"{code}|€|US\$|CA\$|C\$|A\$|R\$|\$|£|¥|₹|Fr\.");
    let whole = r"\d{1,3}(?:[.,'’ \u{a0}\u{202f}]\d{3})+|\d+";
    let pattern = format!(
        r"(?:(?P<before>{sign})[ \u{{a0}}]?)?(?P<minus>[-−–])?(?P<whole>{whole})(?:[.,](?P<cents>\d{{2}}))?(?P<tail>[\d])?(?:[ \u{{a0}}\u{{202f}}]?(?P<after>{code}|Euro|€|zł|£|\$))?"
    );
    Regex::new(&pattern).expect("a pattern")
});

/// All amounts of a text, in order.
pub fn amounts(text: &str) -> Vec<Amount> {
    let mut found = Vec::new();
    for part in NUMBER.captures_iter(text) {
        let all = part.get(0).map(|all| all.range()).unwrap_or_default();
        let touches = |letter: Option<char>| {
            letter.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '/' | '_'))
        };
        // A piece of a number, a date or a name.
        let before = text[..all.start].chars().next_back();
        let mut after = text[all.end..].chars();
        let (next, second) = (after.next(), after.next());
        let goes_on = matches!(next, Some('.' | ',' | '-' | ':'))
            && second.is_some_and(|letter| letter.is_ascii_digit());
        let stuck = before.is_some_and(|letter| matches!(letter, '.' | ',' | '-' | ':' | '#'));
        if touches(before)
            || touches(next)
            || goes_on
            || stuck
            || part.name("tail").is_some()
            || next == Some('%')
        {
            continue;
        }
        if text[all.end..].trim_start().starts_with('%') {
            continue;
        }
        let sign = part.name("before").or(part.name("after")).map(|sign| sign.as_str());
        let currency = sign.and_then(code_of);
        let cents = part.name("cents").map(|cents| cents.as_str());
        if cents.is_none() && currency.is_none() {
            continue;
        }
        let digits: String = part["whole"].chars().filter(char::is_ascii_digit).collect();
        let Ok(units) = digits.parse::<i64>() else { continue };
        if digits.len() > 12 {
            continue;
        }
        let cents: i64 = cents.unwrap_or("00").parse().unwrap_or_default();
        let value = units * 100 + cents;
        let minus = part.name("minus").is_some();
        found.push(Amount { hundredths: if minus { -value } else { value }, currency, at: all });
    }
    found
}

/// Every currency that a text names.
pub fn currencies(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (sign, code) in CURRENCIES.iter() {
        let letters = sign.chars().all(char::is_alphabetic);
        let mut from = 0;
        while let Some(at) = text[from..].find(sign).map(|at| from + at) {
            let end = at + sign.len();
            let near = |letter: Option<char>| letter.is_some_and(char::is_alphabetic);
            let inside = near(text[..at].chars().next_back()) || near(text[end..].chars().next());
            let of_a_word = letters && inside || *sign == "$" && near(text[..at].chars().next_back());
            if !of_a_word {
                found.push(*code);
            }
            from = end;
        }
    }
    found
}

fn code_of(sign: &str) -> Option<&'static str> {
    CURRENCIES.iter().find(|(known, _)| *known == sign).map(|(_, code)| *code)
}

/// A number as machines write it: `1487.5`.
pub fn plain(text: &str) -> Option<i64> {
    let text = text.trim();
    let (minus, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (units, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if units.is_empty() || units.len() > 12 || rest.len() > 12 || !all_digits(units) || !all_digits(rest) {
        return None;
    }
    let cents: String = rest.chars().chain("00".chars()).take(2).collect();
    let value = units.parse::<i64>().ok()? * 100 + cents.parse::<i64>().ok()?;
    Some(if minus { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_amounts(text: &str) -> Vec<(i64, Option<&'static str>)> {
        amounts(text).into_iter().map(|amount| (amount.hundredths, amount.currency)).collect()
    }

    #[test]
    fn amounts_are_read_as_the_world_writes_them() {
        assert_eq!(read_amounts("Zu zahlen EUR 1.487,50"), [(148_750, Some("EUR"))]);
        assert_eq!(read_amounts("Total $1,234.56"), [(123_456, Some("USD"))]);
        assert_eq!(read_amounts("1 234,56 € TTC"), [(123_456, Some("EUR"))]);
        assert_eq!(read_amounts("CHF 1'234.50"), [(123_450, Some("CHF"))]);
        assert_eq!(read_amounts("473,00 56,87 529,87"), [(47_300, None), (5_687, None), (52_987, None)]);
        assert_eq!(read_amounts("¥12,000"), [(1_200_000, Some("JPY"))]);
        assert_eq!(read_amounts("-50,00 EUR"), [(-5_000, Some("EUR"))]);
        assert_eq!(read_amounts("£5"), [(500, Some("GBP"))]);
    }

    #[test]
    fn other_numbers_are_none() {
        for text in [
            "05.03.2018",
            "19,00 %",
            "19,00%",
            "2018",
            "DE123456789",
            "12.345",
            "80333 München",
            "1.2.3",
            "RE-2018.10",
        ] {
            assert_eq!(read_amounts(text), [], "{text}");
        }
    }

    #[test]
    fn machines_write_plain_numbers() {
        assert_eq!(
            [plain("1487.5"), plain("-3"), plain("0.999"), plain("1e9"), plain("")],
            [Some(148_750), Some(-300), Some(99), None, None]
        );
    }

    #[test]
    fn currencies_are_words_of_their_own() {
        assert_eq!(currencies("EUR 5, €, EUROPE, US$ 3"), ["EUR", "EUR", "USD"]);
        assert_eq!(currencies("NEUR"), Vec::<&str>::new());
    }
}
