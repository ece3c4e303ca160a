//! The language of a customer's page: the one that its address asks for, else the best that the browser names
//! (`Accept-Language`), else English. Nothing is remembered, so there is no cookie.

use chrono::{Datelike, NaiveDate};

use crate::customer::words::{LANGUAGES, Phrase, Word};
use crate::visit::Visit;

/// A column of the table of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(usize);

impl Language {
    pub fn for_visit(visit: &Visit) -> Self {
        let chosen = visit.query("lang").and_then(Self::named);
        chosen.unwrap_or_else(|| Self::accepted(visit.header("accept-language").unwrap_or_default()))
    }

    fn named(code: &str) -> Option<Self> {
        LANGUAGES.iter().position(|(own, _)| *own == code).map(Self)
    }

    /// The language for an `Accept-Language` header: of those there is a column for, the first with the highest weight.
    pub fn accepted(line: &str) -> Self {
        let mut best: Option<(Self, f32)> = None;
        for part in line.split(',').take(20) {
            let (range, weight) = part.split_once(';').unwrap_or((part, ""));
            let weight = weight.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.parse().ok());
            let weight = weight.filter(|weight: &f32| weight.is_finite() && *weight > 0.0);
            let code = range.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
            if let (Some(language), Some(weight)) = (Self::named(&code), weight)
                && best.is_none_or(|(_, before)| weight > before)
            {
                best = Some((language, weight));
            }
        }
        best.map_or(Self(0), |(language, _)| language)
    }

    pub fn code(self) -> &'static str {
        LANGUAGES[self.0].0
    }

    /// What its speakers call it.
    pub fn name(self) -> &'static str {
        LANGUAGES[self.0].1
    }

    pub fn others(self) -> impl Iterator<Item = Self> {
        (0..LANGUAGES.len()).map(Self).filter(move |other| *other != self)
    }

    pub fn say(self, word: impl Phrase) -> &'static str {
        word.in_all()[self.0]
    }

    /// The same with values for the names in braces. Braces inside a value are kept as they are.
    pub fn fill(self, word: impl Phrase, values: &[(&str, &str)]) -> String {
        let mut text = String::new();
        let mut rest = self.say(word);
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(values.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value));
            rest = after;
        }
        text + rest
    }

    /// `Friday, 27 November`, with the year when it is another than today's.
    pub fn date(self, day: NaiveDate, today: NaiveDate) -> String {
        let nth = |word, n: u32| self.say(word).split(' ').nth(n as usize).unwrap_or_default();
        let form = if day.year() == today.year() { Word::Date } else { Word::DateWithYear };
        let values = [
            ("weekday", nth(Word::Days, day.weekday().num_days_from_monday())),
            ("day", &day.day().to_string()),
            ("month", nth(Word::Months, day.month0())),
            ("year", &day.year().to_string()),
        ];
        self.fill(form, &values)
    }

    /// `184 KB`, `1.2 MB`
    pub fn size(self, bytes: i64) -> String {
        match bytes {
            0..1_000 => format!("{bytes} B"),
            1_000..1_000_000 => format!("{} KB", bytes / 1_000),
            _ => {
                let tenths = bytes / 100_000;
                format!("{}{}{} MB", tenths / 10, self.say(Word::DecimalPoint), tenths % 10)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_is_answered_in_the_best_language_there_is() {
        for (line, code) in [
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("ja, pt-BR;q=0.7, fr;q=0.8", "fr"),
            ("NL", "nl"),
            ("", "en"),
            ("*", "en"),
            ("xx;q=1, it;q=0.1", "it"),
            ("es;q=0, it;q=0.2", "it"),
            ("es;q=NaN, it;q=inf, nl;q=0.5", "nl"),
        ] {
            assert_eq!(Language::accepted(line).code(), code, "{line}");
        }
    }

    #[test]
    fn dates_sizes_and_names_are_written_as_they_are_there() {
        let (day, today) =
            (NaiveDate::from_ymd_opt(2026, 11, 27).unwrap(), NaiveDate::from_ymd_opt(2026, 11, 15).unwrap());
        let all = ["en", "de", "fr", "es", "pt"].map(|code| Language::named(code).unwrap().date(day, today));
        let wanted = [
            "Friday, 27 November",
            "Freitag, 27. November",
            "vendredi 27 novembre",
            "viernes, 27 de noviembre",
            "sexta-feira, 27 de novembro",
        ];
        assert_eq!(all, wanted);
        let german = Language::named("de").unwrap();
        assert_eq!(german.size(1_234_567), "1,2 MB");
        assert_eq!(Language::named("en").unwrap().size(184_000), "184 KB");
        assert_eq!(
            german.fill(Word::NotTaken, &[("name", "{x}.zip")]),
            "„{x}.zip“ konnten wir nicht annehmen."
        );
        let next = NaiveDate::from_ymd_opt(2027, 1, 4).unwrap();
        assert_eq!(german.date(next, today), "Montag, 4. Januar 2027");
    }
}
