//! Numbers of a sheet as people see them: XLSX keeps a day as a count of days and a sum without its currency, and says in a
//! table of styles how each is shown.

use chrono::{Days, NaiveDate};

use crate::amounts;
use crate::files::xml::parse;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    is_date: bool,
    decimals: bool,
    currency: Option<&'static str>,
}

/// The styles of cells, in the order in which cells name them.
pub fn styles(xml: &str) -> Vec<Style> {
    let Some(document) = parse(xml) else { return Vec::new() };
    let named = |name: &'static str| {
        document.descendants().filter(move |node| node.is_element() && node.tag_name().name() == name)
    };
    let own: Vec<(&str, &str)> = named("numFmt")
        .filter_map(|format| Some((format.attribute("numFmtId")?, format.attribute("formatCode")?)))
        .collect();
    let cells = named("cellXfs").flat_map(|all| all.children()).filter(|node| node.tag_name().name() == "xf");
    cells
        .map(|cell| {
            let id = cell.attribute("numFmtId").unwrap_or_default();
            match own.iter().find(|(known, _)| *known == id) {
                Some((_, code)) => of_code(code),
                None => of_number(id.parse().unwrap_or_default()),
            }
        })
        .collect()
}

/// The formats that every program knows by number.
fn of_number(id: u32) -> Style {
    Style {
        is_date: matches!(id, 14..=17 | 22),
        decimals: matches!(id, 2 | 4 | 7 | 8 | 39 | 40 | 43 | 44),
        currency: None,
    }
}

fn of_code(code: &str) -> Style {
    // What is in quotes or brackets is shown or a colour, and no letter of a date.
    let mut bare = String::new();
    let mut inside = false;
    for letter in code.chars() {
        match letter {
            '"' | '[' | ']' => inside = !inside,
            _ if !inside => bare.push(letter.to_ascii_lowercase()),
            _ => {}
        }
    }
    let is_date = bare.contains('y') && bare.contains('m') || bare.contains('d') && bare.contains('m');
    let plain: String =
        code.chars().map(|letter| if "\"[]-\\".contains(letter) { ' ' } else { letter }).collect();
    Style { is_date, decimals: code.contains("0.00"), currency: amounts::currencies(&plain).first().copied() }
}

pub fn shown(plain: &str, style: Option<&Style>) -> String {
    let Ok(number) = plain.trim().parse::<f64>() else { return plain.to_owned() };
    let style = style.cloned().unwrap_or_default();
    if style.is_date && (1.0..100_000.0).contains(&number) {
        let first = NaiveDate::from_ymd_opt(1899, 12, 30);
        let day = first.and_then(|first| first.checked_add_days(Days::new(number as u64)));
        return day.map_or_else(|| plain.to_owned(), |day| day.to_string());
    }
    // Sums lose the noughts at their end, and calculating makes them longer.
    let parted = plain.contains('.') && !plain.contains(['e', 'E']);
    let text = if style.decimals || style.currency.is_some() || parted {
        format!("{number:.2}")
    } else {
        plain.to_owned()
    };
    match style.currency {
        Some(code) => format!("{text} {code}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_their_style_says() {
        let xml = "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='dd/mm/yyyy'/>\
                   <numFmt numFmtId='165' formatCode='#,##0.00 [$€-407]'/></numFmts>\
                   <cellXfs><xf numFmtId='0'/><xf numFmtId='164'/><xf numFmtId='165'/><xf numFmtId='14'/></cellXfs></styleSheet>";
        let styles = styles(xml);
        let told = |plain: &str, at: usize| shown(plain, styles.get(at));
        assert_eq!(told("46023", 1), "2026-01-01");
        assert_eq!(told("46023", 3), "2026-01-01");
        assert_eq!(told("1189.4", 2), "1189.40 EUR");
        assert_eq!((told("7", 0), told("7.5", 0)), ("7".into(), "7.50".into()));
        assert_eq!(told("text", 1), "text");
    }
}
